// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("server: closed")

// Accepting waits after a failure, for instance when the process is out of files, as net/http does.
const (
	minAcceptDelay = 5 * time.Millisecond
	maxAcceptDelay = time.Second
)

// Server serves connections of any number of listeners.
type Server struct {
	cfg     Config
	handler Handler
	limits  wire.Limits
	pool    wire.Pool
	log     *closeLog

	// ctx is the parent of all connections'; it ends with Shutdown.
	ctx    context.Context
	cancel context.CancelFunc

	lastID   atomic.Uint64
	accepted atomic.Uint64
	closed   [numCauses]atomic.Uint64

	serving sync.WaitGroup // connections

	mu        sync.Mutex
	closing   bool
	listeners map[*Listener]struct{}
	conns     map[*Conn]struct{}
}

// New returns a server that is ready to Serve.
func New(cfg Config, h Handler) *Server {
	s := &Server{
		cfg:       cfg,
		handler:   h,
		limits:    wire.Limits{MaxFrameSize: cfg.MaxFrameSize, SmallFrameSize: wire.DefaultSmallFrameSize},
		log:       newCloseLog(cfg.Logger),
		listeners: map[*Listener]struct{}{},
		conns:     map[*Conn]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections from l until Shutdown, and then returns ErrServerClosed, or until accepting fails for
// good. It closes l.
func (s *Server) Serve(l Listener) error {
	if !s.addListener(&l) {
		l.Close()
		return ErrServerClosed
	}
	defer s.removeListener(&l)
	var delay time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			delay = 0
			s.accept(nc, &l)
			continue
		}
		if s.isClosing() {
			return ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("server: accept: %w", err)
		}
		delay = min(max(2*delay, minAcceptDelay), maxAcceptDelay)
		s.cfg.Logger.Warn("cannot accept a connection", keyError, err, keyRetryIn, delay)
		if !s.sleep(delay) {
			return ErrServerClosed
		}
	}
}

// sleep waits for d; false if the server was cut meanwhile.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// accept begins to serve a connection, or closes it at once when there are too many.
func (s *Server) accept(nc net.Conn, l *Listener) {
	s.accepted.Add(1)
	c := newConn(s, s.lastID.Add(1), nc, l)
	if end := s.addConn(c); end.cause != 0 {
		c.cancel()
		nc.Close()
		s.record(c, end)
		return
	}
	go func() {
		defer s.serving.Done()
		end := c.serve()
		s.removeConn(c)
		s.record(c, end)
	}()
}

func (s *Server) record(c *Conn, end closing) {
	s.closed[end.cause].Add(1)
	s.log.closed(c, end)
}

// Shutdown stops accepting and reading, and lets each connection answer what it has read before it is closed. When
// ctx ends first, connections are cut: handlers' contexts end and answers are dropped. It returns when everything
// that served connections has ended, nil if nothing was cut, else the cause of ctx's end.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.stopReading()
	}
	s.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(drained)
	}()
	defer s.cancel()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.cut()
	}
	s.mu.Unlock()
	<-drained
	return context.Cause(ctx)
}

// Stats are a server's counts.
type Stats struct {
	Open     int    // connections now
	Accepted uint64 // connections so far, those closed at once included
	Limit    int    // of Open
	Draining bool   // Shutdown was called
	// Closed counts connections by why they were closed.
	Closed map[CloseCause]uint64
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	stats := Stats{Accepted: s.accepted.Load(), Limit: s.cfg.MaxConnections, Closed: map[CloseCause]uint64{}}
	for cause := range s.closed {
		if n := s.closed[cause].Load(); n > 0 {
			stats.Closed[CloseCause(cause)] = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Open, stats.Draining = len(s.conns), s.closing
	return stats
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) addListener(l *Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l *Listener) {
	l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// addConn admits a connection, or says why not.
func (s *Server) addConn(c *Conn) closing {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return closing{cause: Shutdown}
	case len(s.conns) >= s.cfg.MaxConnections:
		return closing{cause: TooManyConnections}
	}
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	return closing{}
}

func (s *Server) removeConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
