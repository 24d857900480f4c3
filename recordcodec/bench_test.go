// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

const (
	benchRecords = 1000
	benchValue   = 100
)

// benchValues are values that compress to about half.
func benchValues() [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, benchRecords)
	for i := range values {
		v := []byte(`{"user":"user-0000","action":"view","page":"/products/000000","referrer":"/search","ms":00000000,"x":"`)[:benchValue]
		for j := 12; j+8 <= len(v); j += 24 {
			binary.LittleEndian.PutUint64(v[j:], random.Uint64())
		}
		values[i] = v
	}
	return values
}

func appendBench(tb testing.TB, e *recordcodec.Encoder, dst []byte, codec recordcodec.Codec, values [][]byte) []byte {
	w := e.Batch(dst, recordcodec.BatchOptions{Codec: codec, SizeHint: len(values) * (benchValue + 20)})
	head := recordcodec.RecordHead{Timestamp: 1_700_000_000_000}
	for _, v := range values {
		head.Value = v
		w.Begin(&head)
		head.Offset++
		head.Timestamp++
	}
	dst, err := w.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	return dst
}

func perRecord(b *testing.B, bytes int) {
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
}

func BenchmarkDecode(b *testing.B) {
	values := benchValues()
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			encoded := appendBench(b, recordcodec.NewEncoder(), nil, codec, values)
			d := recordcodec.NewDecoder()
			b.ReportAllocs()
			total := 0
			for b.Loop() {
				batch, err := d.Decode(encoded, wide)
				if err != nil {
					b.Fatal(err)
				}
				for it := batch.Records(); it.Next(); {
					total += len(it.Record.Value)
				}
				batch.Release()
			}
			perRecord(b, benchRecords*benchValue)
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	values := benchValues()
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			e := recordcodec.NewEncoder()
			dst := make([]byte, 0, 1<<18)
			b.ReportAllocs()
			for b.Loop() {
				appendBench(b, e, dst, codec, values)
			}
			perRecord(b, benchRecords*benchValue)
		})
	}
}
