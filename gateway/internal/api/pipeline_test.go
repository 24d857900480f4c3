// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// 200 requests of all kinds in one write are answered one by one in their order, slow ones and failing ones among them.
func TestPipelineOrder(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic, idle := gw.newTopic(t, 4), gw.newTopic(t, 1)
	parked := fetchRequest(part{topic: idle})
	parked.MaxWaitMillis = 50
	kinds := []func(i int) kmsg.Request{
		func(int) kmsg.Request { return parked },
		func(i int) kmsg.Request {
			return produceRequest(part{topic: topic, partition: int32(i % 4), records: batch("v")})
		},
		func(int) kmsg.Request { return apiVersions(3) },
		func(int) kmsg.Request { return metadataRequest(12, topic, "missing") },
		func(int) kmsg.Request { return produceRequest(part{topic: "missing", records: batch("v")}) },
		func(int) kmsg.Request { return listOffsetsRequest(7, part{topic: topic, timestamp: -1}) },
		func(int) kmsg.Request { return fetchRequest(part{topic: topic}) },
		func(int) kmsg.Request { return createRequest(7, newTopicSpec("a b", 1, 1)) },
		func(int) kmsg.Request { return initProducerID(4, nil, -1, -1) },
		func(int) kmsg.Request {
			req := produceRequest(part{topic: topic, records: batch("unacknowledged")})
			req.Acks = 0
			return req
		},
		func(int) kmsg.Request { return findCoordinator(4, 0, "g") },
	}
	var reqs []kmsg.Request
	for i := range 200 {
		reqs = append(reqs, kinds[i%len(kinds)](i))
	}
	c.send(reqs...)
	for len(c.pending) > 0 {
		c.receive() // checks the order
	}
}

// Requests of one connection reach a partition in the order that they were sent in, whatever is in flight.
func TestPipelinedProduceOrder(t *testing.T) {
	gw := shared(t)
	for _, inFlight := range []int{2, 50, 200} {
		t.Run(fmt.Sprint(inFlight), func(t *testing.T) {
			topic := gw.newTopic(t, 2)
			var clients []*client
			for i := range 3 { // each with its own partition, or sharing one
				c := gw.dial(t)
				var reqs []kmsg.Request
				for n := range inFlight {
					p := part{topic: topic, partition: int32(i % 2), records: batch(fmt.Sprintf("%d-%d", i, n), fmt.Sprintf("%d-%d", i, n))}
					if n%5 == 4 {
						p.records = append(p.records, 0) // refused: leaves no trace
					}
					reqs = append(reqs, produceRequest(p))
				}
				c.send(reqs...)
				clients = append(clients, c)
			}
			written := [2]int{}
			for i, c := range clients {
				last := int64(-1)
				for n := range inFlight {
					got := next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0]
					if n%5 == 4 {
						if got.ErrorCode != codeInvalidRecord {
							t.Errorf("client %d, request %d: error %d", i, n, got.ErrorCode)
						}
						continue
					}
					if got.ErrorCode != 0 || got.BaseOffset <= last {
						t.Fatalf("client %d, request %d: error %d, base %d after %d", i, n, got.ErrorCode, got.BaseOffset, last)
					}
					last = got.BaseOffset
					written[i%2] += 2
				}
			}
			checkOrder(t, clients[0], topic, written)
		})
	}
}

// checkOrder reads both partitions: what each client wrote must stand there in its order, two of each.
func checkOrder(t *testing.T, c *client, topic string, written [2]int) {
	t.Helper()
	for p, want := range written {
		all := values(c.fetchAll(topic, int32(p)))
		if len(all) != want {
			t.Errorf("partition %d: %d records, want %d", p, len(all), want)
		}
		last := map[int]int{}
		for i := 0; i < len(all); i += 2 {
			var who, n int
			if _, err := fmt.Sscanf(all[i], "%d-%d", &who, &n); err != nil || all[i] != all[i+1] {
				t.Fatalf("partition %d: %q and %q at %d", p, all[i], all[i+1], i)
			}
			if before, seen := last[who]; seen && n <= before {
				t.Errorf("partition %d: client %d's %d after its %d", p, who, n, before)
			}
			last[who] = n
		}
	}
}

// An answer that fails closes the connection only after what was asked before is answered; what comes behind is not.
func TestPipelineEndsInOrder(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	bad := produceRequest(part{topic: "missing", records: batch("v")})
	bad.Acks = 0
	c.send(produceRequest(part{topic: topic, records: batch("before")}), metadataRequest(9, topic), bad, metadataRequest(9, topic))
	if got := producedTo(next[*kmsg.ProduceResponse](c)); cmp.Diff([]string{topic + "/0: 0 at 0"}, got) != "" {
		t.Errorf("got %v", got)
	}
	next[*kmsg.MetadataResponse](c)
	c.expectClosed()
}
