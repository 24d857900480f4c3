// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
)

// segment is where a segment of a partition begins; it ends where the next one
// begins, and the last one, which is not sealed yet, with the partition. As in a
// real server a segment that is full is sealed and the next one begun at once, so
// that the last may be empty.
//
// A segment is no more than this: the messages lie in the log as if there were
// none. All but a partition's very first have a record, which is written with the
// entry that filled the segment before.
type segment struct {
	base      uint64 // offset of the first message
	size      uint64 // bytes of the log before it
	timestamp uint64 // of the message before it, µs since 1970
}

// beginSegment begins a segment at the end of the log. appendMu is held.
func (p *partition) beginSegment() record {
	sg := segment{base: p.next, size: p.size, timestamp: p.timestamp}
	p.active = sg.size
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments = append(p.segments, sg)
	return segmentRecord(p.logID, sg, false)
}

// spare returns how many of the oldest segments retention may take away: sealed
// ones, never the last, that every consumer is through with that has stored an
// offset here, be it alone or a group. That last condition is the real server's.
// mu is held.
func (p *partition) spare() int {
	through := p.end
	for _, stored := range p.offsets {
		through = min(through, stored+1)
	}
	n := 0
	for n < len(p.segments)-1 && p.segments[n+1].base <= through {
		n++
	}
	return n
}

// expired returns how many of the oldest segments retention may take away and
// hold nothing that came after the time before.
func (p *partition) expired(before uint64) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n, spare := 0, p.spare()
	for n < spare && p.segments[n+1].timestamp <= before {
		n++
	}
	return n
}

// oldest returns the time of the last message of the oldest segment, if retention
// may take that away.
func (p *partition) oldest() (timestamp uint64, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.spare() == 0 {
		return 0, false
	}
	return p.segments[1].timestamp, true
}

// trim takes away the n oldest segments, which are not all. Polls find them gone
// at once; wait returns when they cannot come back. The catalogue's mutex is held,
// so that the partition is not dropped: its records would be written again.
func (p *partition) trim(n int) (wait func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var records []record
	for _, sg := range p.segments[:n] {
		records = append(records, record{key: segmentKey(p.logID, sg.base)})
	}
	p.segments = slices.Clone(p.segments[n:])
	first := p.segments[0]
	records = append(records, segmentRecord(p.logID, first, true))
	done := make(chan error, 1)
	p.log.trim(first.base, records, func(err error) { done <- err })
	return func() error { return <-done }
}

// cutSegments takes away the segments that begin behind end and returns the
// changes of their records. Both mutexes are held.
func (p *partition) cutSegments(end uint64) (gone []record) {
	n := len(p.segments)
	for n > 1 && p.segments[n-1].base > end {
		n--
		gone = append(gone, record{key: segmentKey(p.logID, p.segments[n].base)})
	}
	p.segments = p.segments[:n:n]
	p.active = p.segments[n-1].size
	return gone
}
