// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// epochRequest asks where epochs end; epoch of each part is its current leader epoch, less 1.
func epochRequest(version int16, leaderEpoch int32, parts ...part) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version, req.ReplicaID = version, -1
	for _, p := range parts {
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = p.topic
		in := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		in.Partition, in.CurrentLeaderEpoch, in.LeaderEpoch = p.partition, p.epoch-1, leaderEpoch
		t.Partitions = append(t.Partitions, in)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func epochEnds(resp *kmsg.OffsetForLeaderEpochResponse) []string {
	var ends []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			ends = append(ends, fmt.Sprintf("%s/%d: %d, epoch %d ends at %d", t.Topic, p.Partition, p.ErrorCode, p.LeaderEpoch, p.EndOffset))
		}
	}
	return ends
}

// Where epochs end, in every version: there is one, which ends at the high watermark. A partition named twice is answered
// twice.
func TestOffsetForLeaderEpoch(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 0, batch("a", "b", "c"))
	for version := int16(2); version <= 4; version++ {
		for _, tc := range []struct {
			asked int32
			parts []part
			want  []string
		}{
			{0, []part{{}, {partition: 1}, {}}, []string{"0: 0, epoch 0 ends at 3", "1: 0, epoch 0 ends at 0", "0: 0, epoch 0 ends at 3"}},
			{1, []part{{}}, []string{"0: 0, epoch -1 ends at -1"}},
			{-1, []part{{}}, []string{"0: 0, epoch -1 ends at -1"}},
			{-5, []part{{}}, []string{"0: 0, epoch -5 ends at 0"}},
			{0, []part{{epoch: 1}, {epoch: 2}, {epoch: -1}}, []string{"0: 0, epoch 0 ends at 3", "0: 75, epoch -1 ends at -1", "0: 74, epoch -1 ends at -1"}},
			{0, []part{{partition: 2}, {partition: -1}, {epoch: 9, partition: 2}},
				[]string{"2: 3, epoch -1 ends at -1", "-1: 3, epoch -1 ends at -1", "2: 3, epoch -1 ends at -1"}},
		} {
			for i := range tc.parts {
				tc.parts[i].topic = topic
			}
			for i, end := range tc.want {
				tc.want[i] = topic + "/" + end
			}
			got := epochEnds(ask[*kmsg.OffsetForLeaderEpochResponse](c, epochRequest(version, tc.asked, tc.parts...)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("v%d, epoch %d: %s", version, tc.asked, diff)
			}
		}
		got := epochEnds(ask[*kmsg.OffsetForLeaderEpochResponse](c, epochRequest(version, 0, part{topic: "no-such-topic"}, part{topic: topic})))
		if diff := cmp.Diff([]string{"no-such-topic/0: 3, epoch -1 ends at -1", topic + "/0: 0, epoch 0 ends at 3"}, got); diff != "" {
			t.Errorf("v%d, a missing topic: %s", version, diff)
		}
	}
}

func TestOffsetForLeaderEpochDetached(t *testing.T) {
	c := start(t, setup{detached: true}).dial(t)
	for version := int16(2); version <= 4; version++ {
		got := epochEnds(ask[*kmsg.OffsetForLeaderEpochResponse](c, epochRequest(version, 0, part{topic: "t"}, part{topic: "u", partition: 3})))
		if diff := cmp.Diff([]string{"t/0: 6, epoch -1 ends at -1", "u/3: 6, epoch -1 ends at -1"}, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}
