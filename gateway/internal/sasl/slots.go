// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
)

// slots let so many checks happen at a time. Who waits is served by turns of the addresses, and in order within each: however
// many connections one address opens, another waits for one of them at most per address. It is safe for concurrent use.
type slots struct {
	mu    sync.Mutex
	free  int
	turns *list.List // of *queue, none of them empty; front: whose turn it is
	at    map[netip.Addr]*list.Element
}

// queue is who waits from one address.
type queue struct {
	from    netip.Addr
	waiters list.List // of *waiter
}

// waiter is closed when it has a slot.
type waiter struct{ granted chan struct{} }

func newSlots(n int) *slots {
	return &slots{free: n, turns: list.New(), at: map[netip.Addr]*list.Element{}}
}

// acquire waits for a slot until ctx is done; the error is ctx's then.
func (s *slots) acquire(ctx context.Context, from netip.Addr) error {
	s.mu.Lock()
	if s.free > 0 { // so nobody waits
		s.free--
		s.mu.Unlock()
		return nil
	}
	w := &waiter{make(chan struct{})}
	turn, ok := s.at[from]
	if !ok {
		turn = s.turns.PushBack(&queue{from: from})
		s.at[from] = turn
	}
	place := turn.Value.(*queue).waiters.PushBack(w)
	s.mu.Unlock()

	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted: // at the same moment
		s.pass()
	default:
		s.leave(turn, place)
	}
	return ctx.Err()
}

// release gives a slot back, to who waits for it.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass()
}

// pass gives a slot to whose turn it is. mu is held, as for leave.
func (s *slots) pass() {
	turn := s.turns.Front()
	if turn == nil {
		s.free++
		return
	}
	place := turn.Value.(*queue).waiters.Front()
	close(place.Value.(*waiter).granted)
	s.turns.MoveToBack(turn)
	s.leave(turn, place)
}

// leave takes a waiter out of its queue, and the queue out of the turns when it was the last.
func (s *slots) leave(turn, place *list.Element) {
	q := turn.Value.(*queue)
	q.waiters.Remove(place)
	if q.waiters.Len() == 0 {
		s.turns.Remove(turn)
		delete(s.at, q.from)
	}
}
