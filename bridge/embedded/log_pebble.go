// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLog is the entries of one log in the database.
type pebbleLog struct {
	store     *pebbleStore
	id        logID
	bookmarks bookmarks
}

func (l *pebbleLog) append(e entry, records []record, done func(error)) {
	l.store.enqueue(pendingWrite{log: l.id, entry: e, edit: edit{records: records}, done: done})
}

func (l *pebbleLog) trim(first uint64, records []record, done func(error)) {
	l.store.enqueue(pendingWrite{log: l.id, cut: offsetRange{to: first}, edit: edit{records: records}, done: done})
}

// iterate calls f with an iterator over the log's entries.
func (l *pebbleLog) iterate(f func(*pebble.Iterator) error) error {
	it, err := l.store.db.NewIter(&pebble.IterOptions{
		LowerBound: appendEntryKey(nil, l.id, 0),
		UpperBound: appendEntryKey(nil, logID{l.id.incarnation, l.id.partition + 1}, 0),
	})
	if err != nil {
		return err
	}
	return errors.Join(f(it), it.Close())
}

// seek puts it on the entry that holds offset.
func (l *pebbleLog) seek(it *pebble.Iterator, offset uint64) (entry, error) {
	if base, found := l.bookmarks.take(offset); found && it.SeekGE(appendEntryKey(nil, l.id, base)) {
		if e, err := readEntry(it); err != nil || e.base <= offset && offset < e.end() {
			return e, err
		}
	}
	return l.search(it, offset)
}

// search is seek without help.
func (l *pebbleLog) search(it *pebble.Iterator, offset uint64) (entry, error) {
	if !it.SeekLT(appendEntryKey(nil, l.id, offset+1)) {
		return entry{}, l.missing(it, offset)
	}
	e, err := readEntry(it)
	if err == nil && offset >= e.end() {
		err = l.missing(it, offset)
	}
	return e, err
}

func (l *pebbleLog) missing(it *pebble.Iterator, offset uint64) error {
	if err := it.Error(); err != nil {
		return err
	}
	return fmt.Errorf("offset %d of partition %d, incarnation %d: %w", offset, l.id.partition, l.id.incarnation, errBadEntry)
}

func (l *pebbleLog) read(from, end uint64, count uint32) (excerpt, error) {
	if limit := end - from; uint64(count) > limit {
		count = uint32(limit)
	}
	copied := copier{chunks: &l.store.chunks}
	left := count
	err := l.iterate(func(it *pebble.Iterator) error {
		e, err := l.seek(it, from)
		for size := 0; err == nil; e, err = readEntry(it) {
			part, n, err := cut(e.messages, e.base, e.end(), from, left)
			if err != nil {
				return err
			}
			copied.add(part)
			from += uint64(n)
			left -= n
			if size += len(part); left == 0 || size >= maxPollBytes {
				l.bookmarks.put(from, e)
				return nil
			}
			if !it.Next() {
				return l.missing(it, from)
			}
		}
		return err
	})
	return excerpt{parts: copied.parts, count: count - left, release: copied.release}, err
}

func (l *pebbleLog) truncate(end uint64) (lost uint64, err error) {
	w := pendingWrite{log: l.id, cut: offsetRange{from: end, to: math.MaxUint64}}
	err = l.iterate(func(it *pebble.Iterator) error {
		if !it.Last() {
			return it.Error()
		}
		last, err := readEntry(it)
		if err != nil {
			return err
		}
		if !it.SeekLT(appendEntryKey(nil, l.id, end)) {
			if !it.First() {
				return it.Error()
			}
			first, err := readEntry(it)
			lost = last.size - (first.size - uint64(len(first.messages)))
			return err
		}
		e, err := readEntry(it)
		if err != nil {
			return err
		}
		part, count, err := cut(e.messages, e.base, e.end(), e.base, uint32(min(end-e.base, uint64(e.count))))
		if err != nil {
			return err
		}
		e.size -= uint64(len(e.messages) - len(part))
		e.messages, e.count = bytes.Clone(part), count
		lost, w.entry = last.size-e.size, e
		return nil
	})
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	w.done = func(err error) { done <- err }
	l.store.enqueue(w)
	return lost, <-done
}

// find looks at one entry per step: all messages of an entry came at one time.
func (l *pebbleLog) find(timestamp, first, end uint64) (uint64, error) {
	low := first
	err := l.iterate(func(it *pebble.Iterator) error {
		for high := end; low < high; {
			e, err := l.search(it, low+(high-low)/2)
			if err != nil {
				return err
			}
			if e.timestamp >= timestamp {
				high = e.base
			} else {
				low = e.end()
			}
		}
		return nil
	})
	return low, err
}
