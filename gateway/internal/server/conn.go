// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

const (
	readBufferSize = 16 << 10
	// A connection that we close after answers is read for a while and not closed at once: closing a socket that
	// holds unread bytes resets it, and a reset takes answers that the client has not read yet with it.
	lingerTime = 500 * time.Millisecond
	lingerSize = 1 << 20
)

// Conn is one client connection. Its exported methods are for handlers and safe for concurrent use.
//
// One goroutine serves it, the reader, and one more for each request that may wait long for its answer. All of them end
// before serve returns.
type Conn struct {
	id       uint64
	server   *Server
	nc       net.Conn
	socket   net.Conn // below TLS, else nc
	listener *Listener
	opened   time.Time

	// ctx ends when the connection closes.
	ctx    context.Context
	cancel context.CancelFunc

	reader    *bufio.Reader
	input     *input // what reader reads from
	pipeline  *pipeline
	writer    *answerWriter
	pending   sync.WaitGroup // the goroutines that wait for answers
	stopped   atomic.Bool    // no further frame is read
	stopping  chan struct{}  // closed with stopped
	muted     atomic.Int64   // until so long after opened, in ns, no request is read
	requests  atomic.Uint64
	software  atomic.Pointer[software]
	activity  activity
	principal principal
	sasl      *sasl.Session // nil: clients do not authenticate

	farewell  atomic.Pointer[closing] // why the connection is closed behind an answer that is ready
	closeOnce sync.Once
	closed    closing // why; set within closeOnce
	user      string  // who had authenticated at last; set when serve returns
}

type software struct{ name, version string }

// ID is unique among the connections of this process.
func (c *Conn) ID() uint64 { return c.id }

// RemoteAddr is the client's address.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// AdvertisedHost is the host that clients of this connection's listener are told to use, IPv6 without brackets.
func (c *Conn) AdvertisedHost() string { return c.listener.AdvertisedHost }

// AdvertisedPort is the port that belongs to AdvertisedHost.
func (c *Conn) AdvertisedPort() int32 { return c.listener.AdvertisedPort }

// SetClientSoftware notes what an ApiVersions request v3 or later says about the client (KIP-511), as far as there is room for it.
func (c *Conn) SetClientSoftware(name, version string) {
	c.software.Store(&software{excerpt.Of(name, maxKept), excerpt.Of(version, maxKept)})
}

// ClientSoftware returns what SetClientSoftware noted last, empty before.
func (c *Conn) ClientSoftware() (name, version string) {
	if s := c.software.Load(); s != nil {
		return s.name, s.version
	}
	return "", ""
}

func newConn(s *Server, id uint64, nc net.Conn, l *Listener) *Conn {
	c := &Conn{id: id, server: s, nc: nc, socket: nc, listener: l, opened: time.Now(), stopping: make(chan struct{})}
	for { // TLS, and what may be below it
		over, ok := c.socket.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c.socket = over.NetConn()
	}
	if s.cfg.Authentication != nil {
		c.sasl = s.cfg.Authentication.Rules.NewSession()
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// serve runs the connection to its end and returns why it ended.
func (c *Conn) serve() closing {
	c.input = &input{Conn: c.nc}
	c.reader = bufio.NewReaderSize(c.input, readBufferSize)
	c.pipeline = newPipeline(c.server.cfg.MaxInFlight, c.opened)
	c.writer = newAnswerWriter(c.nc)
	if end := c.handshake(); end.cause != 0 {
		c.close(end)
	} else {
		switch end := c.readLoop(); {
		case end.abrupt():
			c.close(end)
		case end.cause != 0:
			if c.pipeline.finish(end) {
				c.writeReady()
			}
		}
	}
	c.pending.Wait()
	defer func() { c.user = c.principal.release() }()
	for _, ex := range c.pipeline.drop() {
		c.finish(ex, false)
		c.discard(&ex.out)
	}
	if !c.closed.abrupt() {
		c.linger()
	}
	c.socket.Close()
	if last := c.farewell.Load(); last != nil && c.closed.cause == PeerClosed {
		return *last // the client only was faster, once it had its answer
	}
	return c.closed
}

// close ends the connection for a reason; the first one given counts. It stops the reader, who writes and the
// handlers and does not wait for them. An abrupt reason closes the socket as well, which unblocks whoever uses it;
// otherwise serve does that once all have stopped. It is the socket and not TLS that is closed, as TLS may first
// wait for the peer to take its farewell.
func (c *Conn) close(end closing) {
	c.closeOnce.Do(func() {
		c.closed = end
		c.cancel()
		c.stopReading()
		if tcp, ok := c.socket.(*net.TCPConn); ok && end.cause == WriteTimeout {
			tcp.SetLinger(0) // the kernel too forgets what the peer does not take
		}
		if end.abrupt() {
			c.socket.Close()
		}
	})
}

// cut ends the connection at the end of a shutdown's drain, also when it is lingering.
func (c *Conn) cut() {
	c.close(closing{cause: ShutdownCut})
	c.socket.Close()
}

// linger tells the peer that no more will come and waits for it to close.
func (c *Conn) linger() {
	nc := c.nc
	if c.closed.cause.ofHandshake() {
		nc = c.socket // TLS has said its last word, the alert that tells the client what it did wrong
	}
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	nc.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, nc, lingerSize)
}

// handlerFailure sorts an error that a handler returned.
func handlerFailure(err error) closing {
	var p *panicError
	if errors.As(err, &p) {
		return closing{HandlerPanicked, err}
	}
	var r *reason
	if errors.As(err, &r) {
		return r.closing
	}
	return closing{HandlerRefused, err}
}
