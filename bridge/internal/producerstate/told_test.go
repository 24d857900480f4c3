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

// A batch failed for all that its producer knows. That it is seen in the partition, and others behind it are written, does not tell
// him: once they are lost he begins with it again, and nothing of what he has in flight behind it may come before.
func TestFailedIsSeenAndLost(t *testing.T) {
	now := time.Time{}
	batch := func(n int32) Batch { return Batch{1, 0, 5 * n, 5*n + 4} }
	for _, tc := range []struct {
		name string
		what func(p *Partition) // once batch 0 is written and 1 has failed
		want Verdict            // on batch 9, when all but batch 0 is lost
	}{
		{"seen", func(p *Partition) { p.Seen(batch(1), 5, 0, now) }, OutOfOrder},
		{"seen, the next one written", func(p *Partition) {
			p.Seen(batch(1), 5, 0, now)
			p.Written(batch(2), 10, 0, now)
		}, OutOfOrder},
		{"the next one acknowledged, both seen", func(p *Partition) {
			p.Acknowledged(batch(2), now)
			p.Seen(Batch{1, 0, 5, 14}, 5, 0, now)
		}, OutOfOrder},
		{"seen, sent again", func(p *Partition) {
			p.Seen(batch(1), 5, 0, now)
			p.Gather()
			p.Judge(batch(1), now)
		}, Write},
		{"acknowledged", func(p *Partition) { p.Acknowledged(batch(1), now) }, Write},
		{"written", func(p *Partition) { p.Written(batch(1), 5, 0, now) }, Write},
		{"seen, as many behind it as can be in flight with it", func(p *Partition) {
			p.Seen(batch(1), 5, 0, now)
			for n := range int32(4) {
				p.Written(batch(2+n), int64(10+5*n), 0, now)
			}
		}, OutOfOrder},
		{"seen, one more behind it", func(p *Partition) {
			p.Seen(batch(1), 5, 0, now)
			for n := range int32(5) {
				p.Written(batch(2+n), int64(10+5*n), 0, now)
			}
		}, Write},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := New(10, time.Hour).Partition()
			p.Written(batch(0), 0, 0, now)
			p.Failed(batch(1), now)
			tc.what(p)
			p.Void(5)
			p.Gather()
			if got, _ := p.Judge(batch(9), now); got != tc.want {
				t.Errorf("behind the gap: verdict %d, want %d", got, tc.want)
			}
			p.Gather()
			if got, _ := p.Judge(batch(1), now); got != Write {
				t.Errorf("the failed one: verdict %d, want %d", got, Write)
			}
		})
	}
}
