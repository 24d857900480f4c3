// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// TestListOffsetsPolls: a search by timestamp finds what a scan from the start finds, where timestamps go backwards by as
// much as a search allows for, and its polls grow with the logarithm of the partition.
func TestListOffsetsPolls(t *testing.T) {
	gw, proxy, _ := behindProxy(t)
	c := gw.dial(t)
	for _, tc := range []struct{ records, queries int }{
		{1, 5}, {2, 5}, {1000, 50}, {2001, 50}, {2002, 50}, {3003, 300}, {10_000, 200}, {1 << 18, 100},
	} {
		t.Run(fmt.Sprint(tc.records, " records"), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(tc.records), 3))
			stamps := disordered(tc.records, random)
			topic := gw.createTopic(t, newName(), 1)
			gw.fill(t, topic, stamps)
			// Halving down to two windows, and those in polls of a window each; a partition's start may cost one more.
			most := bits.Len(uint(tc.records)) + 5
			for i := range tc.queries {
				asked := stamps[random.IntN(len(stamps))] + random.Int64N(3) - 1
				if i == 0 {
					asked = stamps[0] + int64(tc.records) // later than all
				}
				before := proxy.Asked(iggywire.CodePollMessages)
				got := found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic.Name, timestamp: asked})))
				if polls := proxy.Asked(iggywire.CodePollMessages) - before; polls > most {
					t.Errorf("%d: %d polls, at most %d are due", asked, polls, most)
				}
				if want := scan(stamps, asked); got != want {
					t.Errorf("%d: got %s, want %s", asked, got, want)
				}
			}
		})
	}
}

// disordered are n timestamps (ms), several of which are the same. One may be smaller than another up to 1,000 records
// before it, and is not smaller than any further back.
func disordered(n int, random *rand.Rand) []int64 {
	const base, window = 1_700_000_000_000, 1000
	stamps := make([]int64, n)
	for i := range stamps {
		early := random.IntN(window + 2)
		switch random.IntN(4) {
		case 0:
			early = 0
		case 1:
			early = window + 1
		}
		stamps[i] = base + int64(i+early)/3
	}
	return stamps
}

// scan looks for the first record at or after a timestamp, one after the other.
func scan(stamps []int64, asked int64) string {
	for offset, ts := range stamps {
		if ts >= asked {
			return fmt.Sprintf("%d @%d epoch 0 error 0", offset, ts)
		}
	}
	return "-1 @-1 epoch -1 error 0"
}

// fill writes a small record for each timestamp.
func (gw *gateway) fill(t *testing.T, topic *bridge.Topic, stamps []int64) {
	t.Helper()
	const perBatch = 1000
	for first := 0; first < len(stamps); first += perBatch {
		batch := stamps[first:min(first+perBatch, len(stamps))]
		ids := mapping.IDs{BaseSequence: int32(first)}
		a := &bridge.Append{Session: gw.bridge.Self(), Count: len(batch), Deadline: time.Now().Add(patience)}
		for i, ts := range batch {
			a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{
				ID: ids.ID(i), OriginTimestamp: uint64(ts) * 1000, Payload: []byte("x"),
			})
		}
		if err := gw.bridge.Append(topic, 0, a); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Wait(t.Context()); err != nil || got.BaseOffset != int64(first) {
			t.Fatal(got, err)
		}
	}
}
