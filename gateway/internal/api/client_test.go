// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// client is a Kafka client that does as it is told: it sends any request and insists on answers in order.
type client struct {
	testing.TB
	id      string // the client id
	nc      net.Conn
	sent    int32
	pending []pendingAnswer
}

type pendingAnswer struct {
	id   int32
	resp kmsg.Response
}

func (gw *gateway) dial(tb testing.TB) *client {
	tb.Helper()
	nc, err := net.Dial("tcp", gw.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { nc.Close() })
	return &client{TB: tb, id: "test", nc: nc}
}

// send sends requests in one write. Each is due an answer but Produce with acks=0.
func (c *client) send(reqs ...kmsg.Request) {
	c.Helper()
	var frames []byte
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.id))
	for _, req := range reqs {
		c.sent++
		frames = append(frames, format.AppendRequest(nil, req, c.sent)...)
		if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
			continue
		}
		resp := req.ResponseKind()
		if req.Key() == int16(kmsg.ApiVersions) && req.GetVersion() > 4 {
			resp.SetVersion(0) // the form that every client can read (KIP-511)
		}
		c.pending = append(c.pending, pendingAnswer{c.sent, resp})
	}
	c.write(frames)
}

func (c *client) write(frames []byte) {
	c.Helper()
	_ = c.nc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.nc.Write(frames); err != nil {
		c.Fatalf("send: %v", err)
	}
}

// receive returns the answer to the oldest request that has none.
func (c *client) receive() kmsg.Response {
	c.Helper()
	if len(c.pending) == 0 {
		c.Fatal("no answer is due")
	}
	want := c.pending[0]
	c.pending = c.pending[1:]
	id, rest := c.readAnswer()
	if id != want.id {
		c.Fatalf("answer %d came, %d was due", id, want.id)
	}
	decode(c, rest, want.resp)
	return want.resp
}

// readAnswer reads one answer: its correlation id and what follows.
func (c *client) readAnswer() (id int32, rest []byte) {
	c.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	var head [8]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		c.Fatalf("receive: %v", err)
	}
	rest = make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(c.nc, rest); err != nil {
		c.Fatalf("receive: %v", err)
	}
	return int32(binary.BigEndian.Uint32(head[4:])), rest
}

// decode reads the rest of an answer and insists that every byte of it is accounted for.
func decode(tb testing.TB, rest []byte, resp kmsg.Response) {
	tb.Helper()
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) { // header v1 ends in tagged fields
		if len(rest) == 0 || rest[0] != 0 {
			tb.Fatalf("%s v%d: no empty tag section in the header", kmsg.NameForKey(resp.Key()), resp.GetVersion())
		}
		rest = rest[1:]
	}
	if err := resp.ReadFrom(rest); err != nil {
		tb.Fatalf("%s v%d: %v", kmsg.NameForKey(resp.Key()), resp.GetVersion(), err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, rest) {
		tb.Fatalf("%s v%d: the answer is not what its decoded form encodes to:\n%x\n%x",
			kmsg.NameForKey(resp.Key()), resp.GetVersion(), rest, again)
	}
}

// expectClosed waits until the gateway closes the connection, which it must do without another byte.
func (c *client) expectClosed() {
	c.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	n, err := c.nc.Read(make([]byte, 1))
	if n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.Fatalf("read %d bytes, error %v; the connection should have been closed", n, err)
	}
}

// ask sends one request and returns its answer.
func ask[R kmsg.Response](c *client, req kmsg.Request) R {
	c.Helper()
	c.send(req)
	return next[R](c)
}

// next returns the next answer, which must be of that kind.
func next[R kmsg.Response](c *client) R {
	c.Helper()
	resp, ok := c.receive().(R)
	if !ok {
		c.Fatalf("an answer of another kind is due: %T", resp)
	}
	return resp
}

// login authenticates by a password.
func (c *client) login(user, password string) {
	c.Helper()
	shake := kmsg.NewPtrSASLHandshakeRequest()
	shake.Version, shake.Mechanism = 1, "PLAIN"
	token := kmsg.NewPtrSASLAuthenticateRequest()
	token.Version, token.SASLAuthBytes = 2, []byte("\x00"+user+"\x00"+password)
	if got := ask[*kmsg.SASLHandshakeResponse](c, shake); got.ErrorCode != 0 {
		c.Fatalf("handshake: error %d", got.ErrorCode)
	}
	if got := ask[*kmsg.SASLAuthenticateResponse](c, token); got.ErrorCode != 0 {
		c.Fatalf("login of %q: error %d, %v", user, got.ErrorCode, got.ErrorMessage)
	}
}
