// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import "testing"

// A topic's id depends on all that tells one topic from another: Iggy gives the numbers of streams and of topics out again. It is
// the same whenever it is made.
func TestTopicIDTellsTopicsApart(t *testing.T) {
	seen := map[TopicID][3]uint64{{}: {}} // none is zero
	for stream := range uint32(3) {
		for topic := range uint32(3) {
			for _, createdAt := range []uint64{0, 1, 1_700_000_000_000_000, 1_700_000_000_000_001} {
				id, of := topicID(stream, topic, createdAt), [3]uint64{uint64(stream), uint64(topic), createdAt}
				if other, taken := seen[id]; taken {
					t.Errorf("%v and %v have the id %x", of, other, id)
				}
				if id != topicID(stream, topic, createdAt) {
					t.Errorf("%v has two ids", of)
				}
				seen[id] = of
			}
		}
	}
}
