// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// getOffset answers nothing where nothing is stored, and where the stream, topic,
// partition or group is missing.
func (s *session) getOffset(req iggywire.GetOffset, dst []byte) ([]byte, iggywire.Status) {
	p, key, status := s.consumerPartition(req.Consumer, req.Stream, req.Topic, req.Partition)
	if status != iggywire.StatusOK {
		return dst, iggywire.StatusOK
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if stored, found := p.offsets[key]; found {
		dst = iggywire.ConsumerOffset{
			Partition: p.partition, CurrentOffset: currentOffset(p.end), StoredOffset: stored,
		}.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) putOffset(req iggywire.StoreOffset, dst []byte) ([]byte, iggywire.Status) {
	p, key, status := s.consumerPartition(req.Consumer, req.Stream, req.Topic, req.Partition)
	if status != iggywire.StatusOK {
		return dst, status
	}
	return dst, s.storeOffset(p, key, req.Offset)
}

// storeOffset stores the offset of a message that exists.
func (s *session) storeOffset(p *partition, key consumerKey, offset uint64) iggywire.Status {
	p.mu.Lock()
	switch {
	case p.offsets == nil:
		p.mu.Unlock()
		return iggywire.StatusPartitionNotFound
	case offset >= p.end:
		p.mu.Unlock()
		return iggywire.StatusInvalidOffset
	}
	p.offsets[key] = offset
	wait := s.server.commit([]record{offsetRecord(p.logID, key, offset)}, nil)
	p.mu.Unlock()
	return wait()
}

func (s *session) deleteOffset(req iggywire.DeleteOffset, dst []byte) ([]byte, iggywire.Status) {
	p, key, status := s.consumerPartition(req.Consumer, req.Stream, req.Topic, req.Partition)
	if status != iggywire.StatusOK {
		return dst, status
	}
	p.mu.Lock()
	if _, found := p.offsets[key]; !found {
		p.mu.Unlock()
		return dst, iggywire.StatusConsumerOffsetNotFound
	}
	delete(p.offsets, key)
	wait := s.server.commit([]record{{key: offsetKey(p.logID, key)}}, nil)
	p.mu.Unlock()
	return dst, wait()
}

// flushUnsaved has nothing to flush: whatever was answered is durable already.
// An empty change of the catalogue makes sure of what other sessions sent.
func (s *session) flushUnsaved(req iggywire.FlushUnsaved, dst []byte) ([]byte, iggywire.Status) {
	if _, status := s.server.catalog.partition(req.Stream, req.Topic, req.Partition); status != iggywire.StatusOK {
		return dst, status
	}
	return dst, s.server.commit(nil, nil)()
}
