// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// step is one that an examination takes if those that it needs have not failed.
type step struct {
	name  string
	needs []string
	run   func(context.Context) finding
}

// examination is what the steps so far have found out. It is used by one goroutine.
type examination struct {
	Options
	bootstrap *visit
	records   *records
	latencies []Latency
	unusable  map[string]bool // the steps that have failed, or were skipped for one that has
}

func (e *examination) steps() []step {
	v, r := e.bootstrap, e.records
	return []step{
		{"settings", nil, e.settings},
		{"dns", []string{"settings"}, v.resolve},
		{"connect", []string{"dns"}, v.connect},
		{"tls", []string{"connect"}, v.secure},
		{"protocol", []string{"tls"}, v.greet},
		{"login", []string{"protocol"}, v.login},
		{"metadata", []string{"login"}, v.learn},
		{"advertised", []string{"metadata"}, e.advertised},
		{"controller", []string{"metadata"}, e.controller},
		{"topic", []string{"advertised"}, r.makeTopic},
		{"produce", []string{"topic"}, r.produce},
		{"fetch", []string{"produce"}, r.fetch},
		{"group", []string{"fetch"}, r.group},
		{"latency", []string{"fetch"}, e.latency},
		{"clock", []string{"latency"}, e.clock},
		{"readiness", []string{"settings"}, e.readiness},
	}
}

// Run examines a target. Each step is given to observe as it ends. The report is complete also when ctx ends early: what was
// left then is skipped.
func Run(ctx context.Context, o Options, observe func(Step)) *Report {
	e := &examination{Options: o, unusable: map[string]bool{}}
	e.bootstrap = newVisit(&e.Options, o.Target.Address)
	e.records = &records{Options: &e.Options, bootstrap: e.bootstrap}
	report := &Report{Address: o.Target.Address, Healthy: true}
	take := func(ctx context.Context, s step) {
		began := time.Now()
		f := e.take(ctx, s)
		if f.Status == Failed {
			report.Healthy = false
		}
		done := Step{s.name, f, Millis(time.Since(began))}
		report.Steps = append(report.Steps, done)
		observe(done)
	}
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	for _, s := range e.steps() {
		take(bounded, s)
	}
	if bounded.Err() != nil { // nobody can say that all is well
		report.Healthy = false
	}
	// What was made is removed also when time is over.
	take(context.WithoutCancel(ctx), step{"cleanup", nil, e.records.cleanUp})
	e.bootstrap.close()
	report.Latencies = e.latencies
	return report
}

func (e *examination) take(ctx context.Context, s step) finding {
	if i := slices.IndexFunc(s.needs, func(name string) bool { return e.unusable[name] }); i >= 0 {
		e.unusable[s.name] = true
		return skipped("needs %s", s.needs[i])
	}
	if ctx.Err() != nil {
		e.unusable[s.name] = true
		return notTaken(ctx)
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, e.StepTimeout)
	defer cancel()
	f := s.run(ctx)
	e.unusable[s.name] = f.Status == Failed
	if f.Status == Failed && errors.Is(whole.Err(), context.Canceled) {
		return notTaken(whole)
	}
	return f
}

// notTaken is a step for which no time is left.
func notTaken(ctx context.Context) finding {
	if errors.Is(ctx.Err(), context.Canceled) {
		return skipped("the examination was broken off")
	}
	return skipped("no time was left for it (--timeout)")
}

// partingTime bounds how long a client is waited for that is closed: it may wait for a server that hangs.
const partingTime = 3 * time.Second

// part closes a client. One that does not end goes on by itself, in a process that is about to end.
func part(closing func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		closing()
	}()
	select {
	case <-ended:
	case <-time.After(partingTime):
	}
}

// settings says what is examined.
func (e *examination) settings(context.Context) finding {
	if e.Fault != nil {
		return failed(strings.ReplaceAll(e.Fault.Error(), "\n", "; "), "Put the settings right, or name the server: doctor HOST:PORT.")
	}
	t := &e.Target
	secured, login := "without TLS", "without a login"
	if t.TLS != nil {
		secured = "with TLS"
	}
	if t.User != "" {
		login = "logging in as " + shown(t.User)
	}
	return ok("%s, %s, %s (%s)", shown(t.Address), secured, login, t.Origin)
}
