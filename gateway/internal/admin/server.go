// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// A request is a line and some headers, and so are most answers.
	requestTimeout = 5 * time.Second
	answerTimeout  = requestTimeout + checkTimeout
	maxHeader      = 8 << 10
	// idleTimeout is how long a connection may wait for the next request: longer than the page does.
	idleTimeout = 10 * time.Second
)

// Server serves a handler until it is stopped.
type Server struct {
	http   http.Server
	served chan error

	// ctx is the parent of those of all requests; it ends with Stop.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	handler http.Handler   // guarded by mu
	stopped bool           // guarded by mu
	running sync.WaitGroup // requests being answered; none is added once stopped
}

// Start serves on the listener, which it closes in the end.
func Start(listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	s := newServer(handler, log)
	s.start(listener, log)
	return s
}

func newServer(handler http.Handler, log *slog.Logger) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{handler: handler, ctx: ctx, cancel: cancel, served: make(chan error, 1)}
	s.http = http.Server{
		Handler: http.HandlerFunc(s.serve), MaxHeaderBytes: maxHeader,
		ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	return s
}

func (s *Server) start(listener net.Listener, log *slog.Logger) {
	bounded := bound(listener, maxConns)
	s.http.ConnState = bounded.note
	go func() {
		err := s.http.Serve(bounded)
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("operators are not served any more", "err", err)
		}
		s.served <- err
	}()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return // its connection is closed
	}
	s.running.Add(1)
	handler := s.handler
	s.mu.Unlock()
	defer s.running.Done()
	handler.ServeHTTP(w, r)
}

// Use has another handler answer what is asked from now on.
func (s *Server) Use(handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Stop closes the listener and all connections, waits until no request is being answered, and returns why serving had ended
// before, if it had.
func (s *Server) Stop() error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.cancel()
	closed := s.http.Close()
	err := <-s.served
	s.running.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin: serve: %w", err)
	}
	return closed
}
