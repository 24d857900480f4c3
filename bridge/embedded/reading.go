// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "sync"

// bookmarks remembers where readers of a log stopped, so that one who goes on there
// seeks the entry by its key. Without it the entry is the last one that begins at the
// offset or before, and Pebble, to be sure of it, reads the one before that, too.
// A bookmark is a guess: who follows it looks whether it is right.
type bookmarks struct {
	mu    sync.Mutex
	marks [8]bookmark
	next  int // to be replaced when there are more readers
}

// bookmark says that the entry that begins at base holds offset, or will.
type bookmark struct {
	offset, base uint64
	set          bool
}

// take removes a bookmark at offset: its reader will set another one.
func (b *bookmarks) take(offset uint64) (base uint64, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.marks {
		if m := &b.marks[i]; m.set && m.offset == offset {
			m.set = false
			return m.base, true
		}
	}
	return 0, false
}

// put remembers that a reader got to offset, which lies in e or is its end.
func (b *bookmarks) put(offset uint64, e entry) {
	m := bookmark{offset: offset, base: e.base, set: true}
	if offset == e.end() {
		m.base = offset
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.marks {
		if !b.marks[i].set {
			b.marks[i] = m
			return
		}
	}
	b.marks[b.next] = m
	b.next = (b.next + 1) % len(b.marks)
}

// chunk is memory for the answer to a poll. It is used again, since memory of this
// size is cleared when it is new.
type chunk [chunkSize]byte

// copier copies messages out of Pebble's memory into chunks.
type copier struct {
	chunks *sync.Pool // of *chunk
	parts  [][]byte   // all but the last one full
}

func (c *copier) add(b []byte) {
	for len(b) > 0 {
		last := len(c.parts) - 1
		if last < 0 || len(c.parts[last]) == chunkSize {
			c.parts = append(c.parts, c.chunks.Get().(*chunk)[:0])
			continue
		}
		n := min(chunkSize-len(c.parts[last]), len(b))
		c.parts[last] = append(c.parts[last], b[:n]...)
		b = b[n:]
	}
}

// release gives the chunks back.
func (c *copier) release() {
	for _, part := range c.parts {
		c.chunks.Put((*chunk)(part[:chunkSize]))
	}
}
