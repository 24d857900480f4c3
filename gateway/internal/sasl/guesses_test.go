// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// On however many connections somebody guesses: it is one password for each penalty, and the others are told at the same moment.
func TestGuessesAtOnce(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		guess := 0
		for range 20 { // ten minutes
			var guesses sync.WaitGroup
			for range 100 {
				guess++
				token := token("alice", fmt.Sprint("bad", guess))
				guesses.Go(func() {
					if _, took, err := try(t.Context(), g, from(1), token); !errors.Is(err, ErrRefused) || took != 250*time.Millisecond {
						t.Errorf("%v after %v", err, took)
					}
				})
			}
			guesses.Wait()
			time.Sleep(maxPenalty)
		}
		if n := u.checks.Load(); n != 20 {
			t.Errorf("%d passwords were checked at 20 times", n)
		}
	})
}

// While a password is checked another one of that user and address waits, and is checked unless it is penalized by then.
func TestGuessesWait(t *testing.T) {
	const check = time.Second
	for _, test := range []struct {
		name          string
		first, second []byte
		from          netip.Addr // where the second is from
		after         time.Duration
		err           error
		checks        int32
	}{
		{"the right one", token("alice", "good"), token("alice", "good"), from(1), check, nil, 2},
		{"the right one behind a wrong one", token("alice", "bad"), token("alice", "good"), from(1), check + 250*time.Millisecond, ErrRefused, 1},
		{"the right one behind one known to be wrong", token("alice", "old"), token("alice", "good"), from(1), 2 * check, nil, 2},
		{"a wrong one behind the right one", token("alice", "good"), token("alice", "bad"), from(1), 2*check + 250*time.Millisecond, ErrRefused, 2},
		{"another user's", token("alice", "bad"), token("bob", "good"), from(1), check, nil, 2},
		{"from elsewhere", token("alice", "bad"), token("alice", "good"), from(2), check, nil, 2},
		{"a token", token("$token", "bad"), token("$token", "good"), from(1), check, nil, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := &users{takes: check}
			atGate(t, u, func(t *testing.T, g *Gate) {
				if _, _, err := try(t.Context(), g, from(1), token("alice", "old")); !errors.Is(err, ErrRefused) {
					t.Fatal(err)
				}
				time.Sleep(firstPenalty)
				u.checks.Store(0)
				var first sync.WaitGroup
				first.Go(func() { _, _, _ = try(t.Context(), g, from(1), test.first) })
				synctest.Wait()
				_, took, err := try(t.Context(), g, test.from, test.second)
				first.Wait()
				if !errors.Is(err, test.err) || took != test.after || u.checks.Load() != test.checks {
					t.Errorf("%v after %v, %d checks", err, took, u.checks.Load())
				}
			})
		})
	}
}

// Who waits for another password to be checked does so for the time that there is, and nobody waits for who has gone.
func TestGuessesWaitForTheTimeThereIs(t *testing.T) {
	u := &users{takes: 10 * time.Second}
	atGate(t, u, func(t *testing.T, g *Gate) {
		var logins sync.WaitGroup
		for range 4 { // 20 s, two at a time
			logins.Go(func() {
				if _, _, err := try(t.Context(), g, from(1), token("alice", "good")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		logins.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, took, err := try(ctx, g, from(1), token("alice", "gone")); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
				t.Errorf("who goes: %v after %v", err, took)
			}
		})
		if _, took, err := try(t.Context(), g, from(1), token("alice", "bad")); !errors.Is(err, ErrUnavailable) || took != 15*time.Second {
			t.Errorf("who waits: %v after %v", err, took)
		}
		logins.Wait()
		if n := u.checks.Load(); n != 4 {
			t.Errorf("%d checks", n)
		}
	})
}

// Clients that come back all at once with one right password are checked as many at a time as may be, whatever else is tried meanwhile.
func TestStormOfOneUser(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		const clients = 100
		begun := time.Now()
		var storm, guess sync.WaitGroup
		for i := range clients {
			storm.Go(func() {
				if _, err := g.Login(t.Context(), from(1), token("alice", "good"), ""); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait()
				guess.Go(func() { _, _, _ = try(t.Context(), g, from(1), token("alice", "bad")) })
			}
		}
		storm.Wait()
		if took := time.Since(begun); took != clients/2*u.takes {
			t.Errorf("it took %v", took)
		}
		guess.Wait()
		if n := u.checks.Load(); n != clients+1 {
			t.Errorf("%d checks", n)
		}
	})
}
