// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DriverConfig says what a Driver works with.
type DriverConfig struct {
	Config
	// Store keeps the state. Nil means a MemoryStore.
	Store Store
	// NewID returns a string that it never returned before; member ids end with it. Nil means random UUIDs. It is called
	// by the driver's goroutine.
	NewID func() string
	// Fenced, unless nil, is closed when another coordinator has taken over. From then on every request is refused with
	// ErrNotCoordinator, also those that wait.
	Fenced <-chan struct{}
	// Observe, unless nil, is told of every StateChanged and MemberRemoved, for logs and metrics. It is called by the
	// driver's goroutine, which waits for it.
	Observe func(Effect)
}

// Driver runs Groups: it owns the goroutine, the clock and the timer. Its methods are safe for concurrent use. They wait
// until Run answers them, has returned, or their context ends.
type Driver struct {
	cfg   DriverConfig
	inbox chan job
	// loaded is closed when the state is there, stopped when Run has returned.
	loaded, stopped chan struct{}
	written         mailbox

	// Run's goroutine alone uses what follows. groups is nil until the state is loaded and once it counts no more; refusal
	// is then what requests are answered.
	groups      *Groups
	refusal     error
	lastRequest RequestID
	waiting     map[RequestID]chan<- Reply
}

// job is work for Run's goroutine.
type job struct {
	run func(now time.Time)
	// ran is closed after run: nothing that the caller passed is looked at any more.
	ran chan struct{}
}

// NewDriver returns a driver that waits for Run, or the faults of its configuration.
func NewDriver(cfg DriverConfig) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Store == nil {
		cfg.Store = NewMemoryStore()
	}
	if cfg.NewID == nil {
		cfg.NewID = newUUID
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Effect) {}
	}
	return &Driver{
		cfg:     cfg,
		inbox:   make(chan job),
		loaded:  make(chan struct{}),
		stopped: make(chan struct{}),
		written: mailbox{ready: make(chan struct{}, 1)},
		refusal: ErrLoadInProgress,
		waiting: map[RequestID]chan<- Reply{},
	}, nil
}

// Loaded returns a channel that is closed when the state is loaded. It stays open if that fails.
func (d *Driver) Loaded() <-chan struct{} { return d.loaded }

// Run loads the state and then serves until ctx ends. It is called once. It returns nil when ctx ends, or why loading
// failed. Requests that still wait are refused with ErrNotAvailable.
//
// While the state is loading, requests are answered ErrLoadInProgress, but for heartbeats: they succeed, because a member
// that is told otherwise would give up its assignment.
func (d *Driver) Run(ctx context.Context) error {
	defer close(d.stopped)
	loaded := make(chan error, 1)
	loading := (<-chan error)(loaded)
	groups := NewGroups(d.cfg.Config)
	go func() {
		loaded <- d.cfg.Store.Load(ctx, func(group string, change Change) error {
			groups.Restore(group, change)
			return nil
		})
	}()
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	var armed time.Time
	fenced := d.cfg.Fenced
	for {
		select {
		case <-ctx.Done():
			if loading != nil {
				<-loading
			}
			return nil
		case err := <-loading:
			loading = nil
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, ErrNotCoordinator):
				d.fence()
			case err != nil:
				return fmt.Errorf("coordinator: load: %w", err)
			case d.refusal == ErrLoadInProgress:
				d.groups, d.refusal = groups, nil
				d.groups.Resume(time.Now())
				close(d.loaded)
			}
		case <-fenced:
			fenced = nil
			d.fence()
		case j := <-d.inbox:
			j.run(time.Now())
			close(j.ran)
		case <-d.written.ready:
			for _, w := range d.written.take() {
				if d.groups != nil {
					d.perform(d.groups.Step(time.Now(), w.group, w.Written))
				}
			}
		case <-timer.C:
			armed = time.Time{}
			if d.groups != nil {
				d.perform(d.groups.Tick(time.Now()))
			}
		}
		if d.groups == nil {
			continue
		}
		if at, ok := d.groups.NextDeadline(); ok && !at.Equal(armed) {
			armed = at
			timer.Reset(time.Until(at))
		}
	}
}

// fence refuses everything from now on: what the groups know is no longer so.
func (d *Driver) fence() {
	d.groups, d.refusal = nil, ErrNotCoordinator
	for id, answer := range d.waiting {
		answer <- Reply{Err: ErrNotCoordinator}
		delete(d.waiting, id)
	}
}

// perform does what groups want done.
func (d *Driver) perform(effects []Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case Reply:
			d.waiting[e.Request] <- e
			delete(d.waiting, e.Request)
		case Write:
			d.cfg.Store.Append(e.Group, e.Changes, func(err error) {
				d.written.put(writtenTo{e.Group, Written{ID: e.ID, Err: err}})
			})
		default:
			d.cfg.Observe(effect)
		}
	}
}

// errStopped is what requests get when Run has returned, or returns before it answers them.
var errStopped = fmt.Errorf("%w: the driver has stopped", ErrNotAvailable)

// do has Run's goroutine run a function and returns when it has.
func (d *Driver) do(ctx context.Context, run func(now time.Time)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := job{run: run, ran: make(chan struct{})}
	select {
	case d.inbox <- j:
		<-j.ran
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stopped:
		return errStopped
	}
}

// request sends an event to a group and waits for its answer. If ctx ends first, the event still happens, and its answer
// goes nowhere.
func request[R Result](ctx context.Context, d *Driver, group string, event func(RequestID) Event) (R, error) {
	answer := make(chan Reply, 1)
	err := d.do(ctx, func(now time.Time) {
		if d.refusal != nil {
			answer <- Reply{Err: d.refusal}
			return
		}
		d.lastRequest++
		d.waiting[d.lastRequest] = answer
		d.perform(d.groups.Step(now, group, event(d.lastRequest)))
	})
	var result R
	if err != nil {
		return result, err
	}
	select {
	case r := <-answer:
		result, _ = r.Result.(R)
		return result, r.Err
	case <-ctx.Done():
		return result, ctx.Err()
	case <-d.stopped:
		return result, errStopped
	}
}

// read has Run's goroutine look at the groups.
func read[T any](ctx context.Context, d *Driver, look func(*Groups) (T, error)) (T, error) {
	var result T
	var lookErr error
	err := d.do(ctx, func(now time.Time) {
		if d.refusal != nil {
			lookErr = d.refusal
			return
		}
		d.perform(d.groups.Tick(now))
		result, lookErr = look(d.groups)
	})
	return result, cmp.Or(err, lookErr)
}

// mailbox takes reports of the store from any goroutine. It needs no bound of its own: each report belongs to a write
// that a request or a timer has made.
type mailbox struct {
	ready chan struct{}

	mu      sync.Mutex
	reports []writtenTo // guarded by mu
}

type writtenTo struct {
	group string
	Written
}

func (m *mailbox) put(w writtenTo) {
	m.mu.Lock()
	m.reports = append(m.reports, w)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []writtenTo {
	m.mu.Lock()
	defer m.mu.Unlock()
	reports := m.reports
	m.reports = nil
	return reports
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
