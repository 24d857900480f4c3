// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Clients that share fetch sessions, write with sequence numbers, delete records, ask for producers, and meanwhile delete and make
// again the topics: every answer is one that a client understands, and nothing is left behind.
func TestSessionsDeletionsAndQuestions(t *testing.T) {
	gw := start(t, setup{})
	topics := []string{newName(), newName()}
	for _, topic := range topics {
		gw.createTopic(t, topic, 2)
	}
	var mu sync.Mutex
	sessions := map[int32]int32{}
	var together sync.WaitGroup
	for seed := range uint64(8) {
		c := gw.dial(t)
		together.Go(func() {
			random := rand.New(rand.NewPCG(seed, 7))
			sequence := [2][2]int32{}
			for range 300 {
				ti, pi := random.IntN(2), random.Int32N(2)
				p := part{topic: topics[ti], partition: pi, timestamp: -1}
				switch random.IntN(14) {
				case 0:
					if random.IntN(6) == 0 {
						ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, p.topic))
					}
					ask[*kmsg.CreateTopicsResponse](c, createRequest(7, newTopicSpec(p.topic, 2, 1)))
				case 1, 2, 3:
					s := &sequence[ti][pi]
					p.records = sequenced(producer{id: int64(seed), sequence: *s}, 2)
					code := ask[*kmsg.ProduceResponse](c, produceRequest(p)).Topics[0].Partitions[0].ErrorCode
					oneOf(t, "produce", code, 0, codeUnknownTopic, codeNotLeader, codeTimedOut, 45)
					if code == 0 {
						*s += 2
					}
				case 4:
					p.offset = random.Int64N(20) - 1
					code := ask[*kmsg.DeleteRecordsResponse](c, deleteRecordsRequest(2, p)).Topics[0].Partitions[0].ErrorCode
					oneOf(t, "delete records", code, 0, 1, codeUnknownTopic, codeNotLeader, codeTimedOut)
				case 5:
					req := kmsg.NewPtrDescribeProducersRequest()
					rt := kmsg.NewDescribeProducersRequestTopic()
					rt.Topic, rt.Partitions = p.topic, []int32{0, 1, 0, 7}
					req.Topics = append(req.Topics, rt)
					for _, got := range ask[*kmsg.DescribeProducersResponse](c, req).Topics[0].Partitions {
						oneOf(t, "producers", got.ErrorCode, 0, codeUnknownTopic, codeNotLeader)
					}
				case 6, 7: // a new session of all
					req := fetchRequest(part{topic: topics[0]}, part{topic: topics[0], partition: 1}, part{topic: topics[1]}, part{topic: topics[1], partition: 1})
					req.SessionEpoch, req.MaxWaitMillis = 0, random.Int32N(20)
					resp := ask[*kmsg.FetchResponse](c, req)
					mu.Lock()
					if resp.SessionID != 0 {
						sessions[resp.SessionID] = 1
					}
					mu.Unlock()
				default: // somebody's
					mu.Lock()
					var id, epoch int32
					for id, epoch = range sessions {
						break
					}
					if random.IntN(3) > 0 {
						sessions[id]++
					}
					mu.Unlock()
					p.offset = random.Int64N(20)
					req := fetchRequest(p)
					if random.IntN(2) == 0 {
						req.Topics = nil
					}
					if random.IntN(2) == 0 {
						ft := kmsg.NewFetchRequestForgottenTopic()
						ft.Topic, ft.Partitions = topics[1-ti], []int32{0, 1, 5}
						req.ForgottenTopics = append(req.ForgottenTopics, ft)
					}
					req.SessionID, req.SessionEpoch, req.MaxWaitMillis = id, epoch, random.Int32N(20)
					resp := ask[*kmsg.FetchResponse](c, req)
					oneOf(t, "session", resp.ErrorCode, 0, 70, 71)
					if resp.ErrorCode != 0 {
						mu.Lock()
						delete(sessions, id)
						mu.Unlock()
					}
					for _, rt := range resp.Topics {
						for _, rp := range rt.Partitions {
							oneOf(t, "fetch", rp.ErrorCode, 0, codeOffsetOutOfRange, codeUnknownTopic, codeNotLeader)
						}
					}
				}
			}
		})
	}
	together.Wait()
}
