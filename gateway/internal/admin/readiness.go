// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// checkTimeout is how long a round of checks may take.
const checkTimeout = 2 * time.Second

// Check is one thing that a gateway needs to serve its clients.
type Check struct {
	Name string
	// Ready returns nil, or what is missing, in words that anybody may read. It returns when ctx ends.
	Ready func(ctx context.Context) error
}

// Readiness says whether a gateway should be sent clients. It is safe for concurrent use: who asks while the checks are made waits
// for these, so that a hanging Iggy is asked once, however many want to know.
type Readiness struct {
	checks   []Check
	stopping <-chan struct{}

	mu     sync.Mutex
	flight *flight // guarded by mu: the round under way, nil if there is none
}

// flight is one round of checks, for all who wait for it.
type flight struct {
	done   chan struct{}
	report Report // once done
}

// NewReadiness returns what makes these checks. stopping is closed when the gateway begins to shut down; nil: it does not.
func NewReadiness(checks []Check, stopping <-chan struct{}) *Readiness {
	return &Readiness{checks: checks, stopping: stopping}
}

// Report is what came of the checks. It is shared: nobody changes it.
type Report struct {
	// Stopping: the gateway shuts down. It serves the clients that it has, should get no others, and was not checked.
	Stopping bool
	Outcomes []Outcome // by check
}

// Outcome is that of one check; no Err: it passed.
type Outcome struct {
	Name string
	Err  error
}

// Ready says whether everything is as it should be.
func (r Report) Ready() bool {
	for _, o := range r.Outcomes {
		if o.Err != nil {
			return false
		}
	}
	return !r.Stopping
}

// String has a line for each check.
func (r Report) String() string {
	if r.Stopping {
		return "shutting down\n"
	}
	var text strings.Builder
	for _, o := range r.Outcomes {
		outcome := "ok"
		if o.Err != nil {
			outcome = o.Err.Error()
		}
		fmt.Fprintf(&text, "%s: %s\n", o.Name, outcome)
	}
	return text.String()
}

// Ask makes the checks. The error is ctx's, for who waits for the round of somebody else; one's own goes on to its end.
func (r *Readiness) Ask(ctx context.Context) (Report, error) {
	select {
	case <-r.stopping:
		return Report{Stopping: true}, nil
	default:
	}
	f, mine := r.join()
	if mine {
		r.fly(ctx, f)
		return f.report, nil
	}
	select {
	case <-f.done:
		return f.report, nil
	case <-ctx.Done():
		return Report{}, fmt.Errorf("admin: waiting for the checks: %w", context.Cause(ctx))
	}
}

// join returns the round under way, or a new one, which is the caller's to make.
func (r *Readiness) join() (f *flight, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flight == nil {
		r.flight, mine = &flight{done: make(chan struct{})}, true
	}
	return r.flight, mine
}

// fly makes a round of checks, also for the others when who began it has gone.
func (r *Readiness) fly(ctx context.Context, f *flight) {
	defer func() {
		r.mu.Lock()
		r.flight = nil
		r.mu.Unlock()
		close(f.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	for _, check := range r.checks {
		f.report.Outcomes = append(f.report.Outcomes, Outcome{check.Name, check.Ready(ctx)})
	}
}
