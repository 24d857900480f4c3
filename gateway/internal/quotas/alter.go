// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"sync"
)

// Check says whether Alter could change an entity: ErrTooMany if there is no room for it.
func (q *Quotas) Check(e Entity, change map[Kind]float64) error {
	l := q.current()
	if _, adds := l.after(e, change); adds && len(l.byEntity) >= MaxQuotas {
		return ErrTooMany
	}
	return nil
}

// Alter changes the rates of an entity, 0 to remove one, and returns when that is durable: as the Store says, or ErrTooMany.
// What is not in change stays. Many entities may be altered at a time, and are stored together.
func (q *Quotas) Alter(ctx context.Context, e Entity, change map[Kind]float64) error {
	release, err := q.altering.hold(ctx, e)
	if err != nil {
		return err
	}
	defer release()
	l := q.current()
	rates, adds := l.after(e, change)
	if rates == l.byEntity[e] {
		return nil
	}
	if adds {
		if !q.altering.add(func() int { return len(q.current().byEntity) }) {
			return ErrTooMany
		}
		defer q.altering.added()
	}
	return q.store.SetQuota(ctx, e.key(), rates.values())
}

// after returns the rates of an entity after a change, and whether it had none before.
func (l *limits) after(e Entity, change map[Kind]float64) (rates Rates, adds bool) {
	before := l.byEntity[e]
	rates = before
	for kind, r := range change {
		rates[kind] = r
	}
	return rates, before == Rates{} && rates != Rates{}
}

// alterations are those under way: two of one entity come one after the other, as each begins with what is there.
type alterations struct {
	mu     sync.Mutex // guards what follows
	held   map[Entity]chan struct{}
	adding int // of entities that had no quota
}

// hold waits until nobody else alters an entity.
func (a *alterations) hold(ctx context.Context, e Entity) (release func(), err error) {
	for {
		a.mu.Lock()
		free, held := a.held[e]
		if !held {
			break
		}
		a.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[Entity]chan struct{}{}
	}
	free := make(chan struct{})
	a.held[e] = free
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.held, e)
		close(free)
	}, nil
}

// add takes a place for one more entity; false if there is none. Stored is how many there are: one that has just come to them may be
// counted twice, so it is asked while no place is given back.
func (a *alterations) add(stored func() int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stored()+a.adding >= MaxQuotas {
		return false
	}
	a.adding++
	return true
}

func (a *alterations) added() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adding--
}
