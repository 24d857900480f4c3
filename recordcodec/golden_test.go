// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// wide allows everything that the goldens hold.
var wide = recordcodec.Limits{MaxBytes: 1 << 24, MaxRecords: 1 << 16, MaxHeaders: 1 << 16}

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

// goldenHeader is a record header: a name and a value, ["name", "hex"] in JSON.
type goldenHeader struct {
	Name  string
	Value hexBytes
}

func (h *goldenHeader) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Name, &h.Value})
}

type goldenRecord struct {
	Offset    int64
	Timestamp int64
	Key       hexBytes
	Value     hexBytes
	Headers   []goldenHeader
}

// goldenBatch is a line of testdata/kafka/batches.jsonl, made by Kafka's own MemoryRecordsBuilder.
type goldenBatch struct {
	Name          string
	Magic         int8
	Codec         string
	BaseOffset    int64 `json:"base_offset"`
	LogAppendTime bool  `json:"log_append_time"`
	ProducerID    int64 `json:"producer_id"`
	ProducerEpoch int16 `json:"producer_epoch"`
	BaseSequence  int32 `json:"base_sequence"`
	Transactional bool
	Control       bool
	Records       []goldenRecord
	Bytes         hexBytes
}

func goldenBatches(tb testing.TB) []goldenBatch {
	tb.Helper()
	f, err := os.Open("testdata/kafka/batches.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var batches []goldenBatch
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var g goldenBatch
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			tb.Fatal(err)
		}
		batches = append(batches, g)
	}
	if err := lines.Err(); err != nil || len(batches) == 0 {
		tb.Fatalf("%d batches, %v", len(batches), err)
	}
	return batches
}

// recordsOf lists the records of b the way the goldens do.
func recordsOf(b *recordcodec.Batch) []goldenRecord {
	var records []goldenRecord
	for it := b.Records(); it.Next(); {
		r := &it.Record
		g := goldenRecord{
			Offset:    b.Header.BaseOffset + int64(r.OffsetDelta),
			Timestamp: r.Timestamp,
			Key:       r.Key,
			Value:     r.Value,
			Headers:   []goldenHeader{},
		}
		for h := r.Headers.Iter(); h.Next(); {
			g.Headers = append(g.Headers, goldenHeader{string(h.Name), h.Value})
		}
		records = append(records, g)
	}
	return records
}

func TestDecodeGolden(t *testing.T) {
	d := recordcodec.NewDecoder()
	for _, g := range goldenBatches(t) {
		t.Run(g.Name+"/"+g.Codec, func(t *testing.T) {
			if g.Magic < 2 {
				checkLegacy(t, d, &g)
				return
			}
			b, err := d.Decode(g.Bytes, wide)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			checkMaxTimestamp(t, b)
			if diff := cmp.Diff(g.Records, recordsOf(b)); diff != "" {
				t.Error(diff)
			}
			h := &b.Header
			codec, err := h.Codec()
			got := goldenBatch{
				Name: g.Name, Magic: h.Magic, Codec: codec.String(), BaseOffset: h.BaseOffset,
				LogAppendTime: h.LogAppendTime(), ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
				BaseSequence: h.BaseSequence, Transactional: h.Transactional(), Control: h.Control(),
				Records: g.Records, Bytes: g.Bytes,
			}
			if diff := cmp.Diff(g, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if !b.Contiguous() || b.Len() != len(g.Records) {
				t.Errorf("contiguous %v, %d records", b.Contiguous(), b.Len())
			}
			bound, err := recordcodec.MaxDecompressed(g.Bytes)
			if err != nil || bound < b.Bytes() {
				t.Errorf("MaxDecompressed is %d for %d bytes, %v", bound, b.Bytes(), err)
			}
		})
	}
}

func checkLegacy(t *testing.T, d *recordcodec.Decoder, g *goldenBatch) {
	if _, err := d.Decode(g.Bytes, wide); !errors.Is(err, recordcodec.ErrLegacy) || !errors.Is(err, recordcodec.ErrInvalid) {
		t.Errorf("Decode: %v", err)
	}
	records, err := d.DecodeMessageSet(g.Bytes, wide)
	if err != nil {
		t.Fatal(err)
	}
	var got []goldenRecord
	for _, r := range records {
		got = append(got, goldenRecord{r.Offset, r.Timestamp, r.Key, r.Value, []goldenHeader{}})
	}
	if diff := cmp.Diff(g.Records, got); diff != "" {
		t.Error(diff)
	}
}

// encode makes a batch of g's records in that codec.
func (g *goldenBatch) encode(tb testing.TB, e *recordcodec.Encoder, codec recordcodec.Codec) []byte {
	tb.Helper()
	w := e.Batch(nil, recordcodec.BatchOptions{
		Codec: codec, Transactional: g.Transactional, Control: g.Control,
	})
	if g.LogAppendTime {
		w.SetLogAppendTime(g.Records[0].Timestamp)
	}
	w.SetProducer(g.ProducerID, g.ProducerEpoch, g.BaseSequence)
	for _, r := range g.Records {
		head := recordcodec.RecordHead{Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, HeaderCount: len(r.Headers)}
		var headers recordcodec.RawHeaders
		for _, h := range r.Headers {
			headers = recordcodec.AppendHeader(headers, []byte(h.Name), h.Value)
		}
		w.Append(&head, headers)
	}
	b, err := w.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// What we encode decodes to the same records, in every codec; without compression the bytes are Kafka's own.
func TestEncodeGolden(t *testing.T) {
	d, e := recordcodec.NewDecoder(), recordcodec.NewEncoder()
	for _, g := range goldenBatches(t) {
		if g.Magic < 2 {
			continue
		}
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			t.Run(g.Name+"/"+codec.String(), func(t *testing.T) {
				encoded := g.encode(t, e, codec)
				b, err := d.Decode(encoded, wide)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Release()
				if diff := cmp.Diff(g.Records, recordsOf(b)); diff != "" {
					t.Error(diff)
				}
				if g.Codec == "none" && codec == recordcodec.CodecNone && !g.LogAppendTime {
					if diff := cmp.Diff(hex.EncodeToString(g.Bytes), hex.EncodeToString(encoded)); diff != "" {
						t.Error(diff)
					}
				}
			})
		}
	}
}

// Batches as nine clients sent them to a broker, which took them all: whatever snappy framing, LZ4 flags and zstd frames they use.
func TestClientBatches(t *testing.T) {
	f, err := os.Open("testdata/kafka/clients.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := recordcodec.NewDecoder()
	clients := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var g struct {
			Client, Codec         string
			Records, Decompressed int
			Bytes                 hexBytes
		}
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		clients[g.Client]++
		t.Run(g.Client+"/"+g.Codec, func(t *testing.T) {
			b, err := d.Decode(g.Bytes, wide)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			codec, err := b.Header.Codec()
			if err != nil || codec.String() != g.Codec || !b.Contiguous() || b.Len() != g.Records || b.Bytes() != g.Decompressed {
				t.Errorf("%v, %v, %d records, %d bytes", codec, err, b.Len(), b.Bytes())
			}
		})
	}
	if err := lines.Err(); err != nil || len(clients) != 9 {
		t.Fatalf("%d clients, %v", len(clients), err)
	}
}
