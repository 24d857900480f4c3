// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func batch(epoch int16, first, last int32) Batch {
	return Batch{Producer: 7, Epoch: epoch, First: first, Last: last}
}

// known is a partition whose producer 7 wrote batches of epoch 2 with the given ends, the first from 0 on.
func known(lasts ...int32) *Partition {
	p := New(10, time.Hour).Partition()
	first, offset := int32(0), int64(100)
	for _, last := range lasts {
		b := batch(2, first, last)
		p.Written(b, offset, int64(1000+last), time.Time{})
		first, offset = last+1, offset+b.Count()
	}
	return p
}

func TestVerdicts(t *testing.T) {
	many := known(0, 9, 10, 19, 29, 39)
	wrapped := New(10, time.Hour).Partition()
	wrapped.Written(batch(2, math.MaxInt32-4, 5), 50, 1, time.Time{}) // 11 records
	runs := New(10, time.Hour).Partition()
	runs.Seen(batch(2, 10, 19), 100, 500, time.Time{})
	runs.Seen(batch(2, 20, 29), 110, 600, time.Time{}) // the same run
	runs.Seen(batch(2, 30, 39), 130, 700, time.Time{}) // another
	wrappedRun := New(10, time.Hour).Partition()
	wrappedRun.Seen(batch(2, math.MaxInt32-4, 5), 50, 1, time.Time{})
	noEpoch := New(10, time.Hour).Partition()
	noEpoch.Written(batch(-1, 5, 9), 0, 1, time.Time{})
	for _, tc := range []struct {
		name string
		p    *Partition
		b    Batch
		want Verdict
		at   Place
	}{
		{"unknown producer, from 0", known(), batch(0, 0, 4), Write, Place{}},
		{"unknown producer, from anywhere", known(), batch(3, 77, 80), Write, Place{}},
		{"next", many, batch(2, 40, 44), Write, Place{}},
		{"the last again", many, batch(2, 30, 39), Duplicate, Place{130, 1039}},
		{"the fifth last again", many, batch(2, 1, 9), Duplicate, Place{101, 1009}},
		{"the sixth last again", many, batch(2, 0, 0), OutOfOrder, Place{}},
		{"a gap", many, batch(2, 41, 44), OutOfOrder, Place{}},
		{"the same first, longer", many, batch(2, 30, 40), OutOfOrder, Place{}},
		{"the same first, shorter", many, batch(2, 30, 38), OutOfOrder, Place{}},
		{"overlapping", many, batch(2, 35, 45), OutOfOrder, Place{}},
		{"two batches as one", many, batch(2, 20, 39), OutOfOrder, Place{}},
		{"older epoch", many, batch(1, 40, 44), InvalidEpoch, Place{}},
		{"older epoch, else a duplicate", many, batch(1, 30, 39), InvalidEpoch, Place{}},
		{"no epoch", many, batch(-1, 40, 44), InvalidEpoch, Place{}},
		{"newer epoch from 0", many, batch(3, 0, 4), Write, Place{}},
		{"newer epoch, next sequence number", many, batch(3, 40, 44), OutOfOrder, Place{}},
		{"newer epoch, else a duplicate", many, batch(3, 30, 39), OutOfOrder, Place{}},
		{"after the wrap", known(math.MaxInt32), batch(2, 0, 4), Write, Place{}},
		{"0 not after the wrap", known(math.MaxInt32 - 1), batch(2, 0, 4), OutOfOrder, Place{}},
		{"into the wrap", known(math.MaxInt32 - 5), batch(2, math.MaxInt32-4, 4), Write, Place{}},
		{"after a wrap within", wrapped, batch(2, 6, 6), Write, Place{}},
		{"a wrap within, again", wrapped, batch(2, math.MaxInt32-4, 5), Duplicate, Place{50, 1}},
		{"a wrap within, in a run", wrappedRun, batch(2, math.MaxInt32-1, 2), Duplicate, Place{53, 1}},
		{"a wrap within, beyond a run", wrappedRun, batch(2, math.MaxInt32-1, 6), OutOfOrder, Place{}},
		{"before the wrap, beyond a run", wrappedRun, batch(2, math.MaxInt32-5, 2), OutOfOrder, Place{}},
		{"a run whole", runs, batch(2, 10, 29), Duplicate, Place{100, 600}},
		{"within a run", runs, batch(2, 15, 21), Duplicate, Place{105, 600}},
		{"within the second run", runs, batch(2, 39, 39), Duplicate, Place{139, 700}},
		{"over two runs", runs, batch(2, 25, 34), OutOfOrder, Place{}},
		{"beginning before a run", runs, batch(2, 9, 12), OutOfOrder, Place{}},
		{"ending behind a run", runs, batch(2, 39, 40), OutOfOrder, Place{}},
		{"next after runs", runs, batch(2, 40, 41), Write, Place{}},
		{"without an epoch, again", noEpoch, batch(-1, 5, 9), Duplicate, Place{0, 1}},
		{"without an epoch nothing is out of order", noEpoch, batch(-1, 3, 3), Write, Place{}},
		{"an epoch after none", noEpoch, batch(0, 3, 3), Write, Place{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.p.Gather()
			got, at := tc.p.Judge(tc.b, time.Time{})
			if got != tc.want || at != tc.at {
				t.Errorf("%v at %v, want %v at %v", got, at, tc.want, tc.at)
			}
		})
	}
}

func TestGathering(t *testing.T) {
	p := known(9)
	steps := []struct {
		b    Batch
		want Verdict
	}{
		{batch(2, 10, 14), Write},
		{batch(2, 15, 19), Write},
		{batch(2, 10, 14), Wait},  // a retry of one that is about to be written
		{batch(2, 0, 9), Wait},    // a duplicate whatever comes, but in its turn
		{batch(2, 25, 29), Wait},  // a gap
		{batch(3, 0, 4), Wait},    // a newer epoch
		{batch(2, 20, 24), Write}, // verdicts to wait change nothing
		{Batch{Producer: 8, First: 3, Last: 3}, Write},
		{Batch{Producer: 8, First: 4, Last: 4}, Write},
		{Batch{Producer: 8, First: 3, Last: 3}, Wait},
	}
	p.Gather()
	for i, s := range steps {
		if got, _ := p.Judge(s.b, time.Time{}); got != s.want {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	p.Gather() // nothing was written
	if got, _ := p.Judge(batch(2, 15, 19), time.Time{}); got != OutOfOrder {
		t.Errorf("behind what was not written: %v", got)
	}
	p.Written(batch(2, 10, 14), 200, 0, time.Time{})
	p.Gather()
	if got, at := p.Judge(batch(2, 10, 14), time.Time{}); got != Duplicate || at.Offset != 200 {
		t.Errorf("%v at %v", got, at)
	}
}

// A batch that failed keeps those behind it from becoming the beginning of an unknown producer.
func TestFailed(t *testing.T) {
	judge := func(p *Partition, b Batch) Verdict {
		p.Gather()
		v, _ := p.Judge(b, time.Time{})
		return v
	}
	p := known()
	p.Failed(batch(0, 15, 19), time.Time{})
	p.Failed(batch(0, 10, 14), time.Time{})
	p.Failed(batch(0, 20, 24), time.Time{})
	for _, tc := range []struct {
		b    Batch
		want Verdict
	}{
		{batch(0, 15, 19), OutOfOrder},
		{batch(0, 20, 24), OutOfOrder},
		{batch(0, 10, 14), Write},
		{batch(0, 5, 9), Write},
		{batch(1, 0, 4), Write},
		{batch(1, 30, 34), Write},
	} {
		if got := judge(p, tc.b); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.b, got, tc.want)
		}
	}
	p.Written(batch(0, 10, 14), 0, 0, time.Time{})
	if got := judge(p, batch(0, 15, 19)); got != Write {
		t.Errorf("after the failed one was written: %v", got)
	}
	p.Failed(batch(0, 15, 19), time.Time{})
	p.Void(0)
	if got := judge(p, batch(0, 20, 24)); got != OutOfOrder {
		t.Errorf("behind what failed while the producer was known, when all is lost: %v", got)
	}
	p.Written(batch(0, 15, 19), 0, 0, time.Time{})
	p.Void(0)
	if got := judge(p, batch(0, 20, 24)); got != Write {
		t.Errorf("behind what failed once and was then written, when all is lost: %v", got)
	}
	q := known()
	q.Failed(batch(0, math.MaxInt32, 3), time.Time{})
	if got := judge(q, batch(0, 4, 8)); got != OutOfOrder {
		t.Errorf("behind a failed one, over the wrap: %v", got)
	}
	q.Failed(batch(1, 0, 3), time.Time{})
	if got := judge(q, batch(1, 4, 8)); got != OutOfOrder {
		t.Errorf("behind a failed one of a newer epoch: %v", got)
	}
}

// The partition went back: what is gone is no duplicate, what is left is, and the producer may begin anywhere.
func TestVoid(t *testing.T) {
	judge := func(p *Partition, b Batch) (Verdict, int64) {
		p.Gather()
		v, at := p.Judge(b, time.Time{})
		return v, at.Offset
	}
	check := func(p *Partition, b Batch, want Verdict, at int64) {
		t.Helper()
		if got, offset := judge(p, b); got != want || offset != at {
			t.Errorf("%v: %v at %d, want %v at %d", b, got, offset, want, at)
		}
	}
	p := known(9, 19, 29) // at 100, 110, 120
	p.Void(120)
	check(p, batch(2, 20, 29), Write, 0)
	check(p, batch(2, 30, 39), Write, 0) // the client knows of no loss
	check(p, batch(2, 10, 19), Duplicate, 110)
	check(p, batch(1, 30, 39), InvalidEpoch, 0)
	// Reading the rest again changes nothing of that.
	p.Seen(batch(2, 10, 15), 110, 0, time.Time{})
	check(p, batch(2, 30, 39), Write, 0)
	p.Written(batch(2, 30, 39), 120, 0, time.Time{})
	check(p, batch(2, 50, 59), OutOfOrder, 0)
	check(p, batch(2, 10, 19), Duplicate, 110)

	// A batch of which a part is left is gone; a run that is read anew ends earlier, and its producer still lost something.
	q := New(10, time.Hour).Partition()
	q.Seen(batch(0, 0, 99), 0, 0, time.Time{})
	q.Void(0)
	q.Seen(batch(0, 0, 49), 0, 0, time.Time{})
	check(q, batch(0, 100, 109), Write, 0)
	check(q, batch(0, 40, 49), Duplicate, 40)
	q.Seen(batch(0, 100, 109), 50, 0, time.Time{}) // written by another gateway
	check(q, batch(0, 120, 129), OutOfOrder, 0)
}

// What a send executed twice, or somebody who copies messages, leaves behind does not take a producer back.
func TestSeenOnlyGoesForward(t *testing.T) {
	p := New(10, time.Hour).Partition()
	p.Seen(batch(1, 0, 9), 0, 1, time.Time{})
	p.Seen(batch(1, 10, 19), 10, 1, time.Time{})
	p.Seen(batch(1, 0, 9), 20, 1, time.Time{})
	p.Seen(batch(0, 20, 29), 30, 1, time.Time{})
	if diff := cmp.Diff([]State{{Producer: 7, Epoch: 1, LastSequence: 19, MaxTimestamp: 1}}, p.States()); diff != "" {
		t.Error(diff)
	}
	p.Seen(batch(1, 15, 24), 40, 2, time.Time{})
	p.Seen(batch(2, 5, 9), 50, 3, time.Time{})
	if diff := cmp.Diff([]State{{Producer: 7, Epoch: 2, LastSequence: 9, MaxTimestamp: 3}}, p.States()); diff != "" {
		t.Error(diff)
	}
}

func TestSamples(t *testing.T) {
	p := known(9, 19)
	p.Written(Batch{Producer: 3, Epoch: 1, First: math.MaxInt32, Last: 0}, 108, 0, time.Time{})
	want := []Sample{{109, 7, 2, 9}, {109, 3, 1, 0}, {119, 7, 2, 19}}
	got := p.Samples()
	if len(got) == 3 && got[0].Producer == 3 {
		got[0], got[1] = got[1], got[0] // equal offsets, in no order
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// More producers in one gathering than may be remembered: a batch and its retry are not both to be written for that. Once all
// is judged the bound holds again.
func TestGatheringBeyondTheBound(t *testing.T) {
	table := New(2, time.Hour)
	p, other := table.Partition(), table.Partition()
	now := time.Unix(0, 0)
	p.Gather()
	for producer := range int64(5) {
		if got, _ := p.Judge(Batch{Producer: producer}, now); got != Write {
			t.Errorf("producer %d: %v", producer, got)
		}
	}
	other.Written(Batch{Producer: 9}, 0, 0, now.Add(2*time.Hour)) // nor do they expire
	for producer := range int64(5) {
		if got, _ := p.Judge(Batch{Producer: producer}, now); got != Wait {
			t.Errorf("the retry of producer %d: %v, want wait", producer, got)
		}
	}
	p.Gathered()
	p.Written(Batch{Producer: 4}, 4, 0, now)
	p.Written(Batch{Producer: 5}, 5, 0, now)
	if table.Len() != 2 || len(p.States()) != 2 {
		t.Errorf("%d remembered, %+v", table.Len(), p.States())
	}
}

// One bound and one order of use over all partitions; forgotten after the expiry.
func TestTable(t *testing.T) {
	table := New(3, time.Hour)
	a, b := table.Partition(), table.Partition()
	now := time.Unix(0, 0)
	written := func(p *Partition, producer int64) {
		now = now.Add(time.Minute)
		p.Written(Batch{Producer: producer, First: 0, Last: 4}, 0, 0, now)
	}
	ids := func(p *Partition) string {
		out := ""
		for _, s := range p.States() {
			out += fmt.Sprint(s.Producer, " ")
		}
		return out
	}
	expect := func(what string, inA, inB string, n int, evicted int64) {
		t.Helper()
		if ids(a) != inA || ids(b) != inB || table.Len() != n || table.Evicted() != evicted {
			t.Errorf("%s: %q and %q, %d in all, %d evicted; want %q and %q, %d, %d",
				what, ids(a), ids(b), table.Len(), table.Evicted(), inA, inB, n, evicted)
		}
	}
	written(a, 1)
	written(b, 1)
	written(a, 2)
	expect("three", "1 2 ", "1 ", 3, 0)
	a.Gather()
	a.Judge(Batch{Producer: 1, First: 5, Last: 5}, now) // used, if not written
	a.Gathered()
	written(b, 2)
	expect("the least recently used goes", "1 2 ", "2 ", 3, 1)
	now = now.Add(58 * time.Minute)
	written(b, 3)
	expect("after the expiry", "", "2 3 ", 2, 1)
	written(a, 1)
	b.Drop()
	expect("after a drop", "1 ", "", 1, 1)
	written(b, 1)
	expect("used again", "1 ", "1 ", 2, 1)
	a.Drop()
	b.Drop()
	expect("empty", "", "", 0, 1)
	written(New(0, time.Hour).Partition(), 1) // a bound of one at least
}
