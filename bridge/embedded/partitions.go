// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// openPartitions opens count new and empty logs, numbered from first on.
func (s *Server) openPartitions(incarnation uint64, first, count uint32, now uint64) ([]*partition, iggywire.Status) {
	list := make([]*partition, 0, count)
	for id := first; id < first+count; id++ {
		p, err := s.openPartition(logID{incarnation: incarnation, partition: id}, now)
		if err != nil {
			return nil, iggywire.StatusError
		}
		list = append(list, p)
	}
	return list, iggywire.StatusOK
}

func (s *Server) openPartition(id logID, createdAt uint64) (*partition, error) {
	log, last, err := s.store.open(id)
	if err != nil {
		return nil, fmt.Errorf("open log of partition %d: %w", id.partition, err)
	}
	return newPartition(id, createdAt, log, last), nil
}

// drop stops the partitions from number first on. It returns what the store must
// do: forget their offsets and their logs.
func (t *topic) drop(first uint32) ([]record, logRange) {
	var records []record
	for _, p := range t.partitions[first:] {
		for _, key := range p.drop() {
			records = append(records, record{key: offsetKey(p.logID, key)})
		}
	}
	return records, logRange{incarnation: t.incarnation, from: first}
}

func (s *session) createPartitions(req iggywire.CreatePartitions, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions == 0 || req.Partitions > iggywire.MaxPartitions {
		return dst, iggywire.StatusTooManyPartitions
	}
	c := &s.server.catalog
	c.mu.Lock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	more, status := s.server.openPartitions(t.incarnation, uint32(len(t.partitions)), req.Partitions, s.server.now())
	if status != iggywire.StatusOK {
		c.mu.Unlock()
		return dst, status
	}
	t.partitions = append(t.partitions, more...)
	wait := s.server.commit([]record{topicRecord(t)}, nil)
	c.mu.Unlock()
	return dst, wait()
}

func (s *session) deletePartitions(req iggywire.DeletePartitions, dst []byte) ([]byte, iggywire.Status) {
	if req.Partitions == 0 {
		return dst, iggywire.StatusTooManyPartitions
	}
	c := &s.server.catalog
	c.mu.Lock()
	t, status := c.topic(req.Stream, req.Topic)
	switch {
	case status != iggywire.StatusOK:
		c.mu.Unlock()
		return dst, status
	case uint64(req.Partitions) > uint64(len(t.partitions)):
		c.mu.Unlock()
		return dst, iggywire.StatusInvalidPartitionsCount
	}
	left := uint32(len(t.partitions)) - req.Partitions
	records, dropped := t.drop(left)
	t.partitions = t.partitions[:left:left]
	wait := s.server.commit(append(records, topicRecord(t)), []logRange{dropped})
	c.mu.Unlock()
	return dst, wait()
}
