// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// line has waiters join one after the other and notes in which order they are served.
type line struct {
	*testing.T
	*slots
	mu     sync.Mutex
	served []string
}

func (l *line) join(ctx context.Context, name string, from netip.Addr) {
	go func() {
		if l.acquire(ctx, from) == nil {
			l.mu.Lock()
			l.served = append(l.served, name)
			l.mu.Unlock()
		}
	}()
	synctest.Wait()
}

func (l *line) expect(names ...string) {
	l.Helper()
	synctest.Wait()
	if !slices.Equal(l.served, names) {
		l.Errorf("served %v, not %v", l.served, names)
	}
	l.served = nil
}

func inLine(t *testing.T, n int, test func(l *line)) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{T: t, slots: newSlots(n)}
		test(l)
		if l.free != n || l.turns.Len() != 0 || len(l.at) != 0 {
			t.Errorf("%d free, %d turns, %d queues at the end", l.free, l.turns.Len(), len(l.at))
		}
	})
}

// One address with many connections waits behind itself.
func TestSlotsTakeTurns(t *testing.T) {
	busy, quiet, other := addr("10.0.0.1"), addr("10.0.0.2"), addr("10.0.0.3")
	inLine(t, 1, func(l *line) {
		ctx := l.Context()
		l.join(ctx, "b1", busy)
		for _, name := range []string{"b2", "b3", "b4"} {
			l.join(ctx, name, busy)
		}
		l.join(ctx, "q1", quiet)
		l.join(ctx, "o1", other)
		l.join(ctx, "q2", quiet)
		l.expect("b1")
		for range 6 {
			l.release()
			synctest.Wait()
		}
		l.expect("b2", "q1", "o1", "b3", "q2", "b4")
		l.release()
	})
}

func TestSlotsAreSeveral(t *testing.T) {
	inLine(t, 3, func(l *line) {
		for _, name := range []string{"1", "2", "3", "4", "5"} {
			l.join(l.Context(), name, addr("10.0.0.1"))
		}
		l.expect("1", "2", "3")
		l.release()
		l.expect("4")
		for range 4 {
			l.release()
		}
		l.expect("5")
	})
}

// Who gives up leaves no gap, wherever he stood.
func TestSlotsGiveUp(t *testing.T) {
	inLine(t, 1, func(l *line) {
		l.join(l.Context(), "1", addr("10.0.0.1"))
		ctx, cancel := context.WithCancel(l.Context())
		l.join(ctx, "2", addr("10.0.0.1"))
		l.join(l.Context(), "3", addr("10.0.0.1"))
		l.join(ctx, "4", addr("10.0.0.2"))
		cancel()
		synctest.Wait()
		l.release()
		l.expect("1", "3")
		l.release()
	})
}

// Slots are not lost to those who give up at the moment at which they are served.
func TestSlotsRace(t *testing.T) {
	s := newSlots(3)
	var running, most atomic.Int32
	var group sync.WaitGroup
	for i := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			if s.acquire(ctx, netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 7)})) != nil {
				return
			}
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			running.Add(-1)
			s.release()
		})
		group.Go(cancel)
	}
	group.Wait()
	if s.free != 3 || len(s.at) != 0 || most.Load() > 3 {
		t.Errorf("%d free, %d queues, %d at a time", s.free, len(s.at), most.Load())
	}
}
