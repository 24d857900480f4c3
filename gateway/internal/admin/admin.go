// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package admin answers those who operate a gateway, over HTTP and on an address of its own: is it alive, is it ready, and,
// if they want, what is it doing.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

const (
	// checkTimeout is how long /readyz waits for its checks.
	checkTimeout = 2 * time.Second
	// A request is a line and some headers, and so is an answer.
	requestTimeout = 5 * time.Second
	answerTimeout  = requestTimeout + checkTimeout
	maxHeader      = 8 << 10
	// profileTimeout ends a profile that was asked for longer; the usual one takes 30 s.
	profileTimeout = 2 * time.Minute
)

// Check is one thing that a gateway needs to serve its clients.
type Check struct {
	Name string
	// Ready returns nil, or what is missing, in words that anybody may read. It returns when ctx ends.
	Ready func(ctx context.Context) error
}

// NewHandler answers GET and HEAD of two paths. /healthz is 200 as long as the process answers. /readyz is 200 when all
// checks pass, else 503; its text has a line for each check.
func NewHandler(checks []Check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		status, text := http.StatusOK, strings.Builder{}
		for _, check := range checks {
			outcome := "ok"
			if err := check.Ready(ctx); err != nil {
				status, outcome = http.StatusServiceUnavailable, err.Error()
			}
			fmt.Fprintf(&text, "%s: %s\n", check.Name, outcome)
		}
		answer(w, status, text.String())
	})
	return mux
}

// WithProfiles adds what Go knows of the process, in the form that `go tool pprof` reads, to a handler: /debug/pprof/.
func WithProfiles(handler http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	for path, profile := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/cmdline": pprof.Cmdline,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/trace":   pprof.Trace,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), profileTimeout)
			defer cancel()
			profile(w, r.WithContext(ctx))
		})
	}
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // who has gone needs no answer
}

// Server serves a handler until it is stopped.
type Server struct {
	http   http.Server
	served chan error
}

// Start serves on the listener, which it closes in the end.
func Start(listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	s := &Server{
		http: http.Server{
			Handler: handler, MaxHeaderBytes: maxHeader,
			ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: time.Minute,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		served: make(chan error, 1),
	}
	go func() {
		err := s.http.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("operators are not served any more", "err", err)
		}
		s.served <- err
	}()
	return s
}

// Stop closes the listener and all connections, and returns why serving had ended before, if it had.
func (s *Server) Stop() error {
	closed := s.http.Close()
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin: serve: %w", err)
	}
	return closed
}
