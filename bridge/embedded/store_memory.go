// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
	"sort"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// chunkSize is how many bytes of small sends lie in one piece of memory. A poll
// then writes a few pieces instead of one per send; larger sends stay where they
// were read.
const chunkSize = 64 << 10

// memoryStore keeps logs in memory and no records at all: they are needed after
// a start only.
type memoryStore struct{}

func (memoryStore) load() ([]record, error) { return nil, nil }

func (memoryStore) open(logID) (messageLog, entry, error) { return &memoryLog{}, entry{}, nil }

func (memoryStore) create(logID) messageLog { return &memoryLog{} }

func (memoryStore) commit(_ edit, done func(error)) { done(nil) }

func (memoryStore) close() error { return nil }

// memoryLog is a list of chunks by ascending offset.
type memoryLog struct {
	mu     sync.RWMutex
	chunks []memoryChunk
}

// memoryChunk is one or more entries behind each other. messages only ever grows
// into its spare capacity, so that slices handed to readers stay true.
type memoryChunk struct {
	base      uint64
	timestamp uint64 // of the first message
	end       uint64
	messages  []byte
}

func (l *memoryLog) append(e entry, _ []record, done func(error)) {
	l.mu.Lock()
	if n := len(l.chunks); n > 0 && cap(l.chunks[n-1].messages)-len(l.chunks[n-1].messages) >= len(e.messages) {
		last := &l.chunks[n-1]
		last.messages = append(last.messages, e.messages...)
		last.end = e.end()
	} else {
		chunk := memoryChunk{base: e.base, timestamp: e.timestamp, end: e.end(), messages: e.messages}
		if len(e.messages) <= chunkSize/4 {
			chunk.messages = append(make([]byte, 0, chunkSize), e.messages...)
		}
		l.chunks = append(l.chunks, chunk)
	}
	l.mu.Unlock()
	done(nil)
}

// trim lets go of chunks that are wholly before first; what else is before it
// goes with the rest of its chunk. The list is copied, since a view may be using
// the old one.
func (l *memoryLog) trim(first uint64, _ []record, done func(error)) {
	l.mu.Lock()
	n := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].end > first })
	l.chunks = slices.Clone(l.chunks[n:])
	l.mu.Unlock()
	done(nil)
}

// view returns the chunks as they are now. A later append changes none of the
// bytes seen through the view; but the last chunk may be replaced by a longer one,
// hence the copy of it.
func (l *memoryLog) view() (chunks []memoryChunk, last memoryChunk) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := len(l.chunks) - 1
	if n < 0 {
		return nil, memoryChunk{}
	}
	return l.chunks[:n], l.chunks[n]
}

func (l *memoryLog) read(from, end uint64, count uint32) (excerpt, error) {
	if limit := end - from; uint64(count) > limit {
		count = uint32(limit)
	}
	chunks, last := l.view()
	i := sort.Search(len(chunks), func(i int) bool { return chunks[i].end > from })
	var out excerpt
	left := count
	for size := 0; left > 0 && size < maxPollBytes; i++ {
		chunk := last
		if i < len(chunks) {
			chunk = chunks[i]
		}
		if from < chunk.base || from >= chunk.end {
			return excerpt{}, errBadEntry // trimmed or lost meanwhile
		}
		part, n, err := cut(chunk.messages, chunk.base, chunk.end, from, left)
		if err != nil {
			return excerpt{}, err
		}
		out.parts = append(out.parts, part)
		out.count += n
		from += uint64(n)
		left -= n
		size += len(part)
	}
	return out, nil
}

// truncate cuts a copy of the list, as a view may be using the old one.
func (l *memoryLog) truncate(end uint64) (lost uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chunks = slices.Clone(l.chunks)
	for n := len(l.chunks) - 1; n >= 0 && l.chunks[n].end > end; n-- {
		chunk := &l.chunks[n]
		lost += uint64(len(chunk.messages))
		if chunk.base >= end {
			l.chunks = l.chunks[:n:n]
			continue
		}
		part, _, err := cut(chunk.messages, chunk.base, chunk.end, chunk.base, uint32(end-chunk.base))
		if err != nil {
			return 0, err
		}
		lost -= uint64(len(part))
		// Without spare capacity: polls may still be writing what was behind.
		chunk.messages, chunk.end = part[:len(part):len(part)], end
	}
	return lost, nil
}

func (l *memoryLog) find(timestamp, first, end uint64) (uint64, error) {
	chunks, last := l.view()
	// The first message that is late enough lies in the last chunk that begins
	// too early, or begins the chunk behind it.
	i := sort.Search(len(chunks), func(i int) bool { return chunks[i].timestamp >= timestamp })
	if i == len(chunks) && last.timestamp < timestamp {
		i++
	}
	if i == 0 {
		return first, nil
	}
	chunk := last
	if i <= len(chunks) {
		chunk = chunks[i-1]
	}
	offset, err := findIn(chunk.messages, chunk.base, timestamp)
	return min(max(offset, first), end), err
}

// cut returns the part of messages, which hold the offsets from base to end,
// that begins at offset from and has up to count messages.
func cut(messages []byte, base, end, from uint64, count uint32) (part []byte, n uint32, err error) {
	part = messages
	for ; base < from; base++ {
		if _, part, err = iggywire.NextMessage(part); err != nil {
			return nil, 0, err
		}
	}
	if end-from <= uint64(count) {
		return part, uint32(end - from), nil
	}
	rest := part
	for range count {
		if _, rest, err = iggywire.NextMessage(rest); err != nil {
			return nil, 0, err
		}
	}
	return part[:len(part)-len(rest)], count, nil
}

// findIn returns the offset of the first of messages that came at timestamp or
// later, or the offset behind the last.
func findIn(messages []byte, base, timestamp uint64) (uint64, error) {
	for len(messages) > 0 {
		msg, rest, err := iggywire.NextMessage(messages)
		if err != nil {
			return 0, err
		}
		if iggywire.MessageTimestamp(msg) >= timestamp {
			break
		}
		messages = rest
		base++
	}
	return base, nil
}
