// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// fetch shows the offsets that each line of input asks for, "topic/partition [topic-id]", or all.
//
//	fetch [group=g]
func (e *Env) fetch(t *testing.T, d *datadriven.TestData) error {
	var queries []coordinator.OffsetQuery
	for _, words := range lines(d) {
		tp, err := partition(words[0])
		if err != nil {
			return err
		}
		q := coordinator.OffsetQuery{TopicPartition: tp}
		if len(words) > 1 {
			q.TopicID = words[1]
		}
		queries = append(queries, q)
	}
	for _, r := range e.groups.Offsets(group(t, d), queries) {
		metadata := r.Metadata
		if len(metadata) > 20 {
			metadata = metadata[:20] + "..."
		}
		e.printf("%s/%d offset=%d epoch=%d metadata=%q", r.Topic, r.Partition, r.Offset, r.LeaderEpoch, metadata)
	}
	return nil
}
