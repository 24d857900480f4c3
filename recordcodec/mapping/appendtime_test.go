// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Under LogAppendTime the batches are those that Kafka's own builder makes (MemoryRecordsBuilder with
// TimestampType.LOG_APPEND_TIME, one for each millisecond), byte for byte: whatever times the producers gave.
func TestAppendTimeGolden(t *testing.T) {
	file, err := os.ReadFile("../testdata/kafka/append_time.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	enc := recordcodec.NewEncoder()
	lines := bufio.NewScanner(bytes.NewReader(file))
	for lines.Scan() {
		var g struct {
			Name     string
			Messages []struct {
				Offset    uint64
				Timestamp uint64 // µs, the server's
				Key       hexBytes
				Value     hexBytes
				Header    hexBytes
			}
			Bytes hexBytes
		}
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		t.Run(g.Name, func(t *testing.T) {
			var msgs []byte
			var times []int64 // ms
			for i, m := range g.Messages {
				r := recordcodec.Record{Timestamp: int64(i)*1000 - 1, Key: m.Key, Value: m.Value}
				if m.Header != nil {
					r.Headers, r.HeaderCount = recordcodec.AppendHeader(nil, []byte("h"), m.Header), 1
				}
				sent, err := mapping.AppendRecord(nil, &r, [16]byte{1}, mapping.MessageLimits{})
				if err != nil {
					t.Fatal(err)
				}
				stored, _, err := mapping.ParseMessage(sent)
				if err != nil {
					t.Fatal(err)
				}
				stored.Offset, stored.Timestamp = m.Offset, m.Timestamp
				msgs = mapping.AppendMessage(msgs, &stored)
				times = append(times, mapping.AppendTimestamp(&stored))
			}
			served, info, err := mapping.AppendRecordBatch(nil, enc, msgs, mapping.BatchOptions{LogAppendTime: true, MaxBytes: 1 << 20})
			if err != nil || info.Records != len(g.Messages) {
				t.Fatalf("%+v, %v", info, err)
			}
			if diff := cmp.Diff([]byte(g.Bytes), served); diff != "" {
				t.Error(diff)
			}
			for i, r := range recordsIn(t, served) {
				if r.Timestamp != times[i] {
					t.Errorf("record %d is of %d, want %d", i, r.Timestamp, times[i])
				}
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
