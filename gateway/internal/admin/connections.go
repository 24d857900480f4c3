// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"net"
	"net/http"
	"sync"
)

// maxConns is how many connections are open at a time.
const maxConns = 256

// boundedListener has so many connections open at a time. One more gets the place of the one that has waited for a request the
// longest: whoever keeps connections open and asks for nothing keeps nobody away. Only where all are being answered does it
// wait for one of them.
type boundedListener struct {
	net.Listener
	most int

	mu      sync.Mutex
	changed sync.Cond // a connection began to wait for a request or was closed, or the listener was
	conns   map[*boundedConn]struct{}
	turns   uint64
	closed  bool
}

// boundedConn is a connection of the listener. Its fields are the listener's.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	// waits is when it began to wait for a request, in turns of the listener; 0: it is being answered.
	waits uint64
}

func bound(l net.Listener, most int) *boundedListener {
	b := &boundedListener{Listener: l, most: most, conns: map[*boundedConn]struct{}{}}
	b.changed.L = &b.mu
	return b
}

func (l *boundedListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: nc, listener: l}
	if !l.admit(c) {
		_ = nc.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// admit makes room for a connection; false: the listener has been closed.
func (l *boundedListener) admit(c *boundedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) >= l.most && !l.closed {
		if longest := l.longest(); longest != nil {
			delete(l.conns, longest)
			_ = longest.Conn.Close() // which its reader sees
			continue
		}
		l.changed.Wait()
	}
	if l.closed {
		return false
	}
	l.conns[c] = struct{}{}
	l.wait(c)
	return true
}

// longest is the connection that has waited for a request the longest, nil if none waits.
func (l *boundedListener) longest() (longest *boundedConn) {
	for c := range l.conns {
		if c.waits > 0 && (longest == nil || c.waits < longest.waits) {
			longest = c
		}
	}
	return longest
}

// wait notes that a connection waits for a request from now on.
func (l *boundedListener) wait(c *boundedConn) {
	l.turns++
	c.waits = l.turns
	l.changed.Signal()
}

// note is told by the server what becomes of a connection: http.Server.ConnState. A new one waits already.
func (l *boundedListener) note(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*boundedConn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateIdle:
		l.wait(c)
	case http.StateActive:
		c.waits = 0
	}
}

func (l *boundedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.changed.Signal()
	return l.Listener.Close()
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	c.listener.changed.Signal()
	return err
}
