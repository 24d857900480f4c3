// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"sync"
)

// sharedCall runs one load for all who ask for it at the same time. Unlike a plain single flight, a caller that
// comes while a load is under way waits for the next one: what it gets was asked for after it called, so it
// sees everything that was acknowledged before.
type sharedCall[T any] struct {
	owner *owner
	load  func(ctx context.Context) (T, error)

	mu      sync.Mutex
	running *flight[T]
	next    *flight[T]
}

type flight[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// do returns a value loaded after the call began. Loads run on the owner's life, not on the callers' contexts;
// ctx bounds the waiting alone.
func (s *sharedCall[T]) do(ctx context.Context) (T, error) {
	var zero T
	s.mu.Lock()
	f := s.next
	if f == nil {
		if f = s.launch(); f == nil {
			s.mu.Unlock()
			return zero, ErrClosed
		}
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return zero, fmt.Errorf("bridge: waiting for a shared answer: %w", context.Cause(ctx))
	}
}

// start begins a load for nobody, unless one is under way.
func (s *sharedCall[T]) start() {
	s.mu.Lock()
	if s.running == nil {
		s.launch()
	}
	s.mu.Unlock()
}

// launch makes the next flight: it takes off now, or when the running one has landed. It returns nil when the owner is
// closed. mu is held.
func (s *sharedCall[T]) launch() *flight[T] {
	f := &flight[T]{done: make(chan struct{})}
	switch {
	case s.running != nil:
		s.next = f
	case s.owner.spawn(s.run):
		s.running = f
	default:
		return nil
	}
	return f
}

// run performs flights until nobody waits for another.
func (s *sharedCall[T]) run() {
	for {
		s.mu.Lock()
		f := s.running
		s.mu.Unlock()
		f.value, f.err = s.load(s.owner.life)
		close(f.done)
		s.mu.Lock()
		s.running, s.next = s.next, nil
		more := s.running != nil
		s.mu.Unlock()
		if !more {
			return
		}
	}
}
