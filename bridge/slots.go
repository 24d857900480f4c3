// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// slots bounds the connections that carry writes, of all users together: each of their pools takes a slot before it opens one, and
// releases it when that one is gone.
//
// A user without any connection waits, first come, first served, and makes one of the others go: an idle one if there is one,
// else one of a user who has several, else the one that has been there longest. What is in use goes once its users are done: a
// lane with its look at the partition and its send. A new one does not go before those have got it who waited for it. So
// everybody gets on, however many users write all the time.
//
// A nil *slots bounds nothing. Lock order: slots.mu, then connPool.mu.
type slots struct {
	spare atomic.Int64 // free, for who only wants to know whether there are any

	mu      sync.Mutex
	free    int
	waiting []chan struct{} // closed when the slot is the waiter's
	pools   []*connPool
}

func newSlots(n int) *slots {
	s := &slots{free: n}
	s.spare.Store(int64(n))
	return s
}

// join makes p one of the pools whose connections take slots.
func (s *slots) join(p *connPool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.slots = s
	s.pools = append(s.pools, p)
}

// leave ends what join began, when p has no connection any more.
func (s *slots) leave(p *connPool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pools = slices.DeleteFunc(s.pools, func(other *connPool) bool { return other == p })
}

// any reports that a slot seems to be free.
func (s *slots) any() bool { return s == nil || s.spare.Load() > 0 }

// tryTake takes a slot if one is free.
func (s *slots) tryTake() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.setFree(s.free - 1)
	return true
}

// take waits for a slot.
func (s *slots) take(ctx context.Context) error {
	if s.tryTake() {
		return nil
	}
	mine := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, mine)
	s.hand()
	s.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, mine); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	} else { // it was handed over at the last moment
		s.setFree(s.free + 1)
		s.hand()
	}
	return context.Cause(ctx)
}

// release gives a slot back.
func (s *slots) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setFree(s.free + 1)
	s.hand()
}

// makeRoom is called when a connection has come that may have to go.
func (s *slots) makeRoom() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
}

func (s *slots) setFree(n int) {
	s.free = n
	s.spare.Store(int64(n))
}

// hand gives free slots to those who wait, and lets as many connections go as others still wait for. mu is held.
func (s *slots) hand() {
	for s.free > 0 && len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.setFree(s.free - 1)
	}
	if len(s.waiting) == 0 {
		return
	}
	missing := len(s.waiting)
	for _, p := range s.pools {
		missing -= p.leavers()
	}
	for ; missing > 0; missing-- {
		worst, pool := claim{}, (*connPool)(nil)
		for _, p := range s.pools {
			if c, ok := p.weakest(); ok && (pool == nil || c.compare(worst) < 0) {
				worst, pool = c, p
			}
		}
		if pool == nil {
			return // all slots are with dials; makeRoom comes
		}
		pool.yield(worst.of)
	}
}

// claim is how well founded a connection's hold on its slot is.
type claim struct {
	of    *member
	grade grade
	since time.Time // among equals the oldest has to go
}

type grade int

const (
	unused  grade = iota
	further       // its user has another one
	only
	vital // as in connPool
)

func (c claim) compare(other claim) int {
	return cmp.Or(cmp.Compare(c.grade, other.grade), c.since.Compare(other.since))
}

// weakest returns the member of p that is the first to go.
func (p *connPool) weakest() (worst claim, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due > 0 {
		return claim{}, false
	}
	_, count, _ := p.leastBusy()
	for _, m := range p.members {
		if m.leaving {
			continue
		}
		c := claim{of: m, grade: only, since: m.since}
		switch {
		case p.vital && count == 1:
			c.grade = vital
		case m.users == 0:
			c.grade, c.since = unused, m.used
		case count > 1:
			c.grade = further
		}
		if !ok || c.compare(worst) < 0 {
			worst, ok = c, true
		}
	}
	return worst, ok
}

func (p *connPool) leavers() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if m.leaving {
			n++
		}
	}
	return n
}

// yield makes a member go, unless it does already.
func (p *connPool) yield(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !m.leaving {
		p.leave(m)
	}
}
