// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

const benchRecords = 1000

// benchKinds are the shapes of records that the hot paths see.
func benchKinds() map[string]goldenRecord {
	value := bytes.Repeat([]byte("v"), 100)
	return map[string]goldenRecord{
		"value":       {Timestamp: 1_700_000_000_000, Value: value},
		"key":         {Timestamp: 1_700_000_000_000, Key: hexBytes("key-0000"), Value: value},
		"key+headers": {Timestamp: 1_700_000_000_000, Key: hexBytes("key-0000"), Value: value, Headers: []goldenHeader{{"trace", hexBytes("0123456789abcdef")}, {"source", hexBytes("bench")}}},
		"envelope":    {Timestamp: 1_700_000_000_000, Key: hexBytes{}, Value: value, Headers: []goldenHeader{{"trace", nil}}},
	}
}

var benchIDs = mapping.IDs{ProducerID: 7}

// benchMessages are the records of b as a poll would return them.
func benchMessages(tb testing.TB, b *recordcodec.Batch) []byte {
	tb.Helper()
	sent, err := mapping.AppendMessages(nil, b, &benchIDs, mapping.MessageLimits{})
	if err != nil {
		tb.Fatal(err)
	}
	var polled []byte
	for offset := uint64(0); len(sent) > 0; offset++ {
		m, n, err := mapping.ParseMessage(sent)
		if err != nil {
			tb.Fatal(err)
		}
		m.Offset, m.Timestamp = offset, m.OriginTimestamp
		polled = mapping.AppendMessage(polled, &m)
		sent = sent[n:]
	}
	return polled
}

func repeat(r goldenRecord) []goldenRecord {
	records := make([]goldenRecord, benchRecords)
	for i := range records {
		records[i] = r
	}
	return records
}

func BenchmarkAppendMessages(b *testing.B) {
	for name, r := range benchKinds() {
		b.Run(name, func(b *testing.B) {
			batch := batchOf(b, repeat(r)...)
			dst := make([]byte, 0, mapping.MessagesSize(batch))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := mapping.AppendMessages(dst, batch, &benchIDs, mapping.MessageLimits{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
		})
	}
}

func BenchmarkMessagesSize(b *testing.B) {
	batch := batchOf(b, repeat(benchKinds()["key"])...)
	for b.Loop() {
		mapping.MessagesSize(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkAppendRecordBatch(b *testing.B) {
	enc := recordcodec.NewEncoder()
	for name, r := range benchKinds() {
		messages := benchMessages(b, batchOf(b, repeat(r)...))
		for _, codec := range []recordcodec.Codec{recordcodec.CodecNone, recordcodec.CodecLZ4} {
			b.Run(fmt.Sprintf("%s/%v", name, codec), func(b *testing.B) {
				dst := make([]byte, 0, 1<<20)
				opts := mapping.BatchOptions{Codec: codec, MaxBytes: 1 << 20}
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := mapping.AppendRecordBatch(dst, enc, messages, opts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
			})
		}
	}
}
