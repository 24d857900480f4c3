// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/binary"
	"net"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// reply encodes the answer by hand, so that the records go to the socket from where they were built: a response of
// kmsg would copy them once more. A test holds it against kmsg's encoding.
//
//	throttle i32 | v7+: error i16, session id i32 | topics (
//	    name | partitions (
//	        partition i32 | error i16 | high watermark i64 | last stable offset i64 | v5+: log start i64 |
//	        aborted transactions, null or empty | v11+: preferred replica i32 | records )
//
// From v12 on arrays and strings are compact and every struct ends in its tagged fields, of which there are none.
func (f *fetchRun) reply() server.Reply {
	bufs, size := f.encode()
	return server.RawReply(bufs, size, f.release)
}

// encode returns the answer in pieces, and its size.
func (f *fetchRun) encode() (net.Buffers, int) {
	e := fetchEncoder{version: f.req.Version}
	e.buf = make([]byte, 0, f.metaSize())
	e.int32(0) // throttle
	if e.version >= 7 {
		e.int16(none)
		e.int32(0) // session id
	}
	e.array(len(f.topics))
	for i := range f.topics {
		t := &f.topics[i]
		e.string(t.name)
		e.array(len(t.items))
		for j := range t.items {
			e.partition(&t.items[j])
		}
		e.tags()
	}
	e.tags()
	return e.segments()
}

// metaSize bounds the bytes of the answer without the records.
func (f *fetchRun) metaSize() int {
	const fixed, perTopic, perPartition = 16, 8, 56
	n := fixed
	for i := range f.topics {
		n += perTopic + len(f.topics[i].name) + perPartition*len(f.topics[i].items)
	}
	return n
}

// fetchEncoder writes everything but the records into buf, and remembers where they go.
type fetchEncoder struct {
	version int16
	buf     []byte
	cuts    []fetchCut
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
	highWatermark, logStart := it.bounds.Next, it.bounds.Start
	if it.code != none || !it.known {
		highWatermark, logStart = -1, -1
	}
	e.int32(it.partition)
	e.int16(it.code)
	e.int64(highWatermark)
	e.int64(highWatermark) // last stable offset: there are no transactions
	if e.version >= 5 {
		e.int64(logStart)
	}
	if it.aborted {
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
