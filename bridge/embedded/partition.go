// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"maps"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// partition gives messages their offsets and tells how far its log can be read.
//
// appendMu is taken before mu. Neither is held while anything waits.
type partition struct {
	logID
	createdAt uint64
	log       messageLog

	appendMu  sync.Mutex
	next      uint64 // offset of the next message, given out or not yet durable
	size      uint64 // bytes up to next
	timestamp uint64 // of the message before next
	dropped   bool   // the log is going or gone

	mu      sync.RWMutex
	end     uint64                 // offset behind the last durable message: reads stop here
	endSize uint64                 // bytes up to end
	offsets map[consumerKey]uint64 // nil: dropped
}

// consumerKey is who an offset was stored for: a single consumer as it calls
// itself, or a group by its incarnation, since its name and number may be given
// to another group later.
type consumerKey struct {
	single iggywire.Identifier
	group  uint64 // 0: none
}

func newPartition(id logID, createdAt uint64, log messageLog, last entry) *partition {
	end := last.end()
	return &partition{
		logID: id, createdAt: createdAt, log: log,
		next: end, size: last.size, timestamp: last.timestamp,
		end: end, endSize: last.size,
		offsets: make(map[consumerKey]uint64),
	}
}

// append stamps the messages of a send and adds them to the log; done is called
// once they are durable. Time never runs backwards within a partition, which
// finding a message by its time depends on.
func (p *partition) append(messages []byte, count uint32, now uint64, newID func() [16]byte, done func(iggywire.Status)) {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	if p.dropped {
		done(iggywire.StatusPartitionNotFound)
		return
	}
	now = max(now, p.timestamp)
	if err := stamp(messages, p.next, now, newID); err != nil {
		done(iggywire.StatusInvalidMessagesSize)
		return
	}
	e := entry{
		base: p.next, timestamp: now, count: count,
		size: p.size + uint64(len(messages)), messages: messages,
	}
	p.next, p.size, p.timestamp = e.end(), e.size, now
	p.log.append(e, func(err error) {
		if err != nil {
			done(iggywire.StatusCannotAppendMessage)
			return
		}
		p.mu.Lock()
		p.end, p.endSize = e.end(), e.size
		p.mu.Unlock()
		done(iggywire.StatusOK)
	})
}

// stamp gives the messages their offsets, time and checksums, and an id to those
// without one.
func stamp(messages []byte, offset, now uint64, newID func() [16]byte) error {
	for len(messages) > 0 {
		msg, rest, err := iggywire.NextMessage(messages)
		if err != nil {
			return err
		}
		if iggywire.MessageID(msg) == [16]byte{} {
			iggywire.SetMessageID(msg, newID())
		}
		iggywire.Stamp(msg, offset, now, xxh3.Hash)
		messages = rest
		offset++
	}
	return nil
}

// drop makes every later append and stored offset fail, and returns whose offsets
// were stored.
func (p *partition) drop() []consumerKey {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	p.dropped = true
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Collect(maps.Keys(p.offsets))
	p.offsets = nil
	return keys
}

// forget takes back a consumer's offset and tells whether there was one.
func (p *partition) forget(key consumerKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, found := p.offsets[key]
	delete(p.offsets, key)
	return found
}

// read returns the messages that a poll asks for, and the current offset.
func (p *partition) read(strategy iggywire.PollStrategy, value uint64, count uint32, key consumerKey) (
	messages [][]byte, first uint64, n uint32, current uint64, err error,
) {
	p.mu.RLock()
	end := p.end
	stored, isStored := p.offsets[key]
	p.mu.RUnlock()
	current = currentOffset(end)
	if count == 0 || end == 0 {
		return nil, 0, 0, current, nil
	}
	switch strategy {
	case iggywire.PollOffset:
		first = value
	case iggywire.PollTimestamp:
		if first, err = p.log.find(value, end); err != nil {
			return nil, 0, 0, current, err
		}
	case iggywire.PollLast:
		first = end - min(uint64(count), end)
	case iggywire.PollNext:
		if isStored {
			first = stored + 1
		}
	case iggywire.PollFirst:
	}
	if first >= end {
		return nil, 0, 0, current, nil
	}
	messages, n, err = p.log.read(first, end, count)
	return messages, first, n, current, err
}

// currentOffset is the offset of the last message before end, or 0 if there is none.
func currentOffset(end uint64) uint64 { return max(end, 1) - 1 }

// describe tells what clients see of the partition. Nothing is ever cut off the
// front of a log, which thus is one segment.
func (p *partition) describe() iggywire.Partition {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return iggywire.Partition{
		ID: p.partition, CreatedAt: p.createdAt, Segments: 1,
		CurrentOffset: currentOffset(p.end), Size: p.endSize, Messages: p.end,
	}
}
