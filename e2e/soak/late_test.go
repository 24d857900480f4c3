// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitRequest commits what is given by partition for one topic.
func commitRequest(version int16, group, topic string, offsets ...int64) kmsg.Request {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = version, group
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	for partition, offset := range offsets {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(partition), offset
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func TestCommitsIn(t *testing.T) {
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Group = "g"
	bytesOf := func(requests ...kmsg.Request) (piece []byte) {
		for _, req := range requests {
			piece = append(piece, kmsg.NewRequestFormatter(kmsg.FormatterClientID("client")).AppendRequest(nil, req, 7)...)
		}
		return piece
	}
	both := []map[int]int64{{0: 3, 1: 4}, {0: 5}}
	for version := int16(2); version <= 9; version++ {
		piece := bytesOf(heartbeat, commitRequest(version, "g", "t", 3, 4), heartbeat, commitRequest(version, "g", "t", 5))
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			if diff := cmp.Diff(both, commitsIn(piece, "g", "t")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for n := range piece { // cut short anywhere, it has no commit but whole ones
				if got := commitsIn(piece[:n:n], "g", "t"); len(got) > 1 || !slices.EqualFunc(got, both[:len(got)], func(a, b map[int]int64) bool { return cmp.Equal(a, b) }) {
					t.Errorf("%d bytes have %v", n, got)
				}
			}
		})
	}
	nameless := kmsg.NewRequestFormatter().AppendRequest(nil, commitRequest(8, "g", "t", 3), 7)
	if diff := cmp.Diff([]map[int]int64{{0: 3}}, commitsIn(nameless, "g", "t")); diff != "" {
		t.Errorf("of a client without a name (-want +got):\n%s", diff)
	}
	for name, piece := range map[string][]byte{
		"another group's":    bytesOf(commitRequest(8, "h", "t", 3)),
		"for another topic":  bytesOf(commitRequest(8, "g", "u", 3)),
		"no commit":          bytesOf(heartbeat),
		"a length below all": {0, 0, 0, 1, 8},
		"a negative length":  {0xff, 0xff, 0xff, 0xff, 0, 8},
		"a name too long":    {0, 0, 0, 10, 0, 8, 0, 8, 0, 0, 0, 7, 0, 9},
		"nothing behind it":  {0, 0, 0, 10, 0, 8, 0, 8, 0, 0, 0, 7, 0, 0},
	} {
		if got := commitsIn(piece, "g", "t"); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
