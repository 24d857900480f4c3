// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// Large requests share four fifths; what is left is for small ones alone.
func TestClasses(t *testing.T) {
	b := New(10 * mib)
	for range 8 {
		if !b.TryAcquire(mib) {
			t.Fatal("four fifths are for large requests")
		}
	}
	if b.TryAcquire(mib) {
		t.Error("a large request took from the last fifth")
	}
	if b.TryAcquire(smallSize) {
		t.Error("64 KiB is large")
	}
	if !b.TryAcquire(smallSize - 1) {
		t.Error("a small request found no room in the last fifth")
	}
	if used := b.Used(); used != 8*mib+smallSize-1 {
		t.Errorf("used %d", used)
	}
}

// Small requests may take everything.
func TestSmallTakeAll(t *testing.T) {
	b := New(10 * 1000)
	for range 10 {
		if !b.TryAcquire(1000) {
			t.Fatal("no room")
		}
	}
	if b.TryAcquire(1) {
		t.Error("more than the capacity was granted")
	}
}

// What can never be granted fails at once.
func TestTooLarge(t *testing.T) {
	b := New(10 * mib)
	if got := b.Largest(); got != 8*mib {
		t.Errorf("Largest() = %d", got)
	}
	if err := b.Acquire(t.Context(), 8*mib); err != nil {
		t.Error(err)
	}
	if err := b.Acquire(t.Context(), 8*mib+1); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	tiny := New(1000)
	if got := tiny.Largest(); got != 1000 {
		t.Errorf("Largest() = %d", got)
	}
	if err := tiny.Acquire(t.Context(), 1001); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// A small request does not wait behind a large one, and large ones keep their order even where a later one would fit.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10 * mib)
		if !b.TryAcquire(6 * mib) {
			t.Fatal("no room")
		}
		granted := make(chan int, 2)
		for i, n := range []int64{5 * mib, mib} {
			go func() {
				if err := b.Acquire(t.Context(), n); err != nil {
					t.Error(err)
				}
				granted <- i
			}()
			synctest.Wait()
		}
		if len(granted) != 0 {
			t.Fatal("a large request overtook another")
		}
		if err := b.Acquire(t.Context(), 1000); err != nil {
			t.Error(err)
		}
		b.Release(6 * mib)
		synctest.Wait()
		if len(granted) != 2 {
			t.Errorf("%d of 2 were granted", len(granted))
		}
	})
}

// A wait ends with its context, leaves nothing behind, and lets the one behind it pass.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10 * mib)
		if !b.TryAcquire(6 * mib) {
			t.Fatal("no room")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gaveUp, granted := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- b.Acquire(ctx, 5*mib) }()
		synctest.Wait()
		go func() { granted <- b.Acquire(t.Context(), mib) }()
		synctest.Wait()
		if err := <-gaveUp; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := <-granted; err != nil {
			t.Error(err)
		}
		b.Release(6 * mib)
		b.Release(mib)
		if used := b.Used(); used != 0 {
			t.Errorf("used %d", used)
		}
	})
}

// Whatever happens at the same time, the budget holds and comes back.
func TestConcurrent(t *testing.T) {
	const capacity = 4 * mib
	b := New(capacity)
	var mu sync.Mutex
	var held, most int64
	var tasks sync.WaitGroup
	for seed := range uint64(8) {
		tasks.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 2000 {
				n := random.Int64N(2 * smallSize)
				if random.IntN(10) == 0 {
					n = random.Int64N(3 * mib)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(1000))*time.Microsecond)
				if b.Acquire(ctx, n) == nil {
					mu.Lock()
					held += n
					most = max(most, held)
					mu.Unlock()

					mu.Lock()
					held -= n
					mu.Unlock()
					b.Release(n)
				}
				cancel()
			}
		})
	}
	tasks.Wait()
	if most > capacity {
		t.Errorf("%d bytes were held at once", most)
	}
	if b.Used() != 0 || b.small.Len() != 0 || b.large.Len() != 0 {
		t.Errorf("left: %d bytes, %d and %d waiters", b.Used(), b.small.Len(), b.large.Len())
	}
}

// Giving back what was not taken is a bug that must not pass.
func TestReleaseTooMuch(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(1000).Release(1)
}

// A grant that shrinks from large to small changes its class, and lets the next one in.
func TestShrink(t *testing.T) {
	b := New(1 << 20)
	const large = 700 << 10
	if err := b.Acquire(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	if b.TryAcquire(large) {
		t.Fatal("two large ones fit")
	}
	b.Shrink(large, 1000)
	if b.Used() != 1000 {
		t.Errorf("%d bytes used", b.Used())
	}
	if !b.TryAcquire(large) {
		t.Error("no room after the first one shrank")
	}
	b.Release(large)
	b.Release(1000)
	if b.Used() != 0 || b.largeUsed != 0 {
		t.Errorf("%d bytes used at the end, %d of them large", b.Used(), b.largeUsed)
	}
}

// Who waits, and who has had to, is counted, and so is who went without.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10 * mib)
		check := func(want Stats) {
			t.Helper()
			if got := b.Stats(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		if err := b.Acquire(t.Context(), 6*mib); err != nil {
			t.Fatal(err)
		}
		check(Stats{Used: 6 * mib, Limit: 10 * mib})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		large, small := make(chan error, 1), make(chan error, 1)
		go func() { large <- b.Acquire(ctx, 5*mib) }()
		go func() { small <- b.Acquire(t.Context(), 5000) }() // there is room
		synctest.Wait()
		check(Stats{Used: 6*mib + 5000, Limit: 10 * mib, Waiting: 1, Waits: 1})
		if <-large == nil || <-small != nil {
			t.Error("the wrong one waits")
		}
		check(Stats{Used: 6*mib + 5000, Limit: 10 * mib, Waits: 1, Denials: 1})
		if err := b.Acquire(t.Context(), 9*mib); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		b.Release(6 * mib)
		b.Release(5000)
		check(Stats{Limit: 10 * mib, Waits: 1, Denials: 2})
	})
}
