// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Decoder decodes batches. It owns pools of decompressors and buffers, so make one and keep it; it is safe for concurrent use.
type Decoder struct {
	buffers    bufferPool
	gunzippers sync.Pool
	zstd       func() (*zstd.Decoder, error)
}

// NewDecoder returns a Decoder. The decompressors are made when a batch first needs them.
func NewDecoder() *Decoder {
	return &Decoder{
		gunzippers: sync.Pool{New: func() any { return new(gunzipper) }},
		zstd:       sync.OnceValues(newZstdDecoder),
	}
}

// Batch is a decoded batch: every record in it has been checked. Reading it is safe for concurrent use, Release is not.
type Batch struct {
	Header Header

	records    []byte // uncompressed
	contiguous bool
	headers    int
	buf        *buffer // what records points into; nil if that is the caller's
	decoder    *Decoder
}

// parseBatch reads the header of b, which must be exactly one batch, and its codec.
func parseBatch(b []byte) (h Header, codec Codec, err error) {
	if h, err = ParseHeader(b); err != nil {
		return h, 0, err
	}
	if h.Length < HeaderSize-logOverhead {
		return h, 0, fmt.Errorf("recordcodec: batch length %d: %w", h.Length, ErrCorrupt)
	}
	switch size := logOverhead + int64(h.Length); {
	case size > int64(len(b)):
		return h, 0, fmt.Errorf("recordcodec: %d of the %d bytes of a batch: %w", len(b), size, ErrCorrupt)
	case size < int64(len(b)):
		return h, 0, fmt.Errorf("recordcodec: %d bytes after the batch: %w", int64(len(b))-size, ErrInvalid)
	}
	codec, err = h.Codec()
	return h, codec, err
}

// MaxDecompressed is an upper bound of the decompressed size in bytes of the records of batch b, found without decompressing them
// and without checking the CRC: exact for none and snappy; near for lz4 and zstd, by what frames and blocks declare; 1032 times
// the compressed size for gzip, which is the most that deflate can do. It never passes 1<<31 - 1. Cap it by Limits.MaxBytes and
// reserve the result from a memory budget before Decode. Errors are Decode's.
func MaxDecompressed(b []byte) (int, error) {
	_, codec, err := parseBatch(b)
	if err != nil {
		return 0, err
	}
	return maxDecompressed(codec, b[HeaderSize:])
}

// Decode decodes b, which must be exactly one batch of format 2, and checks all of it: the CRC, the compressed data within lim, the
// record count, every record's and header's lengths, and that nothing is left over.
//
// The records of an uncompressed batch point into b; others point into a buffer that the Batch owns until Release. A batch without
// records is valid here (compaction leaves such ones behind); a broker refuses it from a producer. Whether the offsets are a
// producer's is Contiguous's answer, and the transaction and timestamp bits are the caller's to judge.
//
// Errors: ErrCorrupt, ErrInvalid (ErrLegacy for formats 0 and 1), ErrTooLarge, ErrUnknownCodec.
func (d *Decoder) Decode(b []byte, lim Limits) (*Batch, error) {
	h, codec, err := parseBatch(b)
	if err != nil {
		return nil, err
	}
	if crc := crc32.Checksum(b[posAttributes:], castagnoli); crc != h.CRC {
		return nil, fmt.Errorf("recordcodec: CRC-32C is %08x, the batch says %08x: %w", crc, h.CRC, ErrCorrupt)
	}
	records := b[HeaderSize:]
	bound, err := maxDecompressed(codec, records)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Count < 0 || int64(h.Count)*minRecord > int64(bound):
		return nil, fmt.Errorf("recordcodec: %d records in %d bytes: %w", h.Count, bound, ErrInvalid)
	case int(h.Count) > lim.MaxRecords:
		return nil, fmt.Errorf("recordcodec: %d records, %d are allowed: %w", h.Count, lim.MaxRecords, ErrTooLarge)
	case codec == CodecNone && len(records) > lim.MaxBytes:
		return nil, fmt.Errorf("recordcodec: %d bytes of records, %d are allowed: %w", len(records), lim.MaxBytes, ErrTooLarge)
	}
	batch := &Batch{Header: h, records: records, decoder: d}
	if codec != CodecNone && h.Count > 0 {
		batch.buf, err = d.decompress(codec, records, bound, max(lim.MaxBytes, 0))
		if err != nil {
			return nil, err
		}
		batch.records = batch.buf.b
	}
	if err := batch.check(lim.MaxHeaders); err != nil {
		batch.Release()
		return nil, err
	}
	return batch, nil
}

// check walks all records once.
func (b *Batch) check(maxHeaders int) error {
	var r Record
	rest := b.records
	contiguous := true
	for i := range b.Header.Count {
		n, err := parseRecord(rest, &r)
		if err == nil {
			err = checkHeaders(r.Headers, r.HeaderCount)
		}
		if err != nil {
			return fmt.Errorf("recordcodec: record %d: %w: %w", i, ErrInvalid, err)
		}
		if b.headers += r.HeaderCount; b.headers > maxHeaders {
			return fmt.Errorf("recordcodec: record %d: more than %d headers in the batch: %w", i, maxHeaders, ErrTooLarge)
		}
		contiguous = contiguous && r.OffsetDelta == i
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("recordcodec: %d bytes after %d records: %w", len(rest), b.Header.Count, ErrInvalid)
	}
	b.contiguous = contiguous && b.Header.Count > 0 && b.Header.LastOffsetDelta == b.Header.Count-1
	return nil
}

// Len is the number of records.
func (b *Batch) Len() int { return int(b.Header.Count) }

// Bytes is the size of the records, decompressed.
func (b *Batch) Bytes() int { return len(b.records) }

// HeaderCount is the number of record headers in the whole batch.
func (b *Batch) HeaderCount() int { return b.headers }

// Contiguous tells whether the records' offset deltas are 0 to n-1 and the header's last one agrees: so a producer must send them. It
// is false for a batch without records.
func (b *Batch) Contiguous() bool { return b.contiguous }

// SetLogAppendTime stamps all records with ms, as a broker does for a topic whose message.timestamp.type is LogAppendTime.
func (b *Batch) SetLogAppendTime(ms int64) {
	b.Header.Attributes |= attrLogAppendTime
	b.Header.MaxTimestamp = ms
}

// Release gives the batch's buffer back; the batch, its records and all that points into them must not be used afterwards. Further
// calls do nothing.
func (b *Batch) Release() {
	if b.buf != nil {
		b.decoder.buffers.put(b.buf)
	}
	b.buf, b.records, b.Header.Count, b.headers = nil, nil, 0, 0
}

// Records iterates over the records without allocating, in their order:
//
//	for it := b.Records(); it.Next(); {
//		use(&it.Record)
//	}
func (b *Batch) Records() RecordIter {
	return RecordIter{rest: b.records, base: b.Header.BaseTimestamp, max: b.Header.MaxTimestamp, appendTime: b.Header.LogAppendTime()}
}

// RecordIter is at one record of a batch.
type RecordIter struct {
	Record Record // overwritten by Next

	rest       []byte
	base, max  int64
	appendTime bool
}

// Next moves to the next record, or reports that there is none.
func (it *RecordIter) Next() bool {
	if len(it.rest) == 0 {
		return false
	}
	n, err := parseRecord(it.rest, &it.Record)
	if err != nil { // cannot be: Decode has checked
		it.rest = nil
		return false
	}
	it.rest = it.rest[n:]
	if it.appendTime {
		it.Record.Timestamp = it.max
	} else {
		it.Record.Timestamp = it.base + it.Record.TimestampDelta
	}
	return true
}
