// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"fmt"
	"hash/crc32"
	"math"
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

	records     []byte // uncompressed
	contiguous  bool
	headers     int
	latest      int64 // ms, the records' own
	latestIndex int
	buf         *buffer // what records points into; nil if that is the caller's
	decoder     *Decoder
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

// check walks all records once and notes what callers ask about them as a whole.
func (b *Batch) check(maxHeaders int) error {
	records, count, base := b.records, b.Header.Count, b.Header.BaseTimestamp
	pos, headers, misplaced := 0, 0, int32(0)
	latest, latestIndex := int64(math.MinInt64), 0
	for i := range count {
		timestampDelta, offsetDelta, headerCount, headersAt, end, err := skimRecord(records, pos)
		if err != nil {
			return errRecord(i, err)
		}
		if headersAt < end || headerCount != 0 {
			if err := checkHeaders(records[headersAt:end], headerCount); err != nil {
				return errRecord(i, err)
			}
			if headers += headerCount; headers > maxHeaders {
				return fmt.Errorf("recordcodec: record %d: more than %d headers in the batch: %w", i, maxHeaders, ErrTooLarge)
			}
		}
		misplaced |= offsetDelta ^ i
		if timestamp := base + timestampDelta; timestamp > latest {
			latest, latestIndex = timestamp, int(i)
		}
		pos = end
	}
	if rest := len(records) - pos; rest > 0 {
		return fmt.Errorf("recordcodec: %d bytes after %d records: %w", rest, count, ErrInvalid)
	}
	b.headers, b.latest, b.latestIndex = headers, latest, latestIndex
	b.contiguous = misplaced == 0 && count > 0 && b.Header.LastOffsetDelta == count-1
	return nil
}

func errRecord(i int32, cause error) error {
	return fmt.Errorf("recordcodec: record %d: %w: %w", i, ErrInvalid, cause)
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

// MaxTimestamp is the largest timestamp (ms) of the records as Records gives them, and the index of the first record that has it; not
// what the header says, which is the sender's word. Without records it is -1, none, at -1. It costs nothing: Decode has looked.
func (b *Batch) MaxTimestamp() (ms int64, index int) {
	switch {
	case b.Header.Count == 0:
		return -1, -1
	case b.Header.LogAppendTime():
		return b.Header.MaxTimestamp, 0
	}
	return b.latest, b.latestIndex
}

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
//
// It is a pointer because Go copies a loop's variable in each turn when its address is taken; it stays on the caller's stack.
func (b *Batch) Records() *RecordIter {
	return &RecordIter{records: b.records, base: b.Header.BaseTimestamp, max: b.Header.MaxTimestamp, appendTime: b.Header.LogAppendTime()}
}

// RecordIter is at one record of a batch.
type RecordIter struct {
	Record Record // overwritten by Next

	records    []byte
	pos        int // of the next one
	base, max  int64
	appendTime bool
}

// Next moves to the next record, or reports that there is none.
func (it *RecordIter) Next() bool {
	b, r := it.records, &it.Record
	if it.pos == len(b) {
		return false
	}
	length, i := shortVarint(b, uint(it.pos))
	end := i + length>>1
	timestampDelta, i := shortVarint(b, i+1)
	offsetDelta, i := shortVarint(b, i)
	keyLength, key := shortVarint(b, i)
	valueLength, value := shortVarint(b, key+fieldSize(keyLength))
	count, headers := shortVarint(b, value+fieldSize(valueLength))
	if isNull(length) || headers > end || end > uint(len(b)) {
		return it.nextAny()
	}
	r.TimestampDelta = unzigzag(timestampDelta)
	r.OffsetDelta = int32(unzigzag(offsetDelta))
	r.Key = fieldAt(b, key, keyLength)
	r.Value = fieldAt(b, value, valueLength)
	r.HeaderCount = int(unzigzag(count))
	r.Headers = RawHeaders(b[headers:end:end])
	it.pos = int(end)
	it.stamp()
	return true
}

// nextAny is Next for a record with longer numbers.
func (it *RecordIter) nextAny() bool {
	end, err := parseRecord(it.records, it.pos, &it.Record)
	if err != nil { // cannot be: Decode has checked
		return false
	}
	it.pos = end
	it.stamp()
	return true
}

func (it *RecordIter) stamp() {
	if it.appendTime {
		it.Record.Timestamp = it.max
	} else {
		it.Record.Timestamp = it.base + it.Record.TimestampDelta
	}
}
