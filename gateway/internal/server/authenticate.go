// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// maxEarlyFrame is the most bytes of a frame of who has not authenticated, and of a token that comes without a request header.
const maxEarlyFrame = 64 << 10

// rawTokenVersion is the version of SaslAuthenticate that a token without a request header is handed on as.
const rawTokenVersion = 0

// Authentication says that clients authenticate. What each request means for that is the handler's to decide, by Conn.SASL; the
// server sees to it that who has not authenticated can send little, and nothing that is looked at before what he sent earlier
// is answered.
type Authentication struct {
	Rules *sasl.Rules
	// Timeout closes a connection on which nobody has authenticated and that has begun no frame and waits for no answer.
	Timeout time.Duration
}

// SASL is how far the connection has authenticated; nil where clients do not.
func (c *Conn) SASL() *sasl.Session { return c.sasl }

// unauthenticated says whether the client has still to authenticate for the first time.
func (c *Conn) unauthenticated() bool { return c.sasl != nil && c.Principal() == nil }

// limits are those of the next frame.
func (c *Conn) limits() wire.Limits {
	limits := c.server.limits
	if c.unauthenticated() {
		limits.MaxFrameSize = min(limits.MaxFrameSize, maxEarlyFrame)
		limits.SmallFrameSize = min(limits.SmallFrameSize, maxEarlyFrame)
	}
	return limits
}

// idleTimeout is how long the connection may be quiet, and why it is closed then.
func (c *Conn) idleTimeout() (time.Duration, CloseCause) {
	if c.unauthenticated() {
		return c.server.cfg.Authentication.Timeout, AuthenticationTimeout
	}
	return c.server.cfg.IdleTimeout, IdleTimeout
}

// readRawToken reads a token that comes after SaslHandshake v0, its length and its bytes, and makes a SaslAuthenticate of it.
func (c *Conn) readRawToken() (*exchange, closing) {
	came := c.clock()
	c.setReadDeadline(time.Now().Add(c.server.cfg.ReadTimeout))
	var length [4]byte
	if _, err := io.ReadFull(c.reader, length[:]); err != nil {
		return nil, c.readFailure(err)
	}
	size := int32(binary.BigEndian.Uint32(length[:]))
	switch {
	case size < 0:
		return nil, closing{BadLength, fmt.Errorf("server: a token of %d bytes", size)}
	case size > maxEarlyFrame:
		return nil, closing{FrameTooLarge, fmt.Errorf("server: a token of %d bytes, at most %d", size, maxEarlyFrame)}
	}
	frame, err := c.readSecret(wire.Preamble{Size: size, Key: saslAuthenticateKey})
	if err != nil {
		return nil, c.readFailure(err)
	}
	body := kmsg.NewPtrSASLAuthenticateRequest()
	body.Version, body.SASLAuthBytes = rawTokenVersion, frame.B
	req := &wire.Request{Header: wire.Header{Key: saslAuthenticateKey, Version: rawTokenVersion}, Body: body}
	ex := &exchange{req: req, frame: frame, rawToken: true, secret: true, watch: stopwatch{last: came}}
	ex.watch.identify(req, len(length)+int(size))
	return ex, closing{}
}

// readSecret is Preamble.ReadFrame for a frame that may have a password in it. None of the buffers that the frame has come
// through keeps it; what is returned does, until it is given back.
func (c *Conn) readSecret(p wire.Preamble) (*wire.Buffer, error) {
	size := int(p.Size)
	if size > c.reader.Size() { // no password is so long
		return p.ReadFrame(c.reader, &c.server.pool)
	}
	c.input.wipe = true
	defer func() { c.input.wipe = false }()
	passed, err := c.reader.Peek(size)
	if err != nil {
		return nil, err
	}
	frame := c.server.pool.Get(size)
	frame.B = append(frame.B[:0], passed...)
	clear(passed)
	_, err = c.reader.Discard(size)
	return frame, err
}

// input is where a connection's reader reads. While wipe is set, it leaves nothing in the part of a buffer that it has not
// filled: a bufio.Reader that moves what it holds to the front leaves a copy behind.
type input struct {
	net.Conn
	wipe bool
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.Conn.Read(p)
	if in.wipe {
		clear(p[n:])
	}
	return n, err
}

// encodeRawToken answers a token that came without a request header: with the mechanism's bytes as they are, of which PLAIN
// has none, or by closing.
func (c *Conn) encodeRawToken(reply Reply) (out outgoing) {
	resp, ok := reply.resp.(*kmsg.SASLAuthenticateResponse)
	switch {
	case !ok:
		out.closing = closing{HandlerRefused, errors.New("server: no answer to a token")}
	case resp.ErrorCode != 0:
		out.closing = reply.last
	default:
		out.head = c.server.pool.Get(0)
		out.head.B = binary.BigEndian.AppendUint32(out.head.B, uint32(len(resp.SASLAuthBytes)))
		out.head.B = append(out.head.B, resp.SASLAuthBytes...)
		out.size = len(out.head.B)
	}
	return out
}
