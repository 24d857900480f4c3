// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import (
	"testing"
	"time"
)

// What a producer was told is written is seen right behind a run that was read back: it is known again what has to follow.
func TestToldIsSeenInARun(t *testing.T) {
	now := time.Time{}
	p := New(10, time.Hour).Partition()
	p.Seen(Batch{1, 0, 0, 4}, 0, 0, now) // read back from the tail after a start
	p.Acknowledged(Batch{1, 0, 5, 9}, now)
	p.Seen(Batch{1, 0, 5, 9}, 5, 0, now)
	p.Gather()
	if got, _ := p.Judge(Batch{1, 0, 20, 24}, now); got != OutOfOrder {
		t.Errorf("a batch behind a gap: verdict %d, want out of order", got)
	}
	p.Gather()
	if got, _ := p.Judge(Batch{1, 0, 8, 12}, now); got != OutOfOrder {
		t.Errorf("a batch that overlaps what is written: verdict %d, want out of order", got)
	}
}
