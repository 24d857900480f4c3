// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package admin answers those who operate a gateway, over HTTP and on an address of its own: is it alive, is it ready, what
// does it count, what does it look like, and, if they want, what is it doing.
//
// Whoever reaches the address is answered, and the gateway's clients come first: requests and connections are bounded, and one
// too many is refused rather than kept waiting. Whether it is alive is always said, so that nothing else makes a gateway look
// dead.
package admin

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"
	"time"
)

const (
	// profileTimeout ends a profile that was asked for longer; the usual one takes 30 s.
	profileTimeout = 2 * time.Minute
	// readerTimeout is how long a reader of a page or of metrics, which may be megabytes, has from its request on.
	readerTimeout = 30 * time.Second
)

// How many requests of each kind are answered at a time.
const (
	maxReadiness = 16
	maxScrapes   = 4
	maxProfiles  = 4
)

// Alive and OnItsWay are what /healthz says: the second until clients are served for the first time. Liveness is of no such
// difference, so the status is that of both; who waits for a gateway to come up goes by the text.
const (
	Alive    = "ok\n"
	OnItsWay = "starting\n"
)

// Parts are what operators are served. The zero value of each is to do without it.
type Parts struct {
	// Starting says that nobody is served yet.
	Starting  bool
	Readiness *Readiness
	// Page answers every path that is not named here, and bounds itself; Metrics answers that of /metrics, under whatever name:
	// scrapers call a gateway as they like.
	Page, Metrics http.Handler
	// Profiles adds what Go knows of the process, in the form that `go tool pprof` reads: /debug/pprof/.
	Profiles bool
	// Hosts are the names that profiles may be asked for by, beside those that KnownHost allows anyway.
	Hosts []string
}

// NewHandler answers GET and HEAD. /healthz is 200 as long as the process answers, however much else it is asked. /readyz is 200 when
// all checks pass, else 503; its text has a line for each check. It is 503 from the moment on at which the gateway begins to
// shut down: who sends it clients should stop while it still serves those that it has.
func NewHandler(p Parts) http.Handler {
	mux := http.NewServeMux()
	alive := Alive
	if p.Starting {
		alive = OnItsWay
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, alive) })
	mux.Handle("GET /readyz", limit(maxReadiness)(p.ready))
	if p.Metrics != nil {
		mux.Handle("GET /metrics", limit(maxScrapes)(patient(p.Metrics)))
	}
	if p.Page != nil {
		mux.Handle("GET /", patient(p.Page))
	}
	if p.Profiles {
		p.addProfiles(mux)
	}
	return mux
}

func (p *Parts) ready(w http.ResponseWriter, r *http.Request) {
	report := Report{}
	if p.Readiness != nil {
		var err error
		if report, err = p.Readiness.Ask(r.Context()); err != nil {
			return // who asked has gone
		}
	}
	status := http.StatusOK
	if !report.Ready() {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, report.String())
}

func (p *Parts) addProfiles(mux *http.ServeMux) {
	limited := limit(maxProfiles)
	for path, profile := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/cmdline": pprof.Cmdline,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/trace":   pprof.Trace,
	} {
		mux.Handle("GET "+path, limited(func(w http.ResponseWriter, r *http.Request) {
			if !KnownHost(r.Host, p.Hosts) {
				answer(w, http.StatusMisdirectedRequest, "the gateway does not answer to this name: use its IP address\n")
				return
			}
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
