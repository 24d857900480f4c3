// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

func TestTimestamps(t *testing.T) {
	for _, c := range []struct {
		ms     int64
		origin uint64
		want   error
	}{
		{-1, 0, nil},
		{0, 1, nil},
		{1, 1000, nil},
		{math.MaxUint64 / 1000, math.MaxUint64 / 1000 * 1000, nil},
		{math.MaxUint64/1000 + 1, 0, mapping.ErrTimestamp},
		{math.MaxInt64, 0, mapping.ErrTimestamp},
		{-2, 0, mapping.ErrTimestamp},
		{math.MinInt64, 0, mapping.ErrTimestamp},
	} {
		t.Run(fmt.Sprint(c.ms), func(t *testing.T) {
			b, err := mapping.AppendRecord(nil, &recordcodec.Record{Timestamp: c.ms}, [16]byte{14: 'K', 15: 'R'}, mapping.MessageLimits{})
			if !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			m, _, err := mapping.ParseMessage(b)
			if err != nil || m.OriginTimestamp != c.origin {
				t.Errorf("origin timestamp is %d, not %d, %v", m.OriginTimestamp, c.origin, err)
			}
			if r, err := mapping.ToRecord(&m, nil); err != nil || r.Timestamp != c.ms {
				t.Errorf("%d came back, %v", r.Timestamp, err)
			}
		})
	}
}

// Under log append time every record has the batch's time.
func TestLogAppendTimeStamp(t *testing.T) {
	b := batchOf(t, goldenRecord{Timestamp: 5}, goldenRecord{Timestamp: -7})
	b.SetLogAppendTime(99)
	bytes, err := mapping.AppendMessages(nil, b, &mapping.IDs{}, mapping.MessageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	for len(bytes) > 0 {
		m, n, err := mapping.ParseMessage(bytes)
		if err != nil || m.OriginTimestamp != 99_000 {
			t.Fatal(m, err)
		}
		bytes = bytes[n:]
	}
}

// A record at fault is named, and nothing is appended.
func TestRecordErrors(t *testing.T) {
	fine := goldenRecord{Timestamp: 1, Value: hexBytes("v")}
	for _, c := range []struct {
		name string
		bad  goldenRecord
		lim  mapping.MessageLimits
		want error
	}{
		{"timestamp", goldenRecord{Timestamp: -2}, mapping.MessageLimits{}, mapping.ErrTimestamp},
		{"value", goldenRecord{Value: make(hexBytes, 101)}, mapping.MessageLimits{MaxPayload: 100}, recordcodec.ErrTooLarge},
		{"value at Iggy's limit", goldenRecord{Value: make(hexBytes, mapping.MaxPayload+1)}, mapping.MessageLimits{MaxPayload: math.MaxInt}, recordcodec.ErrTooLarge},
		{"envelope", goldenRecord{Key: hexBytes{}, Value: make(hexBytes, 88)}, mapping.MessageLimits{MaxPayload: 100}, recordcodec.ErrTooLarge},
		{"no room even for an envelope's header", goldenRecord{Key: hexBytes("k")}, mapping.MessageLimits{MaxUserHeaders: 20}, recordcodec.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst, err := mapping.AppendMessages([]byte("before"), batchOf(t, fine, fine, c.bad, fine), &mapping.IDs{}, c.lim)
			var which *mapping.RecordError
			if !errors.Is(err, c.want) || !errors.As(err, &which) || which.Index != 2 || string(dst) != "before" {
				t.Errorf("%.20q, %v", dst, err)
			}
		})
	}
}

func TestLimitsAreExact(t *testing.T) {
	for _, r := range []goldenRecord{
		{Value: make(hexBytes, 100)},
		{Key: hexBytes{}, Value: make(hexBytes, 87)},
	} {
		if _, err := mapping.AppendMessages(nil, batchOf(t, r), &mapping.IDs{}, mapping.MessageLimits{MaxPayload: 100}); err != nil {
			t.Error(err)
		}
	}
}

// Names repeat among few and among many headers.
func TestRepeatedNames(t *testing.T) {
	for _, n := range []int{2, 8, 9, 100} {
		for _, repeat := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", n, repeat), func(t *testing.T) {
				r := goldenRecord{Value: hexBytes("v")}
				for i := range n {
					r.Headers = append(r.Headers, goldenHeader{fmt.Sprint(i), hexBytes("v")})
				}
				if repeat {
					r.Headers[n-1].Name = r.Headers[0].Name
				}
				bytes, err := mapping.AppendMessages(nil, batchOf(t, r), &mapping.IDs{}, mapping.MessageLimits{})
				if err != nil {
					t.Fatal(err)
				}
				m, _, err := mapping.ParseMessage(bytes)
				if enveloped := len(m.UserHeaders) == 25; err != nil || enveloped != repeat {
					t.Errorf("enveloped: %v, %v", enveloped, err)
				}
				if back, err := mapping.ToRecord(&m, nil); err != nil || !cmp.Equal(r, toGolden(&back)) {
					t.Error(back, err)
				}
			})
		}
	}
}

// Three states each of key, value and header value come back as they were.
func TestNullIsNotEmpty(t *testing.T) {
	states := []hexBytes{nil, {}, hexBytes("x")}
	for _, key := range states {
		for _, value := range states {
			for _, header := range states {
				r := goldenRecord{Timestamp: 7, Key: key, Value: value, Headers: []goldenHeader{{"h", header}}}
				messages := benchMessages(t, batchOf(t, r))
				batch, _, err := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), messages, mapping.BatchOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]goldenRecord{r}, recordsIn(t, batch)); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

// The bound holds for records of any shape, and the most demanding ones reach it.
func TestMessagesSize(t *testing.T) {
	long := hexBytes(bytes.Repeat([]byte("x"), 300))
	for name, c := range map[string]struct {
		record goldenRecord
		spare  int
	}{
		"key, empty value":          {goldenRecord{Key: hexBytes("k"), Value: hexBytes{}}, 0},
		"key, null value":           {goldenRecord{Key: hexBytes("k")}, 1},
		"key, null value, headers":  {goldenRecord{Key: hexBytes("k"), Headers: []goldenHeader{{"a", hexBytes("1")}, {"b", hexBytes("2")}}}, 1},
		"nothing":                   {goldenRecord{}, 20},
		"value":                     {goldenRecord{Value: hexBytes("v")}, 46},
		"envelope":                  {goldenRecord{Key: hexBytes{}, Value: hexBytes("v")}, 8},
		"envelope, null value":      {goldenRecord{Key: hexBytes{}}, 8},
		"envelope, null headers":    {goldenRecord{Headers: []goldenHeader{{"a", nil}, {"a", nil}}}, 26},
		"envelope, long key":        {goldenRecord{Key: long, Value: hexBytes("v")}, 10},
		"envelope, long everything": {goldenRecord{Key: long, Value: long, Headers: []goldenHeader{{string(long), long}}}, 22},
	} {
		t.Run(name, func(t *testing.T) {
			b := batchOf(t, c.record)
			messages, err := mapping.AppendMessages(nil, b, &benchIDs, mapping.MessageLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if spare := mapping.MessagesSize(b) - len(messages); spare != c.spare {
				t.Errorf("%d bytes to spare, not %d", spare, c.spare)
			}
		})
	}
}

func TestAppendMessagesAllocates(t *testing.T) {
	for name, r := range benchKinds() {
		t.Run(name, func(t *testing.T) {
			b := batchOf(t, repeat(r)...)
			dst := make([]byte, 0, mapping.MessagesSize(b))
			allocs := testing.AllocsPerRun(20, func() {
				if _, err := mapping.AppendMessages(dst, b, &benchIDs, mapping.MessageLimits{}); err != nil {
					t.Fatal(err)
				}
			})
			if allocs > 3 { // the scratch for names, once for the batch
				t.Errorf("%v allocations for %d records", allocs, benchRecords)
			}
		})
	}
}
