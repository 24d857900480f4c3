// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	// readBuffer is how much of a connection is read ahead.
	readBuffer = 64 << 10

	// readStep is the largest piece of memory that a peer is given before it has
	// sent as much: a request grows from there by doubling.
	readStep = 1 << 20

	// maxStrangerBody bounds what somebody who has not logged in may send at once.
	maxStrangerBody = 64 << 10

	// writePiece is the most that is written under one deadline.
	writePiece = 1 << 20
)

// session is one connection: a reader that carries requests out one after
// another, and a writer that sends the answers. Sends alone are not waited for
// by the reader: it goes on to the next send while the store makes them durable,
// and anything else waits for the sends before it.
type session struct {
	server *Server
	raw    net.Conn // what conn lies on: the same, or TCP below TLS
	conn   net.Conn
	id     uint32
	in     *bufio.Reader
	stall  *stallReader
	queue  *answerQueue
	user   atomic.Pointer[user] // nil: not logged in; set by the reader only
	groups map[*group]struct{}  // joined; guarded by the catalogue's mutex
	body   []byte               // of the request at hand, reused
}

func newSession(s *Server, raw net.Conn, id uint32) *session {
	conn := raw
	if s.cfg.TLS != nil {
		conn = tls.Server(raw, s.cfg.TLS)
	}
	stall := &stallReader{conn: conn, timeout: s.cfg.IOTimeout}
	return &session{
		server: s, raw: raw, conn: conn, id: id,
		in:     bufio.NewReaderSize(stall, readBuffer),
		stall:  stall,
		queue:  newAnswerQueue(),
		groups: make(map[*group]struct{}),
	}
}

// abort ends the connection at once: closing TLS would wait for the peer.
func (s *session) abort() { s.raw.Close() }

// shake carries out the handshake of TLS, which comes before the first request
// and may not last longer than one.
func (s *session) shake() error {
	conn, ok := s.conn.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.server.cfg.IOTimeout)
	defer cancel()
	return conn.HandshakeContext(ctx)
}

// run serves the connection until either side ends it.
func (s *session) run() {
	if s.shake() != nil {
		s.abort()
		return
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		s.queue.write(s.write)
		s.conn.Close() // a reader that is still waiting need not
	})
	for s.serveOne() {
	}
	s.queue.close()
	writer.Wait()
}

// write writes all of b, in pieces, for each of which the peer has the timeout: a
// slow peer may take long for a large answer, one that reads nothing may not.
func (s *session) write(b net.Buffers) error {
	for len(b) > 0 {
		n, size := 0, 0
		for n < len(b) && size+len(b[n]) <= writePiece {
			size += len(b[n])
			n++
		}
		var rest []byte // of the slice that the piece ends in
		if n < len(b) {
			rest = b[n][writePiece-size:]
			b[n] = b[n][:writePiece-size]
			n++
		}
		if err := s.conn.SetWriteDeadline(time.Now().Add(s.server.cfg.IOTimeout)); err != nil {
			return err
		}
		piece := b[:n:n]
		if _, err := piece.WriteTo(s.conn); err != nil {
			return err
		}
		b = b[n:]
		if len(rest) > 0 {
			b = append(net.Buffers{rest}, b...)
		}
	}
	return nil
}

// serveOne reads one request and carries it out; false ends the connection.
func (s *session) serveOne() bool {
	if err := s.stall.rest(); err != nil {
		return false
	}
	if _, err := s.in.Peek(1); err != nil {
		return false
	}
	s.stall.hurry()
	var header [iggywire.HeaderSize]byte
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		return false
	}
	code, length, err := iggywire.ParseRequestHeader(header[:])
	switch {
	case err != nil:
		return s.refuse(iggywire.StatusInvalidCommand)
	case code == iggywire.CodeSendMessages:
		return s.send(length)
	case length > iggywire.MaxControlBody, length > maxStrangerBody && s.loggedIn() == nil:
		// The body is left in the stream, as the real server does; what follows
		// is read as requests and refused.
		return s.refuse(iggywire.StatusInvalidCommand)
	}
	s.body, err = readGrowing(s.in, s.body[:0], length)
	if err != nil {
		return false
	}
	s.queue.settle()
	if code == iggywire.CodePollMessages {
		return s.poll(s.body)
	}
	goOn := s.control(code, s.body)
	if cap(s.body) > readStep {
		s.body = nil // one large request is no reason to keep its memory
	}
	return goOn
}

// refuse answers with a failure.
func (s *session) refuse(status iggywire.Status) bool {
	head := iggywire.AppendResponseHeader(make([]byte, 0, iggywire.HeaderSize), status, 0)
	return s.queue.push(&answer{head: head, weight: len(head), ready: true})
}

// control carries out a request that is neither a send nor a poll.
func (s *session) control(code iggywire.Code, body []byte) bool {
	head := make([]byte, iggywire.HeaderSize, 64)
	head, status := s.dispatch(code, body, head)
	if status != iggywire.StatusOK {
		return s.refuse(status)
	}
	iggywire.AppendResponseHeader(head[:0], status, len(head)-iggywire.HeaderSize)
	return s.queue.push(&answer{head: head, weight: len(head), ready: true})
}

// readGrowing appends length bytes from r to dst, whose memory grows with what
// arrived and not with what was announced.
func readGrowing(r io.Reader, dst []byte, length int) ([]byte, error) {
	for length > 0 {
		if cap(dst) == len(dst) {
			grown := make([]byte, len(dst), len(dst)+min(length, max(readStep, len(dst))))
			copy(grown, dst)
			dst = grown
		}
		n := min(length, cap(dst)-len(dst))
		read, err := io.ReadFull(r, dst[len(dst):len(dst)+n])
		dst = dst[:len(dst)+read]
		if err != nil {
			return dst, err
		}
		length -= n
	}
	return dst, nil
}

// stallReader reads from a connection without a deadline between requests, and
// within one with a deadline that every arrival of bytes renews.
type stallReader struct {
	conn     net.Conn
	timeout  time.Duration
	hurrying bool
	deadline bool // one is set on conn
}

func (r *stallReader) hurry() { r.hurrying = true }

func (r *stallReader) rest() error {
	r.hurrying = false
	if !r.deadline {
		return nil
	}
	r.deadline = false
	return r.conn.SetReadDeadline(time.Time{})
}

func (r *stallReader) Read(p []byte) (int, error) {
	if r.hurrying {
		r.deadline = true
		if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
			return 0, err
		}
	}
	return r.conn.Read(p)
}
