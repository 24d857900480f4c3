// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// What is to be finished has as long as its request, and some time in any case.
func TestOutlast(t *testing.T) {
	for name, tc := range map[string]struct {
		own, cancelled, want time.Duration // from the beginning on; none: never
	}{
		"the request has longer":               {own: 20 * time.Second, want: 20 * time.Second},
		"the request has less":                 {own: time.Second, want: 5 * time.Second},
		"the gateway stops soon":               {own: 20 * time.Second, cancelled: 2 * time.Second, want: 5 * time.Second},
		"the gateway stops after the least":    {own: 20 * time.Second, cancelled: 7 * time.Second, want: 7 * time.Second},
		"the request's time is over, and more": {own: -time.Second, want: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tc.own)
				defer cancel()
				if tc.cancelled > 0 {
					time.AfterFunc(tc.cancelled, cancel)
				}
				longer, release := outlast(ctx, 5*time.Second)
				defer release()
				<-longer.Done()
				if took := time.Since(begun); took != tc.want {
					t.Errorf("ended after %v, want %v", took, tc.want)
				}
			})
		})
	}
	longer, release := outlast(t.Context(), time.Hour)
	release()
	if longer.Err() == nil {
		t.Error("released, and it goes on")
	}
}

// One request at a time makes a topic of a name; who waits for his turn does so within his own time. Other names are free.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c settingsCache
		hold := func(ctx context.Context, name string) func() {
			release, err := c.hold(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		making := func() bool {
			_, _, making := c.get(&bridge.Topic{Name: "t"}, 1)
			return making
		}
		release := hold(t.Context(), "t")
		hold(t.Context(), "other")()
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.hold(brief, "t"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of turn: %v", err)
		}
		const others = 10
		turns, at := make(chan int, others), 0
		for range others {
			go func() {
				defer hold(t.Context(), "t")()
				at++ // by one at a time, or the race detector says so
				turns <- at
			}()
		}
		synctest.Wait()
		if len(turns) != 0 || !making() {
			t.Errorf("%d had their turn already; it is made: %v", len(turns), making())
		}
		release()
		synctest.Wait()
		if len(turns) != others || making() {
			t.Errorf("%d of %d had their turn; it is made: %v", len(turns), others, making())
		}
	})
}
