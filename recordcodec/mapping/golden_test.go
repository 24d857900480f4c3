// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// wide allows everything that the tests make.
var wide = recordcodec.Limits{MaxBytes: 1 << 26, MaxRecords: 1 << 20, MaxHeaders: 1 << 20}

// hexBytes is bytes as hex in JSON; null is nil.
type hexBytes []byte

func (b *hexBytes) UnmarshalJSON(data []byte) error {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil || s == nil {
		*b = nil
		return err
	}
	decoded, err := hex.DecodeString(*s)
	*b = append(hexBytes{}, decoded...)
	return err
}

type goldenHeader struct {
	Name  string
	Value hexBytes
}

func (h *goldenHeader) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Name, &h.Value})
}

type goldenRecord struct {
	Timestamp int64
	Key       hexBytes
	Value     hexBytes
	Headers   []goldenHeader
}

type goldenMessage struct {
	ID              hexBytes
	Payload         hexBytes
	UserHeaders     hexBytes `json:"user_headers"`
	OriginTimestamp uint64   `json:"origin_timestamp"`
	Timestamp       uint64
	Envelope        bool
}

func (g *goldenMessage) message() mapping.Message {
	m := mapping.Message{
		OriginTimestamp: g.OriginTimestamp,
		Timestamp:       g.Timestamp,
		Payload:         g.Payload,
		UserHeaders:     g.UserHeaders,
	}
	copy(m.ID[:], g.ID)
	return m
}

// golden is a line of testdata/mapping/*.jsonl.
type golden struct {
	Name    string
	Record  goldenRecord
	Message goldenMessage
	Error   string
}

func goldens(tb testing.TB, name string) []golden {
	tb.Helper()
	f, err := os.Open("../testdata/mapping/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			tb.Fatal(err)
		}
		all = append(all, g)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%d lines, %v", len(all), err)
	}
	return all
}

func (g *goldenRecord) encodedHeaders() recordcodec.RawHeaders {
	var headers recordcodec.RawHeaders
	for _, h := range g.Headers {
		headers = recordcodec.AppendHeader(headers, []byte(h.Name), h.Value)
	}
	return headers
}

// batchOf is a decoded batch of these records, at offsets from 0.
func batchOf(tb testing.TB, records ...goldenRecord) *recordcodec.Batch {
	tb.Helper()
	w := recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{})
	for i, r := range records {
		head := recordcodec.RecordHead{
			Offset: int64(i), Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, HeaderCount: len(r.Headers),
		}
		w.Append(&head, r.encodedHeaders())
	}
	bytes, err := w.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := recordcodec.NewDecoder().Decode(bytes, wide)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func toGolden(r *recordcodec.Record) goldenRecord {
	g := goldenRecord{Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: []goldenHeader{}}
	for h := r.Headers.Iter(); h.Next(); {
		g.Headers = append(g.Headers, goldenHeader{string(h.Name), h.Value})
	}
	return g
}

// recordsIn decodes all batches in b.
func recordsIn(tb testing.TB, b []byte) []goldenRecord {
	tb.Helper()
	var records []goldenRecord
	d := recordcodec.NewDecoder()
	for len(b) > 0 {
		h, err := recordcodec.ParseHeader(b)
		if err != nil {
			tb.Fatal(err)
		}
		end := 12 + int(h.Length)
		batch, err := d.Decode(b[:end], wide)
		if err != nil {
			tb.Fatal(err)
		}
		for it := batch.Records(); it.Next(); {
			records = append(records, toGolden(&it.Record))
		}
		b = b[end:]
	}
	return records
}

// A record becomes exactly the listed message, and the message the same record again.
func TestRecordsGolden(t *testing.T) {
	ids := mapping.IDs{ProducerID: -1, Random: [10]byte{1, 2, 3}}
	for _, g := range goldens(t, "records.jsonl") {
		t.Run(g.Name, func(t *testing.T) {
			b := batchOf(t, g.Record)
			bytes, err := mapping.AppendMessages(nil, b, &ids, mapping.MessageLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if size := mapping.MessagesSize(b); size < len(bytes) {
				t.Errorf("MessagesSize is %d, %d were appended", size, len(bytes))
			}
			m, n, err := mapping.ParseMessage(bytes)
			if err != nil || n != len(bytes) || n != m.Size() {
				t.Fatalf("ParseMessage took %d of %d bytes, %v", n, len(bytes), err)
			}
			want := g.Message.message()
			want.ID = ids.ID(0)
			if diff := cmp.Diff(want, m); diff != "" {
				t.Error(diff)
			}
			if enveloped := strings.Contains(string(m.UserHeaders), "kafka.envelope") && len(m.UserHeaders) == 25; enveloped != g.Message.Envelope {
				t.Errorf("envelope is %v", enveloped)
			}
			r, err := mapping.ToRecord(&m, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Record, toGolden(&r)); diff != "" {
				t.Error(diff)
			}
			batch, info, err := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), bytes, mapping.BatchOptions{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]goldenRecord{g.Record}, recordsIn(t, batch)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(mapping.BatchInfo{Records: 1, Bytes: len(batch)}, info); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Messages as they stand in Iggy become the listed record, or fail; Fetch serves those raw, with the reason.
func TestNativeGolden(t *testing.T) {
	for _, g := range goldens(t, "native.jsonl") {
		t.Run(g.Name, func(t *testing.T) {
			m := g.Message.message()
			r, err := mapping.ToRecord(&m, nil)
			batch, info, batchErr := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), mapping.AppendMessage(nil, &m), mapping.BatchOptions{})
			if batchErr != nil {
				t.Fatal(batchErr)
			}
			served := recordsIn(t, batch)
			if g.Error == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(g.Record, toGolden(&r)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff([]goldenRecord{g.Record}, served); diff != "" {
					t.Error(diff)
				}
				return
			}
			if !errors.Is(err, mapping.ErrUnmappable) || !strings.Contains(err.Error(), g.Error) {
				t.Errorf("error is %v, not %q", err, g.Error)
			}
			if why := string(served[0].Headers[0].Value); !strings.Contains(why, g.Error) || !strings.Contains(err.Error(), why) {
				t.Errorf("served with %q", why)
			}
			raw := []goldenRecord{{
				Timestamp: int64(m.OriginTimestamp / 1000),
				Value:     m.Payload,
				Headers:   []goldenHeader{{mapping.ErrorHeader, served[0].Headers[0].Value}},
			}}
			if diff := cmp.Diff(raw, served); diff != "" || info.Unmappable != 1 {
				t.Error(diff, info)
			}
		})
	}
}

// Kafka's own batches, through Iggy and back: the same records at the same offsets.
func TestBatchesGolden(t *testing.T) {
	f, err := os.Open("../testdata/kafka/batches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, e := recordcodec.NewDecoder(), recordcodec.NewEncoder()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var g struct {
			Name  string
			Codec string
			Magic int8
			Bytes hexBytes
		}
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		if g.Magic < 2 {
			continue
		}
		t.Run(g.Name+"/"+g.Codec, func(t *testing.T) {
			b, err := d.Decode(g.Bytes, wide)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			codec, err := b.Header.Codec()
			if err != nil {
				t.Fatal(err)
			}
			served, info, err := mapping.AppendRecordBatch(nil, e, benchMessages(t, b), mapping.BatchOptions{
				Codec: codec, MaxBytes: 1 << 24, LogAppendTime: b.Header.LogAppendTime(),
			})
			if err != nil || info.Records != b.Len() || info.LastOffset != int64(b.Len()-1) {
				t.Fatalf("%+v, %v", info, err)
			}
			if diff := cmp.Diff(recordsIn(t, g.Bytes), recordsIn(t, served)); diff != "" {
				t.Error(diff)
			}
			h, err := recordcodec.ParseHeader(served)
			if err != nil || h.MaxTimestamp != b.Header.MaxTimestamp || h.Attributes != b.Header.Attributes&0x0f {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
