// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Encoder makes batches. It owns pools of compressors and buffers, so make one and keep it; it is safe for concurrent use.
type Encoder struct {
	buffers  bufferPool
	gzippers sync.Pool
	lz4s     sync.Pool
	newZstd  func() (*zstd.Encoder, error)
}

// NewEncoder returns an Encoder. The compressors are made when a batch first needs them.
func NewEncoder() *Encoder {
	return &Encoder{
		gzippers: sync.Pool{New: func() any { return newGzipper() }},
		lz4s:     sync.Pool{New: func() any { return new(lz4.Compressor) }},
		newZstd:  sync.OnceValues(newZstdEncoder),
	}
}

// BatchOptions is what a batch says about all of its records.
type BatchOptions struct {
	Codec                Codec
	PartitionLeaderEpoch int32
	Transactional        bool
	Control              bool

	// SizeHint is about how many bytes the records will take before compression; it saves growing a buffer.
	SizeHint int
}

// RecordHead is a record but for the bytes of its headers.
type RecordHead struct {
	Offset      int64
	Timestamp   int64 // ms
	Key, Value  []byte
	HeaderCount int
	HeaderBytes int // the sum of HeaderLen over them
}

// BatchWriter builds one batch of format 2 at the end of a slice. It is not safe for concurrent use, and must be ended with Finish or
// Discard. The first error sticks and Finish returns it, so appending needs no checks.
type BatchWriter struct {
	enc     *Encoder
	codec   Codec
	h       Header
	dst     []byte
	start   int     // the batch begins at dst[start]
	out     []byte  // where records go: dst itself, or scratch if they are to be compressed
	base    int     // the records begin at out[base]
	scratch *buffer // owns out when compressing
	headers int     // headers that the last record still needs
	end     int     // where in out it then ends
	err     error
}

var (
	errHeaders     = errors.New("a record's headers are not those that it announced")
	errOffsetOrder = errors.New("offsets must ascend, within 2^31 of the first")
	errBatchSize   = errors.New("batch larger than 2^31 - 1 bytes")
)

// Batch begins a batch at the end of dst. Producer id, epoch and sequence are -1 unless SetProducer is called; base offset and base
// timestamp are the first record's, the max timestamp is the records' largest.
func (e *Encoder) Batch(dst []byte, o BatchOptions) BatchWriter {
	w := BatchWriter{enc: e, codec: o.Codec, dst: dst, start: len(dst)}
	w.h = Header{
		PartitionLeaderEpoch: o.PartitionLeaderEpoch,
		Attributes:           int16(o.Codec) & codecMask,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		BaseSequence:         -1,
	}
	if o.Transactional {
		w.h.Attributes |= attrTransactional
	}
	if o.Control {
		w.h.Attributes |= attrControl
	}
	w.dst = extend(w.dst, HeaderSize)
	w.out = w.dst
	if o.Codec != CodecNone {
		w.scratch = e.buffers.get(o.SizeHint)
		w.out = w.scratch.b
	}
	w.base, w.end = len(w.out), len(w.out)
	return w
}

// SetProducer makes the batch an idempotent producer's (KIP-98).
func (w *BatchWriter) SetProducer(id int64, epoch int16, baseSequence int32) {
	w.h.ProducerID, w.h.ProducerEpoch, w.h.BaseSequence = id, epoch, baseSequence
}

// SetLogAppendTime marks the records as stamped by the broker, all with ms: readers then ignore the records' own times.
func (w *BatchWriter) SetLogAppendTime(ms int64) {
	w.h.Attributes |= attrLogAppendTime
	w.h.MaxTimestamp = ms
}

// Len is the number of records begun.
func (w *BatchWriter) Len() int { return int(w.h.Count) }

// Size is the size in bytes of the batch so far, before compression.
func (w *BatchWriter) Size() int { return HeaderSize + len(w.out) - w.base }

// Begin appends a record; r.HeaderCount calls of Header must follow. Offsets must ascend.
func (w *BatchWriter) Begin(r *RecordHead) { w.BeginWithin(r, math.MaxInt) }

// BeginWithin is Begin, unless Size would then be above maxSize, headers included: it appends nothing then and returns false.
func (w *BatchWriter) BeginWithin(r *RecordHead, maxSize int) bool {
	var timestampDelta, offsetDelta int64
	if w.h.Count > 0 {
		timestampDelta, offsetDelta = r.Timestamp-w.h.BaseTimestamp, r.Offset-w.h.BaseOffset
	}
	body := 1 + varintLen(timestampDelta) + varintLen(offsetDelta) + fieldLen(r.Key) + fieldLen(r.Value) +
		varintLen(int64(r.HeaderCount)) + r.HeaderBytes
	size := varintLen(int64(body)) + body
	if w.Size()+size > maxSize {
		return false
	}
	w.endRecord()
	w.note(r, offsetDelta)
	w.headers = r.HeaderCount

	out := appendVarint(w.out, int64(body))
	out = append(out, 0) // attributes: no bit of them means anything
	out = appendVarint(out, timestampDelta)
	out = appendVarint(out, offsetDelta)
	out = appendField(out, r.Key)
	out = appendField(out, r.Value)
	w.out = appendVarint(out, int64(r.HeaderCount))
	w.end = len(w.out) + r.HeaderBytes
	return true
}

// note adds r to what the batch's header says.
func (w *BatchWriter) note(r *RecordHead, offsetDelta int64) {
	first := w.h.Count == 0
	if first {
		w.h.BaseOffset, w.h.BaseTimestamp = r.Offset, r.Timestamp
	} else if offsetDelta <= int64(w.h.LastOffsetDelta) || offsetDelta > math.MaxInt32 {
		w.fail(errOffsetOrder)
	}
	if !w.h.LogAppendTime() && (first || r.Timestamp > w.h.MaxTimestamp) {
		w.h.MaxTimestamp = r.Timestamp
	}
	w.h.LastOffsetDelta = int32(offsetDelta)
	w.h.Count++
}

// Header appends the next header of the record begun last; a nil value is null.
func (w *BatchWriter) Header(name, value []byte) {
	w.headers--
	w.out = AppendHeader(w.out, name, value)
}

// Append appends a record with headers that are already encoded; r.HeaderBytes is set from them.
func (w *BatchWriter) Append(r *RecordHead, headers RawHeaders) {
	r.HeaderBytes = len(headers)
	w.Begin(r)
	w.out = append(w.out, headers...)
	w.headers = 0
}

// endRecord checks that the last record got the headers that it announced.
func (w *BatchWriter) endRecord() {
	if w.headers != 0 || len(w.out) != w.end {
		w.fail(errHeaders)
	}
}

func (w *BatchWriter) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("recordcodec: record %d: %w: %w", w.h.Count, ErrInvalid, err)
	}
}

// Finish completes the batch: compresses the records, writes the header with its CRC, and returns the slice that Batch was given with
// the batch appended. Without records nothing is appended. With an error the slice comes back as it was.
func (w *BatchWriter) Finish() ([]byte, error) {
	defer w.Discard()
	w.endRecord()
	if w.err != nil || w.h.Count == 0 {
		return w.dst[:w.start], w.err
	}
	dst := w.out
	if w.scratch != nil {
		var err error
		if dst, err = w.enc.compress(w.codec, w.dst, w.out); err != nil {
			return w.dst[:w.start], err
		}
	}
	if len(dst)-w.start > math.MaxInt32 {
		return w.dst[:w.start], fmt.Errorf("recordcodec: %w: %w", ErrTooLarge, errBatchSize)
	}
	w.h.put(dst[w.start:])
	return dst, nil
}

// Discard gives up the batch: what was appended to the slice is of no meaning. After Finish it does nothing.
func (w *BatchWriter) Discard() {
	if w.scratch != nil {
		w.scratch.b = w.out // it may have grown
		w.enc.buffers.put(w.scratch)
		w.scratch, w.out = nil, nil
	}
}
