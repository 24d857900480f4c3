// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producers

import (
	"testing"
	"time"
)

func TestIDs(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	ids := NewIDs(65535)
	seen := map[int64]bool{}
	// Many in one millisecond, a clock that steps back, and one that goes on.
	for _, at := range []time.Time{now, now, now, now.Add(-time.Hour), now.Add(time.Second)} {
		id := ids.Next(at)
		if id < 0 || id>>counterBits != 65535 {
			t.Fatalf("id %d does not carry the instance", id)
		}
		if seen[id] {
			t.Fatalf("id %d given out twice", id)
		}
		seen[id] = true
	}
	if a, b := NewIDs(1).Next(now), NewIDs(2).Next(now); a == b {
		t.Fatalf("two instances gave out %d", a)
	}
	if first := NewIDs(0).Next(now); first != now.UnixMilli() {
		t.Fatalf("first id %d, want the clock's %d", first, now.UnixMilli())
	}
}
