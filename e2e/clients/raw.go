// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostAnswer bounds what a peer can make Raw allocate for one answer.
const mostAnswer = 128 << 20

// Raw is one connection to a broker on which requests are sent as they are given, at the versions that are set in them,
// right or wrong: nothing is negotiated, retried or looked up. It is for one goroutine.
type Raw struct {
	// ClientID is what requests call the client.
	ClientID string

	conn        net.Conn
	from        *bufio.Reader
	correlation int32
	unanswered  []kmsg.Request // in the order in which they were sent
}

// DialRaw connects to a broker.
func DialRaw(ctx context.Context, addr string) (*Raw, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	return &Raw{ClientID: "raw", conn: conn, from: bufio.NewReader(conn)}, nil
}

// Close ends the connection.
func (r *Raw) Close() error { return r.conn.Close() }

// Ask sends a request and waits for its answer. The context's deadline bounds both.
func (r *Raw) Ask(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := r.Send(ctx, req); err != nil {
		return nil, err
	}
	return r.Receive(ctx)
}

// Send sends requests, in one write, without waiting for answers; Receive waits for those, in the same order. A Produce
// request without acks has none.
func (r *Raw) Send(ctx context.Context, reqs ...kmsg.Request) error {
	var frames []byte
	for _, req := range reqs {
		frames = append(frames, kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.ClientID)).AppendRequest(nil, req, r.next())...)
		if produce, ok := req.(*kmsg.ProduceRequest); ok && produce.Acks == 0 {
			r.correlation-- // its number is given again: what is answered is numbered without a gap
			continue
		}
		r.unanswered = append(r.unanswered, req)
	}
	if err := r.conn.SetWriteDeadline(deadline(ctx)); err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	if _, err := r.conn.Write(frames); err != nil {
		return fmt.Errorf("clients: sending: %w", err)
	}
	return nil
}

func (r *Raw) next() int32 {
	r.correlation++
	return r.correlation
}

// Bare sends bytes in a frame without a request header and returns those in the frame that comes back: SASL tokens behind
// SaslHandshake v0. Everything before it must be answered.
func (r *Raw) Bare(ctx context.Context, text []byte) ([]byte, error) {
	if err := r.conn.SetDeadline(deadline(ctx)); err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	if _, err := r.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		return nil, fmt.Errorf("clients: sending: %w", err)
	}
	var length [4]byte
	if _, err := io.ReadFull(r.from, length[:]); err != nil {
		return nil, fmt.Errorf("clients: waiting for a token: %w", err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > mostAnswer {
		return nil, fmt.Errorf("clients: a token of %d bytes", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(r.from, answer)
	return answer, err
}

// Receive returns the answer to the oldest request that has none yet. An error wraps io.EOF, or says that the connection
// was reset, where the broker closed it instead.
func (r *Raw) Receive(ctx context.Context) (kmsg.Response, error) {
	req, want := r.unanswered[0], r.correlation-int32(len(r.unanswered))+1
	r.unanswered = r.unanswered[1:]
	body, err := r.frame(ctx)
	if err != nil {
		return nil, fmt.Errorf("clients: waiting for %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	if got := int32(binary.BigEndian.Uint32(body)); got != want {
		return nil, fmt.Errorf("clients: the answer is numbered %d, the request %d", got, want)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if body, err = withoutHeader(resp, body); err != nil {
		return nil, err
	}
	if resp.Key() == kmsg.ApiVersions.Int16() && len(body) >= 2 && int16(binary.BigEndian.Uint16(body)) == kerr.UnsupportedVersion.Code {
		resp.SetVersion(0) // a version that is too high is answered in the lowest (KIP-511)
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("clients: decoding the answer to %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	if again := resp.AppendTo(nil); len(again) != len(body) {
		return nil, fmt.Errorf("clients: the answer to %s has %d bytes, its fields make %d", kmsg.NameForKey(req.Key()), len(body), len(again))
	}
	return resp, nil
}

// frame reads one length and what it announces, at least a correlation id.
func (r *Raw) frame(ctx context.Context) ([]byte, error) {
	if err := r.conn.SetReadDeadline(deadline(ctx)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(r.from, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 4 || n > mostAnswer {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r.from, body)
	return body, err
}

// withoutHeader cuts off the response header: the correlation id and, in flexible versions, tagged fields, of which
// there are none. ApiVersions never has those (KIP-511).
func withoutHeader(resp kmsg.Response, body []byte) ([]byte, error) {
	body = body[4:]
	if !resp.IsFlexible() || resp.Key() == kmsg.ApiVersions.Int16() {
		return body, nil
	}
	if len(body) == 0 || body[0] != 0 {
		return nil, fmt.Errorf("clients: the header of the answer to %s has no empty list of tagged fields", kmsg.NameForKey(resp.Key()))
	}
	return body[1:], nil
}

// deadline is the context's, or none.
func deadline(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}
