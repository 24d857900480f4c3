// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// entry is a user header as Iggy has it.
func entry(nameKind byte, name string, valueKind byte, value string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{nameKind}, uint32(len(name)))
	b = append(append(b, name...), valueKind)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(value))), value...)
}

func text(name, value string) []byte { return entry(2, name, 1, value) }

// Names of every kind become text.
func TestHeaderNames(t *testing.T) {
	for _, c := range []struct {
		kind byte
		name string
		want string
	}{
		{1, "raw", "raw"},
		{1, "\xff\x00", "ff00"},
		{2, "text", "text"},
		{2, "", ""},
		{3, "\x00", "false"},
		{3, "\x01", "true"},
		{4, "\x80", "-128"},
		{5, "\xfe\xff", "-2"},
		{6, "\x00\x00\x00\x80", "-2147483648"},
		{7, "\xff\xff\xff\xff\xff\xff\xff\x7f", "9223372036854775807"},
		{8, "\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00", "9223372036854775808"},
		{8, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80", "-170141183460469231731687303715884105728"},
		{9, "\xff", "255"},
		{10, "\xff\xff", "65535"},
		{11, "\xff\xff\xff\xff", "4294967295"},
		{12, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{13, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "340282366920938463463374607431768211455"},
		{14, "\x00\x00\xc0\x3f", "1.5"},
		{15, "\x00\x00\x00\x00\x00\x00\x00\xc0", "-2"},
	} {
		m := mapping.Message{UserHeaders: entry(c.kind, c.name, 6, "\x01")}
		r, err := mapping.ToRecord(&m, nil)
		want := []goldenHeader{{c.want, hexBytes{1}}}
		if diff := cmp.Diff(want, toGolden(&r).Headers); diff != "" || err != nil {
			t.Errorf("kind %d, %x: %v %s", c.kind, c.name, err, diff)
		}
		if c.kind <= 2 {
			continue
		}
		m.UserHeaders = entry(c.kind, c.name+"x", 1, "v")
		if _, err := mapping.ToRecord(&m, nil); !errors.Is(err, mapping.ErrUnmappable) {
			t.Errorf("kind %d with a byte too many: %v", c.kind, err)
		}
	}
	for _, kind := range []byte{0, 16, 255} {
		m := mapping.Message{UserHeaders: entry(kind, "x", 1, "v")}
		if _, err := mapping.ToRecord(&m, nil); !errors.Is(err, mapping.ErrUnmappable) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

// What the reserved names do where they meet each other and a native producer's own headers.
func TestReservedNames(t *testing.T) {
	const enveloped = "\x03\x01\x00\x00\x00k\x01\x00\x00\x00v\x01\x00\x00\x00\x01\x00\x00\x00h\x00\x00\x00\x00\x00"
	envelope := text("kafka.envelope", "\x01")
	for _, c := range []struct {
		name    string
		payload string
		headers [][]byte
		want    goldenRecord
		unknown int
	}{
		{"an envelope goes first, native headers follow", enveloped, [][]byte{text("a", "1"), envelope, text("b", "2")},
			goldenRecord{Key: hexBytes("k"), Value: hexBytes("v"), Headers: []goldenHeader{{"h", nil}, {"a", hexBytes("1")}, {"b", hexBytes("2")}}}, 0},
		{"an envelope makes the other reserved names void", enveloped,
			[][]byte{text("kafka.key", "x"), text("kafka.value", "null"), text("kafka.h.a", "1"), envelope},
			goldenRecord{Key: hexBytes("k"), Value: hexBytes("v"), Headers: []goldenHeader{{"h", nil}}}, 3},
		{"but for the timestamp", enveloped, [][]byte{envelope, text("kafka.ts", "5")},
			goldenRecord{Timestamp: 5, Key: hexBytes("k"), Value: hexBytes("v"), Headers: []goldenHeader{{"h", nil}}}, 0},
		{"the last key counts, as in a map", "v", [][]byte{text("kafka.key", "1"), text("kafka.key", "2")},
			goldenRecord{Key: hexBytes("2"), Value: hexBytes("v"), Headers: []goldenHeader{}}, 0},
		{"an empty key", "v", [][]byte{text("kafka.key", "")}, goldenRecord{Key: hexBytes{}, Value: hexBytes("v"), Headers: []goldenHeader{}}, 0},
		{"an unknown state of the value", "v", [][]byte{text("kafka.value", "missing")}, goldenRecord{Value: hexBytes("v"), Headers: []goldenHeader{}}, 1},
		{"a timestamp that is none", "v", [][]byte{text("kafka.ts", "now")}, goldenRecord{Value: hexBytes("v"), Headers: []goldenHeader{}}, 1},
		{"names that only begin alike", "v", [][]byte{text("kafka", "1"), text("kafka.", "2"), text("kafka.h", "3"), text("kafka.keys", "4"), text("kafkaesque", "5")},
			goldenRecord{Value: hexBytes("v"), Headers: []goldenHeader{{"kafka", hexBytes("1")}, {"kafkaesque", hexBytes("5")}}}, 3},
		{"an empty payload is an empty value", "", nil, goldenRecord{Value: hexBytes{}, Headers: []goldenHeader{}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mapping.Message{Payload: []byte(c.payload), UserHeaders: slices.Concat(c.headers...)}
			r, err := mapping.ToRecord(&m, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, toGolden(&r)); diff != "" {
				t.Error(diff)
			}
			b, info, err := mapping.AppendRecordBatch(nil, recordcodec.NewEncoder(), mapping.AppendMessage(nil, &m), mapping.BatchOptions{})
			if err != nil || info.UnknownHeaders != c.unknown {
				t.Errorf("%+v, %v", info, err)
			}
			if diff := cmp.Diff([]goldenRecord{c.want}, recordsIn(t, b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// User headers and envelopes cut at any byte fail.
func TestCutUserHeaders(t *testing.T) {
	whole := slices.Concat(text("kafka.key", "key"), text("a", "1"))
	first := len(text("kafka.key", "key"))
	for n := 1; n < len(whole); n++ {
		_, err := mapping.ToRecord(&mapping.Message{UserHeaders: whole[:n]}, nil)
		if want := n != first; errors.Is(err, mapping.ErrUnmappable) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestCutEnvelope(t *testing.T) {
	r := goldenRecord{Key: hexBytes{}, Value: hexBytes("v"), Headers: []goldenHeader{{"name", hexBytes("value")}, {"name", nil}}}
	bytes, err := mapping.AppendMessages(nil, batchOf(t, r), &mapping.IDs{}, mapping.MessageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := mapping.ParseMessage(bytes)
	if err != nil {
		t.Fatal(err)
	}
	whole := m.Payload
	for n := range whole {
		m.Payload = whole[:n]
		if _, err := mapping.ToRecord(&m, nil); !errors.Is(err, mapping.ErrUnmappable) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	for at := range whole {
		m.Payload = slices.Clone(whole)
		m.Payload[at] ^= 0x80
		if _, err := mapping.ToRecord(&m, nil); err != nil && !errors.Is(err, mapping.ErrUnmappable) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}
