// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A record is much larger than the partition's average says, for which memory was reserved: its answer is not held without the
// memory for it. It waits until others have given back what they hold.
func TestFetchLargerThanReserved(t *testing.T) {
	gw := start(t, setup{budget: 4 << 20})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	const size = 900_000
	c.produce(topic, 0, large(size))
	c.produce(topic, 0, batchOf(batchForm{}, manyRecords(1000, 1)...)) // one that is read or written last counts as well

	response := gw.budgets["response"]
	others := response.Largest()
	if err := response.Acquire(context.Background(), others); err != nil {
		t.Fatal(err)
	}
	c.send(fetchRequest(part{topic: topic, maxBytes: 1000}))
	until(t, "the answer waits for memory", func() bool { return response.Stats().Waiting == 1 })
	if used := response.Used(); used != others {
		t.Errorf("%d bytes are held by an answer that waits", used-others)
	}
	response.Release(others)
	got := records(t, onlyPartition(c, next[*kmsg.FetchResponse](c)).RecordBatches)
	if len(got) != 1 || len(got[0].value) != size {
		t.Errorf("%d records", len(got))
	}
}
