// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// FuzzParseMessage: any bytes are a message or cut short, and a message is the same bytes again, but for the reserved field.
func FuzzParseMessage(f *testing.F) {
	f.Add(mapping.AppendMessage(nil, &fullMessage))
	f.Add(poll(1, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, n, err := mapping.ParseMessage(data)
		if err != nil {
			if !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again := mapping.AppendMessage(nil, &m)
		copy(again[56:64], data[56:64])
		if n != m.Size() || string(again) != string(data[:n]) {
			t.Fatalf("%x became %x", data[:n], again)
		}
	})
}

// FuzzAppendRecordBatch: the message part of any answer becomes whole batches, or is corrupt; what dst held stays.
func FuzzAppendRecordBatch(f *testing.F) {
	for _, g := range goldens(f, "native.jsonl") {
		m := g.Message.message()
		f.Add(mapping.AppendMessage(nil, &m), uint8(0), 100, uint64(0), false)
	}
	f.Add(poll(1, 2, 3), uint8(3), 200, uint64(2), true)
	enc := recordcodec.NewEncoder()
	f.Fuzz(func(t *testing.T, data []byte, codec uint8, maxBytes int, start uint64, appendTime bool) {
		opts := mapping.BatchOptions{Codec: recordcodec.Codec(codec % 5), MaxBytes: min(maxBytes, 1<<20), StartOffset: start, LogAppendTime: appendTime}
		b, info, err := mapping.AppendRecordBatch([]byte("before"), enc, data, opts)
		if string(b[:6]) != "before" {
			t.Fatal("dst has changed")
		}
		if err != nil {
			if !errors.Is(err, recordcodec.ErrCorrupt) || len(b) != 6 {
				t.Fatal(len(b), err)
			}
			return
		}
		if got := recordsIn(t, b[6:]); len(got) != info.Records || len(b) != 6+info.Bytes {
			t.Fatalf("%d records, %+v", len(got), info)
		}
		if opts.Codec == recordcodec.CodecNone && info.Records > 1 && info.Bytes > opts.MaxBytes {
			t.Fatalf("%d bytes of at most %d", info.Bytes, opts.MaxBytes)
		}
	})
}

// FuzzReadMessage: any user headers and payload are a record or unmappable. A record of ours reads back the same after one more trip,
// unless native headers already carry names of ours.
func FuzzReadMessage(f *testing.F) {
	for _, file := range []string{"native.jsonl", "records.jsonl"} {
		for _, g := range goldens(f, file) {
			if len(g.Message.UserHeaders)+len(g.Message.Payload) < 4000 {
				f.Add([]byte(g.Message.UserHeaders), []byte(g.Message.Payload), uint64(1_700_000_000_000_000))
			}
		}
	}
	f.Fuzz(func(t *testing.T, userHeaders, payload []byte, origin uint64) {
		m := mapping.Message{ID: [16]byte{14: 'K', 15: 'R'}, UserHeaders: userHeaders, Payload: payload, OriginTimestamp: origin}
		r, err := mapping.ToRecord(&m, nil)
		if err != nil {
			if !errors.Is(err, mapping.ErrUnmappable) {
				t.Fatal(err)
			}
			return
		}
		sameAgain(t, &r)
	})
}

// FuzzRecord: any record becomes a message and the same record again.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("k"), []byte("v"), uint8(0), int64(0), []byte("h1"), []byte("v1"), []byte("h2"), []byte("v2"))
	f.Add([]byte(""), []byte(""), uint8(1|4), int64(-1), []byte("h"), []byte(""), []byte("h"), []byte(""))
	f.Fuzz(func(t *testing.T, key, value []byte, nulls uint8, timestamp int64, name1, value1, name2, value2 []byte) {
		for i, field := range []*[]byte{&key, &value, &value1, &value2} {
			if nulls>>i&1 != 0 {
				*field = nil
			} else if *field == nil {
				*field = []byte{}
			}
		}
		headers := recordcodec.AppendHeader(recordcodec.AppendHeader(nil, name1, value1), name2, value2)
		sameAgain(t, &recordcodec.Record{Timestamp: timestamp, Key: key, Value: value, Headers: headers, HeaderCount: 2})
	})
}

func sameAgain(t *testing.T, r *recordcodec.Record) {
	b, err := mapping.AppendRecord(nil, r, [16]byte{14: 'K', 15: 'R'}, mapping.MessageLimits{})
	if err != nil {
		if errors.Is(err, mapping.ErrTimestamp) && (r.Timestamp < -1 || r.Timestamp > math.MaxUint64/1000) {
			return
		}
		t.Fatal(err)
	}
	m, n, err := mapping.ParseMessage(b)
	if err != nil || n != len(b) || len(m.Payload) == 0 || len(m.UserHeaders) > mapping.MaxUserHeaders {
		t.Fatal(n, m, err)
	}
	again, err := mapping.ToRecord(&m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(toGolden(r), toGolden(&again)); diff != "" {
		t.Fatal(diff)
	}
}
