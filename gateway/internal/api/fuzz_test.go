// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// FuzzDecodeForProduce: whatever a client sends as records, it becomes either messages, as many as counted, or a
// refusal with a code that Produce may answer; and all memory that it took comes back.
func FuzzDecodeForProduce(f *testing.F) {
	enc := recordcodec.NewEncoder()
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		for _, transactional := range []bool{false, true} {
			w := enc.Batch(nil, recordcodec.BatchOptions{Codec: codec, Transactional: transactional})
			for i := range int64(3) {
				w.Begin(&recordcodec.RecordHead{Offset: i, Timestamp: i - 1, Key: []byte("k"), Value: bytes.Repeat([]byte("v"), 100), HeaderCount: 1, HeaderBytes: recordcodec.HeaderLen([]byte("h"), nil)})
				w.Header([]byte("h"), nil)
			}
			b, err := w.Finish()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(int16(9), uint8(0), b)
			f.Add(int16(9), uint8(1), b)
			f.Add(int16(9), uint8(2|4), b)
			f.Add(int16(3), uint8(0), b[:len(b)-3])
			f.Add(int16(12), uint8(0), append(bytes.Clone(b), b...))
		}
	}
	f.Add(int16(7), uint8(0), (&kmsg.MessageV1{Magic: 1, Value: []byte("v")}).AppendTo(nil))
	f.Add(int16(7), uint8(0), []byte{})

	codes := map[int16]bool{
		corruptMessage: true, messageTooLarge: true, invalidTimestamp: true, unsupportedVersion: true,
		unsupportedCompressionTyp: true, invalidRecord: true,
	}
	f.Fuzz(func(t *testing.T, version int16, settings uint8, records []byte) {
		decode := budget.New(8 << 20)
		a := New(Config{PartitionCap: 1 << 20, MaxMessageSize: 1 << 20}, Deps{
			DecodeBudget: decode, Logger: slog.New(slog.DiscardHandler), Rand: rand.Reader,
			Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) },
		})
		set := topicconfig.Default()
		set.LogAppendTime, set.Compact = settings&1 != 0, settings&2 != 0
		if settings&4 != 0 {
			set.TimestampBeforeMax, set.MaxMessageBytes = 1000, 1000
		}
		to := batchTarget{&bridge.Topic{Name: "topic", Partitions: 1}, 0, &set}
		batch, no := a.decodeForProduce(t.Context(), version, &to, records)
		switch {
		case (batch == nil) == (no == nil):
			t.Fatal("neither messages nor a refusal, or both")
		case no != nil && !codes[no.code]:
			t.Fatalf("refused with %d", no.code)
		case no == nil:
			rest, n := batch.messages, 0
			for len(rest) > 0 {
				_, size, err := mapping.ParseMessage(rest)
				if err != nil {
					t.Fatal(err)
				}
				rest, n = rest[size:], n+1
			}
			if n != batch.count || n == 0 {
				t.Fatalf("%d messages, %d counted", n, batch.count)
			}
			batch.release()
		}
		if used := decode.Used(); used != 0 {
			t.Fatalf("%d bytes were not given back", used)
		}
	})
}
