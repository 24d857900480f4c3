// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// partition gives messages their offsets, groups them into segments and tells how
// far its log can be read.
//
// appendMu is taken before mu. Neither is held while anything waits.
type partition struct {
	logID
	createdAt     uint64
	log           messageLog
	segmentSize   uint64
	loseUnflushed bool

	appendMu  sync.Mutex
	next      uint64 // offset of the next message, given out or not yet durable
	size      uint64 // bytes up to next, those before the first segment included
	timestamp uint64 // of the message before next
	active    uint64 // size where the last segment begins
	unflushed unflushed
	dropped   bool // the log is going or gone

	mu       sync.RWMutex
	end      uint64                 // offset behind the last durable message: reads stop here
	endSize  uint64                 // bytes up to end
	segments []segment              // never empty; grows under both mutexes, from append alone
	offsets  map[consumerKey]uint64 // nil: dropped
}

// consumerKey is who an offset was stored for: a single consumer as it calls
// itself, or a group by its incarnation, since its name and number may be given
// to another group later.
type consumerKey struct {
	single iggywire.Identifier
	group  uint64 // 0: none
}

// newPartition is a partition as its log's last entry and its segments left it;
// those of a new one are the zero entry and none.
func (s *Server) newPartition(id logID, createdAt uint64, log messageLog, last entry, segments []segment) *partition {
	if len(segments) == 0 {
		segments = []segment{{}}
	}
	// Where retention left nothing but an empty segment, that knows how far the log went.
	active := segments[len(segments)-1]
	end, size := max(last.end(), active.base), max(last.size, active.size)
	return &partition{
		logID: id, createdAt: createdAt, log: log,
		segmentSize: s.cfg.SegmentSize, loseUnflushed: s.cfg.LoseUnflushed,
		next: end, size: size, timestamp: max(last.timestamp, active.timestamp), active: active.size,
		end: end, endSize: size, segments: segments,
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
	var records []record
	full := p.size-p.active >= p.segmentSize
	if full {
		records = append(records, p.beginSegment())
	}
	if p.loseUnflushed {
		records = append(records, p.unflushed.add(p.logID, &e, full)...)
	}
	p.log.append(e, records, func(err error) {
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

// drop makes every later append and stored offset fail, and returns the changes
// that take back all records about the partition.
func (p *partition) drop() []record {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	p.dropped = true
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := p.unflushed.flush(p.logID)
	for key := range p.offsets {
		gone = append(gone, record{key: offsetKey(p.logID, key)})
	}
	p.offsets = nil
	for _, sg := range p.segments {
		gone = append(gone, record{key: segmentKey(p.logID, sg.base)})
	}
	return gone
}

// forget takes back a consumer's offset and tells whether there was one.
func (p *partition) forget(key consumerKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, found := p.offsets[key]
	delete(p.offsets, key)
	return found
}

// read returns the messages that a poll asks for, and the current offset. An
// offset before the first kept one means that one.
//
// An answer holds no further send's messages once it has maxPollBytes: the count that a client asks for is no measure of
// memory, and a client that gets fewer asks again.
func (p *partition) read(strategy iggywire.PollStrategy, value uint64, count uint32, key consumerKey) (
	messages excerpt, first, current uint64, err error,
) {
	for {
		p.mu.RLock()
		begin, end := p.segments[0].base, p.end
		stored, isStored := p.offsets[key]
		p.mu.RUnlock()
		current = currentOffset(end)
		if count == 0 || begin >= end {
			return excerpt{}, 0, current, nil
		}
		first, err = 0, nil
		switch strategy {
		case iggywire.PollOffset:
			first = value
		case iggywire.PollTimestamp:
			first, err = p.log.find(value, begin, end)
		case iggywire.PollLast:
			first = end - min(uint64(count), end)
		case iggywire.PollNext:
			if isStored {
				first = stored + 1
			}
		case iggywire.PollFirst:
		}
		first = max(first, begin)
		if err == nil && first >= end {
			return excerpt{}, 0, current, nil
		}
		if err == nil {
			messages, err = p.log.read(first, end, count)
		}
		switch {
		case !errors.Is(err, errBadEntry):
			return messages, first, current, err
		case p.isDropped():
			return excerpt{}, 0, 0, errDropped
		case p.first() == begin:
			return excerpt{}, 0, 0, err
		}
		// Retention took away what was being read: it begins later now.
	}
}

// errDropped: what was to be read was deleted or purged meanwhile. Who looks for the partition again finds what came after.
var errDropped = errors.New("partition dropped")

func (p *partition) isDropped() bool {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	return p.dropped
}

// maxPollBytes ends an answer to a poll.
const maxPollBytes = 32 << 20

// first is the offset of the first kept message, or of the next one.
func (p *partition) first() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.segments[0].base
}

// currentOffset is the offset of the last message before end, or 0 if there is none.
func currentOffset(end uint64) uint64 { return max(end, 1) - 1 }

// describe tells what clients see of the partition. Retention does not move the
// current offset.
func (p *partition) describe() iggywire.Partition {
	p.mu.RLock()
	defer p.mu.RUnlock()
	first := p.segments[0]
	return iggywire.Partition{
		ID: p.partition, CreatedAt: p.createdAt, Segments: uint32(len(p.segments)),
		CurrentOffset: currentOffset(p.end), Size: p.endSize - first.size, Messages: p.end - first.base,
	}
}
