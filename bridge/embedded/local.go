// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Dial connects from within the process that the server runs in: the same protocol as over TCP, without the kernel
// in between. Its arguments are those of net.Dialer.DialContext; the address is not looked at. A server with TLS wants
// TLS on these connections, too.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := newLocalPair()
	select {
	case s.local.incoming <- server:
		return client, nil
	case <-s.local.closed:
		return nil, fmt.Errorf("embedded: dial: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("embedded: dial: %w", context.Cause(ctx))
	}
}

// localAddr is the address of both ends of a connection within the process.
type localAddr struct{}

func (localAddr) Network() string { return "local" }
func (localAddr) String() string  { return "local" }

// localListener accepts what Dial makes.
type localListener struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newLocalListener() *localListener {
	return &localListener{incoming: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *localListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *localListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *localListener) Addr() net.Addr { return localAddr{} }

// localConn is one end: it reads what the other end wrote.
type localConn struct{ in, out *localPipe }

func newLocalPair() (client, server net.Conn) {
	up, down := newLocalPipe(), newLocalPipe()
	return &localConn{in: down, out: up}, &localConn{in: up, out: down}
}

func (c *localConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *localConn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *localConn) Close() error {
	c.in.abandon()
	c.out.hangUp()
	return nil
}

func (c *localConn) LocalAddr() net.Addr  { return localAddr{} }
func (c *localConn) RemoteAddr() net.Addr { return localAddr{} }

func (c *localConn) SetReadDeadline(t time.Time) error {
	c.in.readers.setDeadline(t)
	return nil
}

func (c *localConn) SetWriteDeadline(t time.Time) error {
	c.out.writers.setDeadline(t)
	return nil
}

func (c *localConn) SetDeadline(t time.Time) error {
	c.in.readers.setDeadline(t)
	c.out.writers.setDeadline(t)
	return nil
}

// localPipeSize is how many bytes may be on their way in one direction.
const localPipeSize = 256 << 10

// localPipe is one direction: a ring of bytes.
type localPipe struct {
	mu               sync.Mutex
	readers, writers localSide
	ring             []byte // nil until the first write
	from, n          int    // the bytes that wait begin at from
	closed           bool
	end              error // what reads return once closed and nothing is left
}

func newLocalPipe() *localPipe {
	p := &localPipe{}
	p.readers.init(p)
	p.writers.init(p)
	return p
}

func (p *localPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n == 0 || p.readers.expired() {
		switch {
		case p.closed && p.n == 0:
			return 0, p.end
		case p.readers.expired():
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		p.readers.changed.Wait()
	}
	n := copy(b, p.ring[p.from:min(p.from+p.n, len(p.ring))])
	n += copy(b[n:], p.ring[:p.n-n]) // what goes on at the front
	p.n -= n
	if p.from = (p.from + n) % len(p.ring); p.n == 0 {
		p.from = 0 // the next write is in one piece
	}
	p.writers.changed.Broadcast()
	return n, nil
}

func (p *localPipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ring == nil {
		p.ring = make([]byte, localPipeSize)
	}
	for {
		switch {
		case p.closed:
			return written, io.ErrClosedPipe
		case p.writers.expired():
			return written, os.ErrDeadlineExceeded
		}
		for len(b) > 0 && p.n < len(p.ring) {
			at := (p.from + p.n) % len(p.ring)
			n := copy(p.ring[at:min(len(p.ring), at+len(p.ring)-p.n)], b)
			p.n, b, written = p.n+n, b[n:], written+n
		}
		p.readers.changed.Broadcast()
		if len(b) == 0 {
			return written, nil
		}
		p.writers.changed.Wait()
	}
}

// wipe overwrites what has been read.
func (p *localPipe) wipe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := p.from + p.n
	clear(p.ring[min(end, len(p.ring)):])
	clear(p.ring[max(end-len(p.ring), 0):min(p.from, len(p.ring))])
}

// hangUp is the writers' close: readers get what is there, and then EOF.
func (p *localPipe) hangUp() { p.close(io.EOF) }

// abandon is the readers' close: what is there is lost.
func (p *localPipe) abandon() { p.close(io.ErrClosedPipe) }

func (p *localPipe) close(end error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed || end != io.EOF {
		p.end = end
	}
	if end != io.EOF {
		p.n = 0
	}
	p.closed = true
	for _, s := range []*localSide{&p.readers, &p.writers} {
		s.stop()
		s.changed.Broadcast()
	}
}

// localSide is what one end of a pipe waits with. The pipe's mu guards it.
type localSide struct {
	pipe     *localPipe
	changed  sync.Cond
	deadline time.Time
	// timer ends the waiting at armed or, when the deadline was put off meanwhile, is set anew then: deadlines are put
	// off with every request and hardly ever come.
	timer *time.Timer
	armed time.Time // zero: the timer does not run
}

func (s *localSide) init(p *localPipe) { s.pipe, s.changed.L = p, &p.mu }

func (s *localSide) expired() bool { return !s.deadline.IsZero() && !time.Now().Before(s.deadline) }

func (s *localSide) setDeadline(t time.Time) {
	s.pipe.mu.Lock()
	defer s.pipe.mu.Unlock()
	s.deadline = t
	if s.armed.IsZero() || t.Before(s.armed) {
		s.arm()
	}
}

// arm makes sure that the waiting ends at the deadline.
func (s *localSide) arm() {
	switch {
	case s.deadline.IsZero() || s.pipe.closed:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(time.Until(s.deadline), s.ring)
	default:
		s.timer.Reset(time.Until(s.deadline))
	}
	s.armed = s.deadline
}

// ring is called by the timer.
func (s *localSide) ring() {
	s.pipe.mu.Lock()
	defer s.pipe.mu.Unlock()
	s.armed = time.Time{}
	if s.expired() {
		s.changed.Broadcast()
	} else {
		s.arm()
	}
}

func (s *localSide) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
