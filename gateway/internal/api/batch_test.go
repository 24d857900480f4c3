// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// Where fields stand in a record batch.
const (
	atBaseOffset  = 0
	atLength      = 8
	atMagic       = 16
	atCRC         = 17
	atAttributes  = 21
	atLastDelta   = 23
	atProducerID  = 43
	atSequence    = 53
	atCount       = 57
	crcCoversFrom = atAttributes
)

// record is one record to send, or one that was read.
type record struct {
	offset     int64 // of those read
	timestamp  int64
	key, value []byte
	headers    []header
}

type header struct {
	name  string
	value []byte
}

// batchForm is what a batch is besides its records; the zero form is plain.
type batchForm struct {
	codec         recordcodec.Codec
	transactional bool
	control       bool
	producer      *producer
}

type producer struct {
	id       int64
	epoch    int16
	sequence int32
}

var encoder = recordcodec.NewEncoder()

// batchOf builds a batch as a producer does: offsets from 0.
func batchOf(form batchForm, records ...record) []byte {
	w := encoder.Batch(nil, recordcodec.BatchOptions{Codec: form.codec, Transactional: form.transactional, Control: form.control})
	if p := form.producer; p != nil {
		w.SetProducer(p.id, p.epoch, p.sequence)
	}
	for i, r := range records {
		head := recordcodec.RecordHead{Offset: int64(i), Timestamp: r.timestamp, Key: r.key, Value: r.value, HeaderCount: len(r.headers)}
		for _, h := range r.headers {
			head.HeaderBytes += recordcodec.HeaderLen([]byte(h.name), h.value)
		}
		w.Begin(&head)
		for _, h := range r.headers {
			w.Header([]byte(h.name), h.value)
		}
	}
	b, err := w.Finish()
	if err != nil {
		panic(err)
	}
	return b
}

// batch builds a plain batch of values stamped now.
func batch(values ...string) []byte {
	records := make([]record, len(values))
	for i, v := range values {
		records[i] = record{timestamp: time.Now().UnixMilli(), value: []byte(v)}
	}
	return batchOf(batchForm{}, records...)
}

// stamped builds a plain batch of records with these timestamps.
func stamped(timestamps ...int64) []byte {
	records := make([]record, len(timestamps))
	for i, ts := range timestamps {
		records[i] = record{timestamp: ts, value: []byte("v")}
	}
	return batchOf(batchForm{}, records...)
}

// large builds a batch of one record of n bytes.
func large(n int) []byte { return batch(strings.Repeat("x", n)) }

// changed copies a batch, changes it, and makes its CRC right again.
func changed(b []byte, change func(b []byte)) []byte {
	b = slices.Clone(b)
	change(b)
	binary.BigEndian.PutUint32(b[atCRC:], crcOf(b))
	return b
}

// crcOf is what the CRC of a batch should be.
func crcOf(b []byte) uint32 {
	return crc32.Checksum(b[crcCoversFrom:], crc32.MakeTable(crc32.Castagnoli))
}

// records decodes batches, one after another, with kmsg alone: not by what made them.
func records(tb testing.TB, b []byte) []record {
	tb.Helper()
	var out []record
	for len(b) > 0 {
		var rb kmsg.RecordBatch
		if len(b) < recordcodec.HeaderSize {
			tb.Fatalf("%d bytes are no batch", len(b))
		}
		size := 12 + int(binary.BigEndian.Uint32(b[atLength:]))
		if size > len(b) {
			tb.Fatalf("a batch was cut: %d bytes of %d", len(b), size)
		}
		if err := rb.ReadFrom(b[:size]); err != nil {
			tb.Fatalf("a batch does not decode: %v", err)
		}
		if want := int32(crcOf(b[:size])); rb.CRC != want {
			tb.Fatalf("CRC %x, want %x", rb.CRC, want)
		}
		if rb.ProducerID != -1 || rb.ProducerEpoch != -1 || rb.FirstSequence != -1 {
			tb.Fatalf("a batch names the producer %d, %d, %d", rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence)
		}
		out = append(out, batchRecords(tb, &rb)...)
		b = b[size:]
	}
	return out
}

func batchRecords(tb testing.TB, rb *kmsg.RecordBatch) []record {
	tb.Helper()
	raw := rb.Records
	if rb.Attributes&7 != 0 {
		// What a codec made is left to recordcodec, whose own tests hold it against Kafka's.
		whole := rb.AppendTo(nil)
		d, err := recordcodec.NewDecoder().Decode(whole, recordcodec.Limits{MaxBytes: 64 << 20, MaxRecords: 1 << 20, MaxHeaders: 1 << 20})
		if err != nil {
			tb.Fatalf("a compressed batch does not decode: %v", err)
		}
		defer d.Release()
		plain := encoder.Batch(nil, recordcodec.BatchOptions{})
		for it := d.Records(); it.Next(); {
			r := &it.Record
			plain.Append(&recordcodec.RecordHead{
				Offset: rb.FirstOffset + int64(r.OffsetDelta), Timestamp: r.Timestamp,
				Key: r.Key, Value: r.Value, HeaderCount: r.HeaderCount, HeaderBytes: len(r.Headers),
			}, r.Headers)
		}
		b, err := plain.Finish()
		if err != nil {
			tb.Fatal(err)
		}
		raw = b[recordcodec.HeaderSize:]
	}
	var out []record
	newest := int64(-1)
	for range rb.NumRecords {
		length, n := binary.Varint(raw)
		size := n + int(length)
		if n <= 0 || size > len(raw) {
			tb.Fatal("a record was cut")
		}
		var r kmsg.Record
		if err := r.ReadFrom(raw[:size]); err != nil {
			tb.Fatalf("a record does not decode: %v", err)
		}
		got := record{offset: rb.FirstOffset + int64(r.OffsetDelta), timestamp: rb.FirstTimestamp + r.TimestampDelta64, key: r.Key, value: r.Value}
		for _, h := range r.Headers {
			got.headers = append(got.headers, header{h.Key, h.Value})
		}
		newest = max(newest, got.timestamp)
		out = append(out, got)
		raw = raw[size:]
	}
	if len(raw) != 0 {
		tb.Fatalf("%d bytes behind the records", len(raw))
	}
	if newest != rb.MaxTimestamp {
		tb.Errorf("max timestamp %d, the records' is %d", rb.MaxTimestamp, newest)
	}
	if last := out[len(out)-1].offset; last != rb.FirstOffset+int64(rb.LastOffsetDelta) {
		tb.Errorf("last offset delta %d from %d, the last record is at %d", rb.LastOffsetDelta, rb.FirstOffset, last)
	}
	return out
}

// values are what the records hold.
func values(rs []record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, string(r.value))
	}
	return out
}

func wrongCRC(b []byte) []byte {
	b = slices.Clone(b)
	b[atCRC] ^= 1
	return b
}

// messageSetV1 is a message of format 1, as clients before Kafka 0.11 sent them.
func messageSetV1() []byte {
	m := kmsg.MessageV1{Magic: 1, Timestamp: 1, Value: []byte("v")}
	b := m.AppendTo(nil)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}
