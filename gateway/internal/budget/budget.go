// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds the bytes that one kind of work holds in the whole process: frames being read, requests
// being decoded, answers being built.
package budget

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
)

// smallSize is the first size, in bytes, that counts as large.
const smallSize = 64 << 10

// ErrTooLarge says that a request can never be granted, however long it waits.
var ErrTooLarge = errors.New("budget: more than the budget ever grants")

// Budget is a weighted semaphore of bytes with two classes. Large requests (64 KiB and up) together take at most
// four fifths of it and are granted in the order they came; small ones may take all of it and never wait behind
// a large one. All methods are safe for concurrent use.
type Budget struct {
	capacity int64
	largeCap int64

	mu        sync.Mutex
	used      int64     // bytes granted, both classes
	largeUsed int64     // bytes granted to large requests
	small     list.List // of *waiter
	large     list.List // of *waiter
	waits     uint64
	denials   uint64
}

type waiter struct {
	n       int64
	granted chan struct{} // closed under Budget.mu once the bytes are the waiter's
}

// New returns a budget of capacity bytes.
func New(capacity int64) *Budget {
	return &Budget{capacity: capacity, largeCap: capacity / 5 * 4}
}

// Largest returns the most bytes that one Acquire can be granted.
func (b *Budget) Largest() int64 { return max(b.largeCap, min(b.capacity, smallSize-1)) }

// Used returns the bytes granted and not yet released.
func (b *Budget) Used() int64 { return b.Stats().Used }

// Stats are what a Budget has granted, and its counts so far.
type Stats struct {
	Used, Limit int64 // bytes
	Waiting     int   // who wait now
	// Waits is how many had to wait, Denials how many of them gave up, or asked for more than is ever granted.
	Waits, Denials uint64
}

// Stats returns them.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{Used: b.used, Limit: b.capacity, Waiting: b.small.Len() + b.large.Len(), Waits: b.waits, Denials: b.denials}
}

// TryAcquire takes n bytes if that needs no waiting, and says whether it did.
func (b *Budget) TryAcquire(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue(n).Len() == 0 && b.take(n)
}

// Acquire takes n bytes, waiting for others to release theirs until ctx is done. It returns ErrTooLarge at once
// for a request that can never be granted, else the cause of ctx's end. What was acquired must be released by one
// Release with the same n, since n decides the class.
func (b *Budget) Acquire(ctx context.Context, n int64) error {
	if n > b.limit(n) {
		b.deny()
		return fmt.Errorf("%w: %d bytes of %d", ErrTooLarge, n, b.limit(n))
	}
	b.mu.Lock()
	queue := b.queue(n)
	if queue.Len() == 0 && b.take(n) {
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, granted: make(chan struct{})}
	place := queue.PushBack(w)
	b.waits++
	b.mu.Unlock()

	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	b.denials++
	select {
	case <-w.granted: // granted between ctx's end and the lock: give it back
		b.give(n)
	default:
		queue.Remove(place)
	}
	b.grant() // the next in line may be smaller than the one that gave up
	return fmt.Errorf("budget: waiting for %d bytes: %w", n, context.Cause(ctx))
}

// Release returns n bytes that one Acquire or TryAcquire of n took.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.give(n)
	b.grant()
}

// Shrink makes a grant of from bytes one of to bytes, at most as many. It never waits.
func (b *Budget) Shrink(from, to int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.give(from)
	b.used += to
	if b.isLarge(to) {
		b.largeUsed += to
	}
	b.grant()
}

func (b *Budget) deny() {
	b.mu.Lock()
	b.denials++
	b.mu.Unlock()
}

func (b *Budget) isLarge(n int64) bool { return n >= smallSize }

func (b *Budget) limit(n int64) int64 {
	if b.isLarge(n) {
		return b.largeCap
	}
	return b.capacity
}

func (b *Budget) queue(n int64) *list.List {
	if b.isLarge(n) {
		return &b.large
	}
	return &b.small
}

// take grants n bytes if there is room. Callers hold mu.
func (b *Budget) take(n int64) bool {
	if b.used+n > b.capacity || b.isLarge(n) && b.largeUsed+n > b.largeCap {
		return false
	}
	b.used += n
	if b.isLarge(n) {
		b.largeUsed += n
	}
	return true
}

// give is take's opposite. Callers hold mu.
func (b *Budget) give(n int64) {
	b.used -= n
	if b.isLarge(n) {
		b.largeUsed -= n
	}
	if b.used < 0 || b.largeUsed < 0 {
		panic("budget: more released than was acquired")
	}
}

// grant wakes waiters in order while there is room, small ones first. Callers hold mu.
func (b *Budget) grant() {
	for _, queue := range []*list.List{&b.small, &b.large} {
		for e := queue.Front(); e != nil; e = queue.Front() {
			w := e.Value.(*waiter)
			if !b.take(w.n) {
				break
			}
			queue.Remove(e)
			close(w.granted)
		}
	}
}
