// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

func (s *session) createPartitions(req iggywire.CreatePartitions, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions == 0 || req.Partitions > iggywire.MaxPartitions {
		return dst, iggywire.StatusTooManyPartitions
	}
	return dst, s.changeTopic(req.Stream, req.Topic, func(t *topic) (edit, iggywire.Status) {
		s.server.addPartitions(t, req.Partitions, s.server.now())
		t.rebalanceGroups()
		return edit{records: []record{topicRecord(t)}}, iggywire.StatusOK
	})
}

func (s *session) deletePartitions(req iggywire.DeletePartitions, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions == 0 {
		return dst, iggywire.StatusTooManyPartitions
	}
	return dst, s.changeTopic(req.Stream, req.Topic, func(t *topic) (edit, iggywire.Status) {
		count := uint32(len(t.partitions))
		if req.Partitions > count {
			return edit{}, iggywire.StatusInvalidPartitionsCount
		}
		left := count - req.Partitions
		var e edit
		t.drop(left, &e)
		t.partitions = t.partitions[:left:left]
		t.rebalanceGroups()
		e.records = append(e.records, topicRecord(t))
		return e, iggywire.StatusOK
	})
}

// addPartitions gives a topic count more partitions, which are empty.
func (s *Server) addPartitions(t *topic, count uint32, now uint64) {
	first := uint32(len(t.partitions))
	for number := first; number < first+count; number++ {
		id := logID{incarnation: t.incarnation, partition: number}
		t.partitions = append(t.partitions, s.newPartition(id, now, s.store.create(id), entry{}, nil))
	}
}

// drop stops the partitions from number first on and adds to e what the store
// must forget: all records about them and their logs.
func (t *topic) drop(first uint32, e *edit) {
	for _, p := range t.partitions[first:] {
		e.records = append(e.records, p.drop()...)
	}
	e.dropped = append(e.dropped, logRange{incarnation: t.incarnation, from: first})
}
