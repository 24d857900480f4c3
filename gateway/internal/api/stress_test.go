// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Clients that write, read, ask, and meanwhile delete and make again the same few topics: every answer is one that a
// client understands, and nothing is left behind (close checks the budgets, TestMain the goroutines).
func TestTopicsComeAndGo(t *testing.T) {
	gw := start(t, setup{})
	topics := []string{newName(), newName()}
	for _, topic := range topics {
		gw.createTopic(t, topic, 2)
	}
	var together sync.WaitGroup
	for seed := range uint64(6) {
		c := gw.dial(t)
		together.Go(func() {
			random := rand.New(rand.NewPCG(seed, 7))
			for range 150 {
				p := part{topic: topics[random.IntN(2)], partition: random.Int32N(2), records: batch("a", "b"), timestamp: -1}
				switch random.IntN(12) {
				case 0:
					code := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, p.topic)).Topics[0].ErrorCode
					oneOf(t, "delete", code, 0, codeUnknownTopic)
				case 1, 2:
					code := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, newTopicSpec(p.topic, 2, 1))).Topics[0].ErrorCode
					oneOf(t, "create", code, 0, 36)
				case 3, 4, 5, 6:
					c.send(produceRequest(p), produceRequest(p), produceRequest(p))
					for range 3 {
						code := next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0].ErrorCode
						oneOf(t, "produce", code, 0, codeUnknownTopic, codeNotLeader, codeTimedOut) // 7: written, and deleted before it was found
					}
				case 7, 8, 9:
					p.offset = random.Int64N(20)
					req := fetchRequest(p)
					req.MaxWaitMillis = random.Int32N(20)
					code := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)).ErrorCode
					oneOf(t, "fetch", code, 0, codeOffsetOutOfRange, codeUnknownTopic, codeNotLeader)
				case 10:
					code := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, p)).Topics[0].Partitions[0].ErrorCode
					oneOf(t, "list offsets", code, 0, codeUnknownTopic, codeNotLeader)
				default:
					code := ask[*kmsg.MetadataResponse](c, metadataRequest(9, p.topic)).Topics[0].ErrorCode
					oneOf(t, "metadata", code, 0, codeUnknownTopic)
				}
			}
		})
	}
	together.Wait()
}

func oneOf(t *testing.T, what string, code int16, allowed ...int16) {
	t.Helper()
	for _, a := range allowed {
		if code == a {
			return
		}
	}
	t.Errorf("%s: error %d", what, code)
}
