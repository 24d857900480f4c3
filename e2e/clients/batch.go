// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where the fields of a record batch (magic 2) are, in bytes from its begin.
const (
	BatchBaseOffset      = 0
	BatchLength          = 8 // of what follows this field
	BatchLeaderEpoch     = 12
	BatchMagic           = 16
	BatchCRC             = 17 // CRC-32C of what follows this field
	BatchAttributes      = 21
	BatchLastOffsetDelta = 23
	BatchFirstTimestamp  = 27
	BatchMaxTimestamp    = 35
	BatchProducerID      = 43
	BatchProducerEpoch   = 51
	BatchFirstSequence   = 53
	BatchNumRecords      = 57
	BatchRecords         = 61
)

// castagnoli is the CRC's polynomial. The table is made once and shared by crc32.
func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// NewBatch is a batch of no idempotent producer that holds the records, uncompressed, with the timestamps that they have.
func NewBatch(records ...Record) kmsg.RecordBatch {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(len(records) - 1), NumRecords: int32(len(records)),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	for i, r := range records {
		if i == 0 {
			b.FirstTimestamp, b.MaxTimestamp = r.Timestamp, r.Timestamp
		}
		b.MaxTimestamp = max(b.MaxTimestamp, r.Timestamp)
		b.Records = appendRecord(b.Records, i, r, b.FirstTimestamp)
	}
	return b
}

func appendRecord(dst []byte, i int, r Record, first int64) []byte {
	record := kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: r.Timestamp - first, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		record.Headers = append(record.Headers, kmsg.Header{Key: h.Name, Value: h.Value})
	}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // the length itself, 0, is one byte there
	return record.AppendTo(dst)
}

// AppendBatch appends a batch's bytes. Its length and CRC are computed.
func AppendBatch(dst []byte, b kmsg.RecordBatch) []byte {
	begin := len(dst)
	dst = b.AppendTo(dst)
	Seal(dst[begin:])
	return dst
}

// Seal makes length and CRC those of a batch that was changed.
func Seal(batch []byte) {
	binary.BigEndian.PutUint32(batch[BatchLength:], uint32(len(batch)-BatchLeaderEpoch))
	binary.BigEndian.PutUint32(batch[BatchCRC:], castagnoli(batch[BatchAttributes:]))
}

// ReadBatches splits what a Fetch was answered into batches and checks their CRCs. A batch that was cut off at the end, as
// brokers do, is left out, and told by whole.
func ReadBatches(b []byte) (batches []kmsg.RecordBatch, whole bool, err error) {
	for len(b) > 0 {
		if len(b) < BatchRecords || len(b)-BatchLeaderEpoch < int(binary.BigEndian.Uint32(b[BatchLength:])) {
			return batches, false, nil
		}
		end := BatchLeaderEpoch + int(binary.BigEndian.Uint32(b[BatchLength:]))
		if end < BatchRecords {
			return batches, false, fmt.Errorf("clients: a batch of %d bytes", end)
		}
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(b[:end]); err != nil {
			return batches, false, fmt.Errorf("clients: decoding a batch: %w", err)
		}
		if got := castagnoli(b[BatchAttributes:end]); got != uint32(batch.CRC) {
			return batches, false, fmt.Errorf("clients: the CRC of the batch at %d is %08x, it says %08x", batch.FirstOffset, got, uint32(batch.CRC))
		}
		batches, b = append(batches, batch), b[end:]
	}
	return batches, true, nil
}

// BatchRecordsOf decodes the records of an uncompressed batch.
func BatchRecordsOf(b kmsg.RecordBatch) ([]Record, error) {
	const compression = 7
	if b.Attributes&compression != 0 {
		return nil, fmt.Errorf("clients: the batch at %d is compressed", b.FirstOffset)
	}
	var records []Record
	rest := b.Records
	for range b.NumRecords {
		length, n := binary.Varint(rest)
		if n <= 0 || length < 0 || int64(len(rest)-n) < length {
			return records, fmt.Errorf("clients: the batch at %d ends within a record", b.FirstOffset)
		}
		var record kmsg.Record
		if err := record.ReadFrom(rest[:n+int(length)]); err != nil {
			return records, fmt.Errorf("clients: decoding a record: %w", err)
		}
		rest = rest[n+int(length):]
		r := Record{Offset: b.FirstOffset + int64(record.OffsetDelta), Timestamp: b.FirstTimestamp + record.TimestampDelta64, Key: record.Key, Value: record.Value}
		for _, h := range record.Headers {
			r.Headers = append(r.Headers, Header{h.Key, h.Value})
		}
		records = append(records, r)
	}
	return records, nil
}
