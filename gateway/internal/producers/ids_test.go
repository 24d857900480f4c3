// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// No id is given out twice: by one process, by the next one after a restart, and whatever the clock does meanwhile.
func TestIDsNeverRepeat(t *testing.T) {
	remembered := Forgetful() // here it outlives the gateways
	seen := map[int64]bool{}
	clock := time.UnixMilli(1_700_000_000_000)
	for _, step := range []time.Duration{0, time.Hour, -24 * time.Hour, -time.Millisecond, time.Millisecond} {
		clock = clock.Add(step)
		ids := NewIDs(3, remembered)
		for range 2*blockSize + 10 {
			id, err := ids.Next(t.Context(), clock)
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Fatalf("%d for the second time, clock stepped %v", id, step)
			}
			if id>>counterBits != 3 {
				t.Fatalf("%d is not of instance 3", id)
			}
			seen[id] = true
		}
	}
}

// Where nothing is remembered, the clock alone keeps ids of two processes apart.
func TestIDsFollowTheClock(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	first, err := NewIDs(0, Forgetful()).Next(t.Context(), now)
	if err != nil || first != now.UnixMilli() {
		t.Errorf("%d, %v", first, err)
	}
	if id, err := NewIDs(65535, Forgetful()).Next(t.Context(), time.UnixMilli(-5)); err != nil || id != 65535<<counterBits {
		t.Errorf("a clock before 1970: %d, %v", id, err)
	}
}

func TestIDsReserveInBlocks(t *testing.T) {
	remembered, reservations := Forgetful(), 0
	ids := NewIDs(0, func(ctx context.Context, least, n int64) (int64, error) {
		reservations++
		return remembered(ctx, least, n)
	})
	var all sync.WaitGroup
	for range 2 * blockSize {
		all.Go(func() {
			if _, err := ids.Next(t.Context(), time.UnixMilli(1)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if reservations != 2 {
		t.Errorf("%d reservations for two blocks", reservations)
	}
}

// A failed reservation gives no id, and the next try may succeed. Nobody waits longer than its context allows.
func TestIDsFailures(t *testing.T) {
	down, fail := errors.New("down"), true
	entered, leave := make(chan struct{}), make(chan struct{})
	ids := NewIDs(0, func(_ context.Context, least, _ int64) (int64, error) {
		if fail {
			fail = false
			return 0, down
		}
		close(entered)
		<-leave
		return least, nil
	})
	if _, err := ids.Next(t.Context(), time.UnixMilli(7)); !errors.Is(err, down) {
		t.Fatalf("Next = %v", err)
	}
	got := make(chan int64)
	go func() {
		id, _ := ids.Next(t.Context(), time.UnixMilli(7))
		got <- id
	}()
	<-entered
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ids.Next(canceled, time.UnixMilli(7)); !errors.Is(err, context.Canceled) {
		t.Errorf("while another waits: %v", err)
	}
	close(leave)
	if id := <-got; id != 7 {
		t.Errorf("id %d", id)
	}
}
