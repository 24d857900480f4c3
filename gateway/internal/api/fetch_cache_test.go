// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A thousand clients have sessions, of which none is old: the next ones are answered in full, without one, as often as they
// ask. When a client closes its session there is a place again.
func TestFetchSessionsFull(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a"))
	req := fetchRequest(part{topic: topic})
	ids := map[int32]bool{}
	for len(ids) < 1000 {
		req.SessionID, req.SessionEpoch = 0, 0
		resp := ask[*kmsg.FetchResponse](c, req)
		if resp.SessionID <= 0 || ids[resp.SessionID] {
			t.Fatalf("session %d of %d has id %d", len(ids), 1000, resp.SessionID)
		}
		ids[resp.SessionID] = true
		req.SessionID = resp.SessionID
	}
	last := req.SessionID
	req.SessionID = 0
	for range 3 {
		resp := ask[*kmsg.FetchResponse](c, req)
		if got := onlyPartition(c, resp); resp.SessionID != 0 || len(got.RecordBatches) == 0 {
			t.Errorf("no place: session %d, %+v", resp.SessionID, got)
		}
	}
	req.SessionID, req.SessionEpoch = last, -1
	ask[*kmsg.FetchResponse](c, req)
	req.SessionID, req.SessionEpoch = 0, 0
	if resp := ask[*kmsg.FetchResponse](c, req); resp.SessionID == 0 {
		t.Error("a session was closed, and there is no place")
	}
}

// A session belongs to who knows its id, on whatever connection, also when the one that it was made on is gone.
func TestFetchSessionOnAnotherConnection(t *testing.T) {
	gw := shared(t)
	topic := gw.newTopic(t, 1)
	first := gw.dial(t)
	first.produce(topic, 0, batch("a"))
	req := fetchRequest(part{topic: topic})
	req.SessionEpoch = 0
	req.SessionID = ask[*kmsg.FetchResponse](first, req).SessionID
	first.nc.Close()
	req.SessionEpoch, req.Topics = 1, nil
	second := gw.dial(t)
	if got := onlyPartition(second, ask[*kmsg.FetchResponse](second, req)); len(got.RecordBatches) == 0 {
		t.Errorf("%+v", got)
	}
}

// A session that could take more than a part of what all fetches may hold is not made: its client is answered in full each
// time.
func TestFetchSessionTooLarge(t *testing.T) {
	gw := start(t, setup{budget: 2 << 20})
	c := gw.dial(t)
	const partitions = 1000
	topics := []string{gw.newTopic(t, partitions), gw.newTopic(t, partitions)}
	session := func(n int) int32 {
		t.Helper()
		var parts []part
		for i := range n {
			parts = append(parts, part{topic: topics[i/partitions], partition: int32(i % partitions)})
		}
		req := fetchRequest(parts...)
		req.SessionEpoch = 0
		resp := ask[*kmsg.FetchResponse](c, req)
		answered := 0
		for _, topic := range resp.Topics {
			answered += len(topic.Partitions)
		}
		if answered != n || resp.ErrorCode != 0 {
			t.Fatalf("%d: error %d, %d partitions", n, resp.ErrorCode, answered)
		}
		return resp.SessionID
	}
	if id := session(1000); id == 0 {
		t.Error("no session of 1,000")
	}
	if id := session(2000); id != 0 {
		t.Error("a session of 2,000")
	}
}

// What a fetch holds of its partitions is bounded without a session as well: one that names more than there is ever room for
// is not answered.
func TestFetchOfTooManyPartitions(t *testing.T) {
	gw := start(t, setup{budget: 1 << 20})
	topic := gw.newTopic(t, 1)
	parts := make([]part, 5000)
	for i := range parts {
		parts[i] = part{topic: topic, partition: int32(i)}
	}
	for _, epoch := range []int32{-1, 0} {
		req := fetchRequest(parts...)
		req.SessionEpoch = epoch
		c := gw.dial(t)
		c.send(req)
		c.expectClosed()
	}
	gw.dial(t).produce(topic, 0, batch("v"))
}
