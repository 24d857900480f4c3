// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package admin answers those who operate a gateway, over HTTP and on an address of its own: is it alive, is it ready, what
// does it count, what does it look like, and, if they want, what is it doing.
//
// Whoever reaches the address is answered, and the gateway's clients come first: requests and connections are bounded, and one
// too many is refused rather than kept waiting. Health has bounds of its own, so that nothing else makes a gateway look dead.
package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

const (
	// checkTimeout is how long /readyz waits for its checks.
	checkTimeout = 2 * time.Second
	// profileTimeout ends a profile that was asked for longer; the usual one takes 30 s.
	profileTimeout = 2 * time.Minute
	// readerTimeout is how long a reader of a page or of metrics, which may be megabytes, has from its request on.
	readerTimeout = 30 * time.Second
)

// How many requests of each kind are answered at a time.
const (
	maxHealth   = 16
	maxPages    = 8
	maxScrapes  = 4
	maxProfiles = 4
)

// Check is one thing that a gateway needs to serve its clients.
type Check struct {
	Name string
	// Ready returns nil, or what is missing, in words that anybody may read. It returns when ctx ends.
	Ready func(ctx context.Context) error
}

// Parts are what operators are served. The zero value of each is to do without it.
type Parts struct {
	Checks []Check
	// Stopping is closed when the gateway begins to shut down.
	Stopping <-chan struct{}
	// Page answers every path that is not named here, Metrics that of /metrics.
	Page, Metrics http.Handler
	// Profiles adds what Go knows of the process, in the form that `go tool pprof` reads: /debug/pprof/.
	Profiles bool
}

// NewHandler answers GET and HEAD. /healthz is 200 as long as the process answers. /readyz is 200 when all checks pass, else
// 503; its text has a line for each check. It is 503 from the moment on at which the gateway begins to shut down: who sends
// it clients should stop while it still serves those that it has.
func NewHandler(p Parts) http.Handler {
	mux := http.NewServeMux()
	health := limit(maxHealth)
	mux.Handle("GET /healthz", health(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") }))
	mux.Handle("GET /readyz", health(p.ready))
	if p.Metrics != nil {
		mux.Handle("GET /metrics", limit(maxScrapes)(patient(p.Metrics)))
	}
	if p.Page != nil {
		mux.Handle("GET /", limit(maxPages)(patient(p.Page)))
	}
	if p.Profiles {
		addProfiles(mux)
	}
	return mux
}

func (p *Parts) ready(w http.ResponseWriter, r *http.Request) {
	select {
	case <-p.Stopping:
		answer(w, http.StatusServiceUnavailable, "shutting down\n")
		return
	default:
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	status, text := http.StatusOK, strings.Builder{}
	for _, check := range p.Checks {
		outcome := "ok"
		if err := check.Ready(ctx); err != nil {
			status, outcome = http.StatusServiceUnavailable, err.Error()
		}
		fmt.Fprintf(&text, "%s: %s\n", check.Name, outcome)
	}
	answer(w, status, text.String())
}

func addProfiles(mux *http.ServeMux) {
	limited := limit(maxProfiles)
	for path, profile := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/cmdline": pprof.Cmdline,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/trace":   pprof.Trace,
	} {
		mux.Handle("GET "+path, limited(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), profileTimeout)
			defer cancel()
			profile(w, r.WithContext(ctx)) // which moves the deadline of its answer behind its end
		}))
	}
}

// limit returns what makes handlers that answer so many requests at a time together, and refuse those beyond.
func limit(n int) func(http.HandlerFunc) http.Handler {
	slots := make(chan struct{}, n)
	return func(next http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				next(w, r)
			default:
				w.Header().Set("Retry-After", "1")
				answer(w, http.StatusServiceUnavailable, "too many requests at a time\n")
			}
		})
	}
}

// patient gives who reads an answer more time than the server does by itself.
func patient(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// It fails where there is no connection, as in a test: then there is no deadline either.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readerTimeout))
		next.ServeHTTP(w, r)
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // who has gone needs no answer
}
