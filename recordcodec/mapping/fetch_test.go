// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// poll is the message part of a poll's answer: values at these offsets.
func poll(offsets ...uint64) []byte {
	var b []byte
	for _, offset := range offsets {
		b = mapping.AppendMessage(b, &mapping.Message{Offset: offset, OriginTimestamp: 1000 * (offset + 1), Payload: make([]byte, 100)})
	}
	return b
}

func headersOf(tb testing.TB, b []byte) []recordcodec.Header {
	tb.Helper()
	var headers []recordcodec.Header
	for len(b) > 0 {
		h, err := recordcodec.ParseHeader(b)
		if err != nil {
			tb.Fatal(err)
		}
		headers = append(headers, h)
		b = b[12+h.Length:]
	}
	return headers
}

func TestAppendRecordBatch(t *testing.T) {
	const record = 109 // bytes in a batch of one record of poll, but for the header; the next ones take up to two more
	for _, c := range []struct {
		name string
		msgs []byte
		opts mapping.BatchOptions
		want mapping.BatchInfo
	}{
		{"nothing", nil, mapping.BatchOptions{MaxBytes: 1000}, mapping.BatchInfo{}},
		{"all", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: 1000}, mapping.BatchInfo{Records: 3, BaseOffset: 5, LastOffset: 7}},
		{"gaps", poll(5, 8, 1000), mapping.BatchOptions{MaxBytes: 1000}, mapping.BatchInfo{Records: 3, BaseOffset: 5, LastOffset: 1000}},
		{"from an offset inside", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: 1000, StartOffset: 6}, mapping.BatchInfo{Records: 2, BaseOffset: 6, LastOffset: 7}},
		{"from behind the end", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: 1000, StartOffset: 8}, mapping.BatchInfo{}},
		{"one at least", poll(5, 6, 7), mapping.BatchOptions{}, mapping.BatchInfo{Records: 1, BaseOffset: 5, LastOffset: 5, Truncated: true}},
		{"one at least, negative limit", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: -1}, mapping.BatchInfo{Records: 1, BaseOffset: 5, LastOffset: 5, Truncated: true}},
		{"the last one at least", poll(5), mapping.BatchOptions{MaxBytes: 1}, mapping.BatchInfo{Records: 1, BaseOffset: 5, LastOffset: 5}},
		{"two fit", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: recordcodec.HeaderSize + 2*record}, mapping.BatchInfo{Records: 2, BaseOffset: 5, LastOffset: 6, Truncated: true}},
		{"two do not quite fit", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: recordcodec.HeaderSize + 2*record - 1}, mapping.BatchInfo{Records: 1, BaseOffset: 5, LastOffset: 5, Truncated: true}},
		{"three fit", poll(5, 6, 7), mapping.BatchOptions{MaxBytes: recordcodec.HeaderSize + 3*record}, mapping.BatchInfo{Records: 3, BaseOffset: 5, LastOffset: 7}},
		{"the largest offset", poll(math.MaxInt64), mapping.BatchOptions{}, mapping.BatchInfo{Records: 1, BaseOffset: math.MaxInt64, LastOffset: math.MaxInt64}},
	} {
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			t.Run(c.name+"/"+codec.String(), func(t *testing.T) {
				opts := c.opts
				opts.Codec = codec
				b, info, err := mapping.AppendRecordBatch([]byte("before"), recordcodec.NewEncoder(), c.msgs, opts)
				if err != nil || string(b[:6]) != "before" {
					t.Fatal(b, err)
				}
				b = b[6:]
				if codec == recordcodec.CodecNone && info.Records > 1 && len(b) > opts.MaxBytes {
					t.Errorf("%d bytes", len(b))
				}
				want := c.want
				want.Bytes = len(b)
				if diff := cmp.Diff(want, info); diff != "" {
					t.Error(diff)
				}
				if got := recordsIn(t, b); len(got) != info.Records {
					t.Errorf("%d records", len(got))
				}
				headers := headersOf(t, b)
				if info.Records == 0 {
					if len(headers) != 0 {
						t.Errorf("%d batches", len(headers))
					}
					return
				}
				h := headers[0]
				if len(headers) != 1 || h.BaseOffset != info.BaseOffset || h.BaseOffset+int64(h.LastOffsetDelta) != info.LastOffset ||
					h.BaseTimestamp != info.BaseOffset+1 && info.BaseOffset < 1<<40 || h.ProducerID != -1 || h.ProducerEpoch != -1 || h.BaseSequence != -1 {
					t.Errorf("%+v", headers)
				}
			})
		}
	}
}

func TestAppendRecordBatchErrors(t *testing.T) {
	whole := poll(1, 2)
	for _, c := range []struct {
		name string
		msgs []byte
	}{
		{"cut in a header", whole[:len(whole)-120]},
		{"cut in a payload", whole[:len(whole)-1]},
		{"a byte more", append(slices.Clone(whole), 0)},
		{"the same offset twice", poll(1, 1)},
		{"descending", poll(2, 1)},
		{"descending before the start", poll(0, 9, 1, 2)},
		{"beyond Kafka's offsets", poll(1, math.MaxInt64+1)},
		{"the last of all", poll(1, math.MaxUint64)},
	} {
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			b, info, err := mapping.AppendRecordBatch([]byte("before"), recordcodec.NewEncoder(), c.msgs, mapping.BatchOptions{Codec: codec, MaxBytes: 1 << 20})
			if !errors.Is(err, recordcodec.ErrCorrupt) || string(b) != "before" || info != (mapping.BatchInfo{}) {
				t.Errorf("%s, %v: %q, %+v, %v", c.name, codec, b, info, err)
			}
		}
	}
}

// One batch has one append time, and room for offsets 2^31 apart.
func TestSeveralBatches(t *testing.T) {
	at := func(offset, micros uint64) []byte {
		// The producer's and the server's time: the one must never be taken for the other.
		m := mapping.Message{Offset: offset, OriginTimestamp: micros, Timestamp: micros + 70_000, Payload: []byte("v")}
		return mapping.AppendMessage(nil, &m)
	}
	for _, c := range []struct {
		name  string
		msgs  []byte
		opts  mapping.BatchOptions
		bases []int64
		times []int64
	}{
		{"append times", slices.Concat(at(0, 5000), at(1, 5999), at(2, 6000), at(3, 5000)), mapping.BatchOptions{LogAppendTime: true, MaxBytes: 1000},
			[]int64{0, 2, 3}, []int64{75, 76, 75}},
		{"create times", slices.Concat(at(0, 5000), at(1, 5999), at(2, 6000), at(3, 5000)), mapping.BatchOptions{MaxBytes: 1000},
			[]int64{0}, []int64{6}},
		{"offsets", slices.Concat(at(1, 5000), at(1<<31, 5000), at(1<<31+1, 5000), at(1<<40, 5000)), mapping.BatchOptions{MaxBytes: 1000},
			[]int64{1, 1<<31 + 1, 1 << 40}, []int64{5, 5, 5}},
		{"append times until the limit", slices.Concat(at(0, 5000), at(1, 6000), at(2, 7000)), mapping.BatchOptions{LogAppendTime: true, MaxBytes: 2 * (61 + 9)},
			[]int64{0, 1}, []int64{75, 76}},
	} {
		for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
			t.Run(c.name+"/"+codec.String(), func(t *testing.T) {
				c.opts.Codec = codec
				b, info, err := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), c.msgs, c.opts)
				if err != nil {
					t.Fatal(err)
				}
				var bases, times []int64
				for _, h := range headersOf(t, b) {
					bases, times = append(bases, h.BaseOffset), append(times, h.MaxTimestamp)
					if h.LogAppendTime() != c.opts.LogAppendTime {
						t.Error("wrong timestamp type")
					}
				}
				if diff := cmp.Diff([][]int64{c.bases, c.times}, [][]int64{bases, times}); diff != "" {
					t.Error(diff)
				}
				if got := recordsIn(t, b); len(got) != info.Records || info.Bytes != len(b) || info.BaseOffset != c.bases[0] {
					t.Errorf("%d records, %+v", len(got), info)
				}
			})
		}
	}
}

// One message that cannot be mapped stands between two that can.
func TestUnmappable(t *testing.T) {
	bad := mapping.AppendMessage(nil, &mapping.Message{Offset: 1, OriginTimestamp: 9000, Payload: []byte("raw"), UserHeaders: []byte("\x02\xff")})
	b, info, err := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), slices.Concat(poll(0), bad, poll(2)), mapping.BatchOptions{MaxBytes: 1000})
	if err != nil || info.Records != 3 || info.Unmappable != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	want := goldenRecord{Timestamp: 9, Value: hexBytes("raw"), Headers: []goldenHeader{
		{"kafka.gateway.error", hexBytes("bad user headers")},
	}}
	if diff := cmp.Diff(want, recordsIn(t, b)[1]); diff != "" {
		t.Error(diff)
	}
}

func TestAppendRecordBatchAllocates(t *testing.T) {
	enc := recordcodec.NewEncoder()
	for name, r := range benchKinds() {
		t.Run(name, func(t *testing.T) {
			messages := benchMessages(t, batchOf(t, repeat(r)...))
			dst := make([]byte, 0, 1<<20)
			allocs := testing.AllocsPerRun(20, func() {
				if _, _, err := mapping.AppendRecordBatch(dst, enc, messages, mapping.BatchOptions{MaxBytes: 1 << 20}); err != nil {
					t.Fatal(err)
				}
			})
			if allocs > 0 {
				t.Errorf("%v allocations for %d records", allocs, benchRecords)
			}
		})
	}
}
