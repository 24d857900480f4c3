// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	// readBuffer is how much of a connection is read ahead: several small requests. What is
	// larger is read to where it belongs.
	readBuffer = 8 << 10

	// readStep is the largest piece of memory that a peer is given before it has
	// sent as much: a request grows from there by doubling.
	readStep = 1 << 20

	// maxStrangerBody bounds what somebody who has not logged in may send at once.
	maxStrangerBody = 64 << 10

	// writePiece is the most that is written under one deadline.
	writePiece = 1 << 20
)

// session is one connection: a goroutine that reads requests and carries them out one after
// another. Sends alone are not waited for: it goes on to the next send while the store makes
// them durable, and anything else waits for the sends before it. It writes the answers before
// it waits for the peer, so that a request costs no more than its system calls; see [answerQueue]
// for when somebody else does.
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
	body   []byte               // of the request at hand: the server's, on loan
}

func newSession(s *Server, raw net.Conn, id uint32) *session {
	conn := raw
	if s.cfg.TLS != nil {
		conn = tls.Server(raw, s.cfg.TLS)
	}
	session := &session{server: s, raw: raw, conn: conn, id: id, groups: make(map[*group]struct{})}
	session.queue = newAnswerQueue(session.write)
	session.stall = &stallReader{conn: conn, queue: session.queue, timeout: s.cfg.IOTimeout}
	session.in = bufio.NewReaderSize(session.stall, readBuffer)
	return session
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
	for s.serveOne() {
	}
	s.queue.close()
	s.conn.Close()
}

// write writes all of b. When it cannot, the connection ends: a reader that is waiting need not.
func (s *session) write(b net.Buffers) error {
	err := s.writePieces(b)
	if err != nil {
		s.abort()
	}
	return err
}

// writePieces writes all of b, in pieces, for each of which the peer has the timeout: a
// slow peer may take long for a large answer, one that reads nothing may not.
func (s *session) writePieces(b net.Buffers) error {
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
	body, _ := s.server.bodies.Get().(*[]byte)
	if body == nil {
		body = new([]byte)
	}
	s.body = *body
	defer func() {
		if cap(s.body) <= readStep { // one large request is no reason to keep its memory
			*body = s.body[:0]
			s.server.bodies.Put(body)
		}
		s.body = nil // a connection at rest holds no memory for requests
	}()
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
	if secret(code) {
		defer s.forget()
	}
	s.body, err = readGrowing(s.in, s.body[:0], length)
	if err != nil {
		return false
	}
	s.queue.settle()
	if code == iggywire.CodePollMessages {
		return s.poll(s.body)
	}
	// It may wait for the disk.
	if !s.queue.flush() {
		return false
	}
	return s.control(code, s.body)
}

// secret reports that there is one in a request's body.
func secret(code iggywire.Code) bool {
	switch code {
	case iggywire.CodeLoginUser, iggywire.CodeLoginWithToken, iggywire.CodeCreateUser, iggywire.CodeChangePassword:
		return true
	}
	return false
}

// forget leaves nothing of the request at hand in memory that lives on: what this server keeps of a password is its hash.
func (s *session) forget() {
	clear(s.body)
	var ahead io.Reader = s.stall
	if rest, _ := s.in.Peek(s.in.Buffered()); len(rest) > 0 {
		ahead = io.MultiReader(bytes.NewReader(bytes.Clone(rest)), s.stall)
	}
	s.in = bufio.NewReaderSize(ahead, readBuffer) // the one before has what it read
	if c, ok := s.raw.(*localConn); ok {
		c.in.wipe()
	}
}

// refuse answers with a failure.
func (s *session) refuse(status iggywire.Status) bool {
	a := &answer{weight: iggywire.HeaderSize, ready: true}
	a.head = iggywire.AppendResponseHeader(a.memory[:0], status, 0)
	return s.push(a)
}

// control carries out a request that is neither a send nor a poll.
func (s *session) control(code iggywire.Code, body []byte) bool {
	head := make([]byte, iggywire.HeaderSize, 64)
	head, status := s.dispatch(code, body, head)
	if status != iggywire.StatusOK {
		return s.refuse(status)
	}
	iggywire.AppendResponseHeader(head[:0], status, len(head)-iggywire.HeaderSize)
	return s.push(&answer{head: head, weight: len(head), ready: true})
}

func (s *session) push(a *answer) bool { return s.queue.push(a, s.in.Buffered() > 0) }

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
// within one with a deadline that every arrival of bytes renews. Before it waits for
// the peer it writes to it what is ready.
type stallReader struct {
	conn     net.Conn
	queue    *answerQueue
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
	if !r.queue.flush() {
		return 0, net.ErrClosed
	}
	defer r.queue.resume()
	if r.hurrying {
		r.deadline = true
		if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
			return 0, err
		}
	}
	return r.conn.Read(p)
}
