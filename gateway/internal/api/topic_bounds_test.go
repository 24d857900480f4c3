// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// A topic that a request names very often is asked about once.
func TestBoundsAreAskedOncePerTopic(t *testing.T) {
	const entries, few = 500, 3 // the gateway may ask for reasons of its own
	gw, proxy, _ := behindProxy(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a", "b", "c"))
	for _, tc := range []struct {
		name string
		ask  func()
	}{
		{"ListOffsets", func() {
			req := kmsg.NewPtrListOffsetsRequest()
			req.Version = 7
			entry := kmsg.NewListOffsetsRequestTopic()
			entry.Topic = topic
			for i := range entries {
				p := kmsg.NewListOffsetsRequestTopicPartition()
				p.Partition, p.Timestamp = int32(i), -1
				entry.Partitions = []kmsg.ListOffsetsRequestTopicPartition{p}
				req.Topics = append(req.Topics, entry)
			}
			got := ask[*kmsg.ListOffsetsResponse](c, req).Topics
			if len(got) != entries || got[0].Partitions[0].Offset != 3 || got[1].Partitions[0].ErrorCode != codeUnknownTopic {
				t.Errorf("%d entries, the first are %+v", len(got), got[:2])
			}
		}},
		{"OffsetForLeaderEpoch", func() {
			got := epochEnds(ask[*kmsg.OffsetForLeaderEpochResponse](c, epochRequest(4, 0, slices.Repeat([]part{{topic: topic}}, entries)...)))
			if want := topic + "/0: 0, epoch 0 ends at 3"; len(got) != entries || got[entries-1] != want {
				t.Errorf("%d entries, the last is %s", len(got), got[entries-1])
			}
		}},
	} {
		before := proxy.Asked(iggywire.CodeGetTopic)
		tc.ask()
		if n := proxy.Asked(iggywire.CodeGetTopic) - before; n > few {
			t.Errorf("%s: the topic was asked about %d times", tc.name, n)
		}
	}
}
