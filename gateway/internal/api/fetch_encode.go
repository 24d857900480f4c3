// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// reply encodes the answer by hand, so that the records go to the socket from where they were built: a response of
// kmsg would copy them once more. A test holds it against kmsg's encoding.
//
//	throttle i32 | v7+: error i16, session id i32 | topics (
//	    v12-: name, v13+: id | partitions (
//	        partition i32 | error i16 | high watermark i64 | last stable offset i64 | v5+: log start i64 |
//	        aborted transactions, null or empty | v11+: preferred replica i32 | records )
//
// From v12 on arrays and strings are compact and every struct ends in its tagged fields, of which there are none: no
// diverging epoch, leader or snapshot, as there are no followers, and no endpoints of other nodes (v16).
func (f *fetchRun) reply() server.Reply {
	begun := time.Now()
	bufs, size := f.encode()
	return server.RawReply(bufs, size, f.code(), f.release).Spent(f.parked, f.encoding()+time.Since(begun))
}

// code is the first error code in the answer.
func (f *fetchRun) code() int16 {
	for i := range f.items {
		if it := &f.items[i]; !it.Omit && it.code != none {
			return it.code
		}
	}
	return none
}

// encoding is how long it took to make the records: partitions are read side by side, so the longest counts.
func (f *fetchRun) encoding() (longest time.Duration) {
	for i := range f.items {
		longest = max(longest, f.items[i].encoding)
	}
	return longest
}

// encode returns the answer in pieces, and its size.
func (f *fetchRun) encode() (net.Buffers, int) {
	topics := f.answered()
	e := fetchEncoder{version: f.req.Version, committed: f.req.IsolationLevel != 0}
	e.buf = make([]byte, 0, metaSize(topics))
	e.int32(int32(f.throttle.Milliseconds()))
	if e.version >= 7 {
		e.int16(none)
		e.int32(f.sessionID)
	}
	e.array(len(topics))
	for _, items := range topics {
		if t := items[0].Topic; e.version >= fetchIDsSince {
			e.buf = append(e.buf, t.ID[:]...)
		} else {
			e.string(t.Name)
		}
		e.array(len(items))
		for _, it := range items {
			e.partition(it)
		}
		e.tags()
	}
	e.tags()
	return e.segments()
}

// answered lists what the answer holds: neighbours of one topic share its entry.
func (f *fetchRun) answered() [][]*fetchItem {
	shown := make([]*fetchItem, 0, len(f.items))
	for i := range f.items {
		if it := &f.items[i]; !it.Omit {
			shown = append(shown, it)
		}
	}
	var topics [][]*fetchItem
	for from, i := 0, 1; i <= len(shown); i++ {
		if i == len(shown) || shown[i].Topic != shown[from].Topic {
			topics = append(topics, shown[from:i])
			from = i
		}
	}
	return topics
}

const (
	fetchFixedSize     = 16
	fetchTopicSize     = 24 // and its name
	fetchPartitionSize = 56
)

// metaSize bounds the bytes of an answer without the records.
func metaSize(topics [][]*fetchItem) int {
	n := fetchFixedSize
	for _, items := range topics {
		n += fetchTopicSize + len(items[0].Topic.Name) + fetchPartitionSize*len(items)
	}
	return n
}

// metaSize bounds it for an answer that holds every item, each topic as often as it may come.
func (f *fetchRun) metaSize() int {
	n := fetchFixedSize
	for i := range f.items {
		it := &f.items[i]
		if n += fetchPartitionSize; i == 0 || it.Topic != f.items[i-1].Topic {
			n += fetchTopicSize + len(it.Topic.Name)
		}
	}
	return n
}

// fetchEncoder writes everything but the records into buf, and remembers where they go.
type fetchEncoder struct {
	version   int16
	committed bool // the request is read_committed
	buf       []byte
	cuts      []fetchCut
}

// fetchCut: records stand behind buf[:at].
type fetchCut struct {
	at      int
	records []byte
}

func (e *fetchEncoder) flexible() bool { return e.version >= 12 }

func (e *fetchEncoder) int16(v int16) { e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }

// length writes the length of an array or of bytes, neither null.
func (e *fetchEncoder) length(n int) {
	if e.flexible() {
		e.buf = binary.AppendUvarint(e.buf, uint64(n)+1)
		return
	}
	e.int32(int32(n))
}

func (e *fetchEncoder) array(n int) { e.length(n) }

func (e *fetchEncoder) nullArray() {
	if e.flexible() {
		e.buf = append(e.buf, 0)
		return
	}
	e.int32(-1)
}

func (e *fetchEncoder) string(s string) {
	if e.flexible() {
		e.length(len(s))
	} else {
		e.int16(int16(len(s)))
	}
	e.buf = append(e.buf, s...)
}

func (e *fetchEncoder) tags() {
	if e.flexible() {
		e.buf = append(e.buf, 0)
	}
}

func (e *fetchEncoder) partition(it *fetchItem) {
	highWatermark, logStart := it.told()
	e.int32(it.Partition)
	e.int16(it.code)
	e.int64(highWatermark)
	e.int64(highWatermark) // last stable offset: there are no transactions
	if e.version >= 5 {
		e.int64(logStart)
	}
	// A broker has none to tell of where it reads, and an empty list where it does not even find the partition.
	if it.missing || e.committed && it.code == none {
		e.array(0)
	} else {
		e.nullArray()
	}
	if e.version >= 11 {
		e.int32(-1) // preferred replica
	}
	e.length(len(it.records)) // no records is length 0, never null
	if len(it.records) > 0 {
		e.cuts = append(e.cuts, fetchCut{len(e.buf), it.records})
	}
	e.tags()
}

// segments puts the records in their places.
func (e *fetchEncoder) segments() (net.Buffers, int) {
	bufs := make(net.Buffers, 0, 2*len(e.cuts)+1)
	from, size := 0, len(e.buf)
	for _, c := range e.cuts {
		bufs = append(bufs, e.buf[from:c.at:c.at], c.records)
		from = c.at
		size += len(c.records)
	}
	return append(bufs, e.buf[from:]), size
}
