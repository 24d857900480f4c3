// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const (
	// patience is how long a server may take to answer: generous, because machines that run tests are busy.
	patience = 20 * time.Second
	// silence is how long no answer has to stay away to count as none.
	silence = 100 * time.Millisecond
	// maxAnswer is the largest answer read, in bytes.
	maxAnswer = 128 << 20
)

// peer is a connection to an Iggy server, spoken to as the protocol goes and without anything of the bridge: one
// request, one answer.
type peer struct{ conn net.Conn }

func dial(ctx context.Context, server *bridge.Config) (*peer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var (
		conn net.Conn
		err  error
	)
	if server.TLS == nil {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", server.Addr)
	} else {
		conn, err = (&tls.Dialer{Config: server.TLS}).DialContext(ctx, "tcp", server.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("bridgetest: dial: %w", err)
	}
	return &peer{conn}, nil
}

func (p *peer) close() { _ = p.conn.Close() }

// ask sends a request and waits for its answer.
func (p *peer) ask(req iggywire.Request) (iggywire.Status, []byte, error) {
	if err := p.write(iggywire.AppendFrame(nil, req)); err != nil {
		return 0, nil, err
	}
	return p.answer()
}

func (p *peer) write(frames []byte) error {
	if err := p.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := p.conn.Write(frames)
	return err
}

func (p *peer) answer() (iggywire.Status, []byte, error) {
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(p.conn, header[:]); err != nil {
		return 0, nil, err
	}
	status, n, err := iggywire.ParseResponseHeader(header[:])
	if err != nil {
		return 0, nil, err
	}
	if n > maxAnswer {
		return 0, nil, fmt.Errorf("bridgetest: an answer of %d bytes", n)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(p.conn, body)
	return status, body, err
}

// client is a peer in a test: what it asks has to be answered.
type client struct {
	*testing.T
	world *world
	peer  *peer
}

// status is what a request is answered.
func (c *client) status(req iggywire.Request) iggywire.Status {
	c.Helper()
	status, _, err := c.peer.ask(req)
	if err != nil {
		c.Fatalf("%v: %v", req.Code(), err)
	}
	return status
}

// refused asks what has to be answered with a status.
func (c *client) refused(want iggywire.Status, req iggywire.Request) {
	c.Helper()
	if got := c.status(req); got != want {
		c.Errorf("%v: status %v, want %v", req.Code(), got, want)
	}
}

// must asks what has to succeed, and returns the answer.
func (c *client) must(req iggywire.Request) []byte {
	c.Helper()
	status, body, err := c.peer.ask(req)
	if err != nil || status != iggywire.StatusOK {
		c.Fatalf("%v: status %v, %v", req.Code(), status, err)
	}
	c.world.succeeded.Store(req.Code(), struct{}{})
	return body
}

// get asks for what is answered with a T.
func get[T any](c *client, req iggywire.Request, parse func([]byte) (T, error)) T {
	c.Helper()
	v, err := parse(c.must(req))
	if err != nil {
		c.Fatal(err)
	}
	return v
}

// find asks for something that has to exist.
func find[T any](c *client, req iggywire.Request, parse func([]byte) (T, bool, error)) T {
	c.Helper()
	v, found, err := parse(c.must(req))
	if err != nil || !found {
		c.Fatalf("%v: found %v, %v", req.Code(), found, err)
	}
	return v
}

// missing asks for something that must not exist: Iggy then answers nothing, and no failure.
func (c *client) missing(req iggywire.Request) {
	c.Helper()
	if body := c.must(req); len(body) > 0 {
		c.Errorf("%v of what is missing: %d bytes", req.Code(), len(body))
	}
}

// raw is a request as it comes.
type raw struct {
	code iggywire.Code
	body []byte
}

func (r raw) Code() iggywire.Code { return r.code }

func (r raw) AppendTo(dst []byte) []byte { return append(dst, r.body...) }

// send is a whole send, as a native producer writes it.
type send struct {
	stream, topic iggywire.Identifier
	to            iggywire.Partitioning
	messages      []mapping.Message
}

func (send) Code() iggywire.Code { return iggywire.CodeSendMessages }

func (s send) AppendTo(dst []byte) []byte {
	dst = iggywire.AppendSendHeader(dst, s.stream, s.topic, s.to, len(s.messages))
	var all []byte
	for i := range s.messages {
		all = mapping.AppendMessage(all, &s.messages[i])
	}
	dst, _, _ = iggywire.AppendIndexes(dst, all, 0) // which fails only for what is no message
	return append(dst, all...)
}

// changed is a request whose body no client would write.
func changed(req iggywire.Request, change func(body []byte) []byte) raw {
	return raw{req.Code(), change(req.AppendTo(nil))}
}
