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
	group := make([]*Append, 1)
	if n := testing.AllocsPerRun(100, func() {
		group[0] = a
		if err := l.catchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		live, rest, err := l.admit(t.Context(), group)
		if err != nil || len(live) != 1 || len(rest) != 0 {
			t.Fatal(len(live), len(rest), err)
		}
		l.remember(live, l.next)
		l.next += 3
		a.Producer.FirstSequence, a.Producer.LastSequence = a.Producer.FirstSequence+3, a.Producer.LastSequence+3
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
