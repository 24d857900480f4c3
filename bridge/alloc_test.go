// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
)

// What deduplication adds to a batch of a known producer allocates nothing.
func TestDeduplicationAllocatesNothing(t *testing.T) {
	b := &Bridge{producers: producerstate.New(1000, time.Hour)}
	l := &lane{st: &topicState{b: b}, producers: b.producers.Partition(), next: 0}
	a := &Append{Count: 3, Producer: ProducerBatch{Idempotent: true, ID: 7, LastSequence: 2}}
	var u underway
	if n := testing.AllocsPerRun(100, func() {
		u.waiting = append(u.waiting, a)
		if err := l.catchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.admit(t.Context(), &u); err != nil || len(u.group) != 1 || len(u.waiting) != 0 {
			t.Fatal(len(u.group), len(u.waiting), err)
		}
		l.remember(u.group, l.next)
		u.endGroup()
		l.next += 3
		a.Producer.FirstSequence, a.Producer.LastSequence = a.Producer.FirstSequence+3, a.Producer.LastSequence+3
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// To ask what class of failure no error is allocates nothing: every answer does.
func TestNoErrorAllocatesNothing(t *testing.T) {
	var err error
	if n := testing.AllocsPerRun(100, func() {
		if IsNotFound(err) || IsUnauthorized(err) || IsTimeout(err) {
			t.Error("it is none")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
