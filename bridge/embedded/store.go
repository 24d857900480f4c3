// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// logID names the log of one partition. An incarnation belongs to one life of
// one topic (a purge begins a new one) and is never used again, so that what is
// left of a deleted topic can never be taken for its successor's.
type logID struct {
	incarnation uint64
	partition   uint32
}

// entry is the messages of one send, or some that follow each other, stamped and in wire form.
type entry struct {
	base      uint64 // offset of the first message
	timestamp uint64 // of all of them, µs since 1970
	count     uint32 // at least 1
	size      uint64 // bytes of the log up to and with this entry
	messages  []byte
}

// end is the offset behind the entry.
func (e *entry) end() uint64 { return e.base + uint64(e.count) }

// split takes the front off e, as many messages as are limit bytes together but one
// at least, and returns it as an entry of its own.
func (e *entry) split(limit int) (entry, error) {
	front := *e
	if e.count > 1 && len(e.messages) > limit {
		front.count = 0
		size, rest := 0, e.messages
		for front.count < e.count {
			msg, behind, err := iggywire.NextMessage(rest)
			if err != nil {
				return entry{}, err
			}
			if front.count > 0 && size+len(msg) > limit {
				break
			}
			front.count++
			size, rest = size+len(msg), behind
		}
		front.messages = e.messages[:size]
	}
	e.messages = e.messages[len(front.messages):]
	e.base, e.count = front.end(), e.count-front.count
	front.size -= uint64(len(e.messages))
	return front, nil
}

// excerpt is messages read from a log, one after the other.
type excerpt struct {
	parts [][]byte // in wire form; may be the log's own memory, which does not change
	count uint32

	// release, if set, gives the memory of parts back once nobody reads them any
	// more. It is called once or, when that is too much to ask, not at all.
	release func()
}

// record is one fact of the catalogue; a nil value takes it back.
type record struct {
	key   string
	value []byte
}

// logRange is the logs of an incarnation from one partition on.
type logRange struct {
	incarnation uint64
	from        uint32
}

// store keeps the catalogue's records and the partitions' logs. Writes take
// effect in the order in which they were handed over, whoever handed them over:
// a message that is there after a crash never lacks its topic.
type store interface {
	// load returns all records, in the order of their keys. It is called once,
	// before anything else.
	load() ([]record, error)

	// open returns a log that was there at load, and its last entry without its
	// messages: the zero entry if it is empty.
	open(id logID) (messageLog, entry, error)

	// create returns a new log. One of the same name may have been dropped before;
	// nothing that is committed later belongs to that one.
	create(id logID) messageLog

	// commit writes and takes back records and drops logs. It does not wait: done is called once
	// they are durable, or with the error that keeps them from being so.
	commit(e edit, done func(error))

	// close waits for what was handed over and lets go of everything.
	close() error
}

// errBadEntry marks a log that does not hold what it must: an entry is missing
// or is none that this package wrote.
var errBadEntry = errors.New("malformed log")

// messageLog is the log of one partition.
type messageLog interface {
	// append adds an entry, whose base is the end of the one before, and makes the
	// changes of records that belong to it: all or nothing is there after a crash.
	// It does not wait: done is called once they are durable, or with the error
	// that keeps them from being so; calls come in the order of the appends,
	// perhaps before append returns. The log keeps e.messages, which must not
	// change any more.
	append(e entry, records []record, done func(error))

	// read returns the messages from offset from on: up to count, none at end or
	// behind. from < end, and end is no higher than what was reported done. The error
	// wraps errBadEntry when from was trimmed away meanwhile.
	read(from, end uint64, count uint32) (excerpt, error)

	// trim forgets the messages before first, where an entry begins, and makes
	// the changes of records that belong to it. It waits as little as append.
	trim(first uint64, records []record, done func(error))

	// truncate forgets the messages from end on, which is not before the first kept
	// one, and returns their size in bytes. It waits; nothing is being appended.
	truncate(end uint64) (lost uint64, err error)

	// find returns the lowest offset from first on and below end whose message came
	// at timestamp or later, or end. Its errors are read's.
	find(timestamp, first, end uint64) (uint64, error)
}
