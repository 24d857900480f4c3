// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// resolve finds the partition that a consumer means and the key of its offsets
// there. A group's member means one of its own partitions: with a number that
// one, without any the one whose turn it is, and a poll (advance) moves the turn
// on. It gets [iggywire.StatusNotResolvedConsumer] for a partition that is not
// its own. The catalogue's mutex is held.
func (s *session) resolve(t *topic, consumer iggywire.Consumer, has bool, number uint32, advance bool) (
	*partition, consumerKey, iggywire.Status,
) {
	if consumer.Kind == iggywire.ConsumerSingle {
		p, status := t.partition(number)
		return p, consumerKey{single: consumer.ID}, status
	}
	g := t.group(consumer.ID)
	if g == nil {
		return nil, consumerKey{}, iggywire.StatusGroupNotFound
	}
	_, m := g.member(s)
	switch {
	case m == nil:
		return nil, consumerKey{}, iggywire.StatusGroupMemberNotFound
	case has && !slices.Contains(m.partitions, number), len(m.partitions) == 0:
		return nil, consumerKey{}, iggywire.StatusNotResolvedConsumer
	case !has:
		turn := m.turn.Load()
		if advance {
			turn = m.turn.Add(1) - 1
		}
		number = m.partitions[turn%uint32(len(m.partitions))]
	}
	p, status := t.partition(number)
	return p, g.consumer(), status
}

// getOffset answers nothing where nothing is stored, and where the stream, topic,
// partition or group is missing. A group's offset is shown to others than its
// members too.
func (s *session) getOffset(req iggywire.GetOffset, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(req.Stream, req.Topic)
	switch {
	case status != iggywire.StatusOK:
		return dst, iggywire.StatusOK
	case !s.me().at(t).poll():
		return dst, iggywire.StatusUnauthorized
	}
	key := consumerKey{single: req.Consumer.ID}
	if req.Consumer.Kind == iggywire.ConsumerGroup {
		g := t.group(req.Consumer.ID)
		if g == nil {
			return dst, iggywire.StatusOK
		}
		key = g.consumer()
	}
	p, status := t.partition(req.Partition)
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

// target is the partition and the consumer's key that a poll, or a request to store or delete an offset, means; for
// advance see resolve.
func (s *session) target(
	stream, topic iggywire.Identifier, consumer iggywire.Consumer, has bool, number uint32, advance bool,
) (*partition, consumerKey, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(stream, topic)
	switch {
	case status != iggywire.StatusOK:
		return nil, consumerKey{}, status
	case !s.me().at(t).poll():
		return nil, consumerKey{}, iggywire.StatusUnauthorized
	}
	return s.resolve(t, consumer, has, number, advance)
}

func (s *session) putOffset(req iggywire.StoreOffset, dst []byte) ([]byte, iggywire.Status) {
	p, key, status := s.target(req.Stream, req.Topic, req.Consumer, req.HasPartition, req.Partition, false)
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
	wait := s.server.commit(edit{records: []record{offsetRecord(p.logID, key, offset)}})
	p.mu.Unlock()
	return wait()
}

func (s *session) deleteOffset(req iggywire.DeleteOffset, dst []byte) ([]byte, iggywire.Status) {
	p, key, status := s.target(req.Stream, req.Topic, req.Consumer, req.HasPartition, req.Partition, false)
	if status != iggywire.StatusOK {
		return dst, status
	}
	p.mu.Lock()
	if _, found := p.offsets[key]; !found {
		p.mu.Unlock()
		return dst, iggywire.StatusConsumerOffsetNotFound
	}
	delete(p.offsets, key)
	wait := s.server.commit(edit{records: []record{{key: offsetKey(p.logID, key)}}})
	p.mu.Unlock()
	return dst, wait()
}

// flushUnsaved has nothing to flush, whatever was answered is durable already: it
// waits for what other sessions sent.
func (s *session) flushUnsaved(req iggywire.FlushUnsaved, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	p, status := s.flushTarget(req)
	c.mu.RUnlock()
	if status != iggywire.StatusOK {
		return dst, status
	}
	return dst, s.server.flush(p)()
}

// flushTarget is the partition to flush. The catalogue's mutex is held.
func (s *session) flushTarget(req iggywire.FlushUnsaved) (*partition, iggywire.Status) {
	t, status := s.server.catalog.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		return nil, status
	}
	p, status := t.partition(req.Partition)
	switch {
	case status != iggywire.StatusOK:
		return nil, status
	case !s.me().at(t).send():
		return nil, iggywire.StatusUnauthorized
	}
	return p, iggywire.StatusOK
}
