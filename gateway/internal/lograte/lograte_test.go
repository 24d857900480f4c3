// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lograte

import (
	"testing"
	"time"
)

type step struct {
	by   time.Duration
	ok   bool
	left int
}

func run(t *testing.T, l *Limit, now time.Time, steps []step) {
	t.Helper()
	for i, s := range steps {
		now = now.Add(s.by)
		if left, ok := l.Admit(now); ok != s.ok || left != s.left {
			t.Errorf("step %d, after %v: %v, %d left out, want %v, %d", i, s.by, ok, left, s.ok, s.left)
		}
	}
}

// One line a second, also when the clock is set back by an hour, and no other when it is read a little late.
func TestLimit(t *testing.T) {
	run(t, &Limit{}, time.Unix(1_700_000_000, 0), []step{
		{by: 0, ok: true},
		{by: 999 * time.Millisecond},
		{by: -time.Millisecond},
		{by: 2 * time.Millisecond, ok: true, left: 2},
		{by: -time.Millisecond},
		{by: -time.Hour, ok: true, left: 1},
		{by: 999 * time.Millisecond},
		{by: time.Millisecond, ok: true, left: 1},
		{by: time.Minute, ok: true},
	})
}

func TestBurst(t *testing.T) {
	run(t, &Limit{Burst: 3}, time.Unix(0, 0), []step{
		{ok: true}, {ok: true}, {by: 500 * time.Millisecond, ok: true}, {}, {},
		{by: 500 * time.Millisecond, ok: true, left: 2}, {ok: true}, {ok: true}, {},
	})
}
