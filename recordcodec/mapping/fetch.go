// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"math"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// BatchOptions says what AppendRecordBatch makes of messages.
type BatchOptions struct {
	Codec         recordcodec.Codec
	LogAppendTime bool   // the topic's message.timestamp.type: records carry the server's time, not the producer's
	MaxBytes      int    // of what is appended, uncompressed; the first message goes out whatever its size (KIP-74)
	StartOffset   uint64 // messages before it are passed over
}

// BatchInfo says what AppendRecordBatch made.
type BatchInfo struct {
	Records        int
	BaseOffset     int64 // of the first record; meaningless without records
	LastOffset     int64 // of the last record
	Bytes          int   // appended
	Unmappable     int   // messages served raw, with ErrorHeader
	UnknownHeaders int   // user headers in the namespace "kafka." that mean nothing here, dropped
	Truncated      bool  // MaxBytes ended it before the messages did
}

// AppendRecordBatch appends the messages of one poll as a record batch (Kafka format 2). msgs are messages in Iggy's wire form, one after
// another, with ascending offsets; gaps are allowed. Without messages from opts.StartOffset on, dst comes back as it was.
//
// A message that cannot be mapped becomes a plain record: null key, the raw payload, and the header ErrorHeader.
//
// A batch has room for one append time and for offsets 2^31 apart, so there are as many batches, one after another, as that takes: in
// practice one, and under LogAppendTime one per run of equal times.
//
// It fails with recordcodec.ErrCorrupt if msgs end within a message or do not ascend; dst then comes back as it was. Nothing is
// allocated per record; without compression each byte is copied once.
func AppendRecordBatch(dst []byte, enc *recordcodec.Encoder, msgs []byte, opts BatchOptions) ([]byte, BatchInfo, error) {
	opts.MaxBytes = max(opts.MaxBytes, 0)
	r := batchRun{enc: enc, opts: opts, rest: msgs}
	start := len(dst)
	// A message's header is longer than what a record adds to its parts.
	dst = slices.Grow(dst, min(opts.MaxBytes, recordcodec.HeaderSize+len(msgs)))
	for len(r.rest) > 0 && !r.info.Truncated {
		var err error
		if dst, err = r.appendBatch(dst); err != nil {
			return dst[:start], BatchInfo{}, err
		}
	}
	r.info.Bytes = len(dst) - start
	return dst, r.info, nil
}

// batchRun goes over the messages of one poll.
type batchRun struct {
	enc  *recordcodec.Encoder
	opts BatchOptions
	rest []byte // messages to come
	next uint64 // lowest offset that the next message may have
	size int    // of the batches so far, uncompressed
	info BatchInfo
	view view
}

// appendBatch takes the messages that share one batch off r.rest and appends it.
func (r *batchRun) appendBatch(dst []byte) ([]byte, error) {
	w := r.enc.Batch(dst, recordcodec.BatchOptions{Codec: r.opts.Codec, SizeHint: min(r.opts.MaxBytes, len(r.rest))})
	defer w.Discard()
	// Field by field, in the same place for every message: copying structs of this size costs as much as all the rest.
	var m Message
	var head recordcodec.RecordHead
	var base struct{ offset, timestamp int64 }
	for len(r.rest) > 0 {
		n, err := m.parse(r.rest)
		switch {
		case err != nil:
			return dst, err
		case m.Offset < r.next:
			return dst, errMessageOrder
		case m.Offset > math.MaxInt64:
			return dst, errMessageOffset
		case m.Offset < r.opts.StartOffset:
			r.take(&m, n)
			continue
		}
		failure := r.view.look(&m)
		if failure != nil {
			r.view.fail(&m, failure)
		}
		head.Offset, head.Timestamp = int64(m.Offset), r.view.timestamp
		if r.opts.LogAppendTime {
			head.Timestamp = AppendTimestamp(&m)
		}
		head.Key, head.Value = r.view.key, r.view.value
		head.HeaderCount, head.HeaderBytes = r.view.headers.count, r.view.headers.bytes
		if w.Len() == 0 {
			base.offset, base.timestamp = head.Offset, head.Timestamp
			if r.opts.LogAppendTime {
				w.SetLogAppendTime(head.Timestamp)
			}
		} else if head.Offset-base.offset > math.MaxInt32 || r.opts.LogAppendTime && head.Timestamp != base.timestamp {
			break
		}
		room := math.MaxInt
		if r.info.Records > 0 {
			room = r.opts.MaxBytes - r.size
		}
		if !w.BeginWithin(&head, room) {
			r.info.Truncated = true
			break
		}
		if head.HeaderCount > 0 {
			r.view.eachHeader(w.Header)
		}
		r.count(head.Offset, failure != nil)
		r.take(&m, n)
	}
	r.size += w.Size()
	return w.Finish()
}

// take moves past m, which took n bytes.
func (r *batchRun) take(m *Message, n int) {
	r.next = m.Offset + 1
	r.rest = r.rest[n:]
}

func (r *batchRun) count(offset int64, unmappable bool) {
	if r.info.Records == 0 {
		r.info.BaseOffset = offset
	}
	r.info.Records++
	r.info.LastOffset = offset
	r.info.UnknownHeaders += r.view.unknown
	if unmappable {
		r.info.Unmappable++
	}
}
