// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

var fullMessage = mapping.Message{
	Checksum:        0x0102030405060708,
	ID:              [16]byte{0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x1f},
	Offset:          0x2122232425262728,
	Timestamp:       0x3132333435363738,
	OriginTimestamp: 0x4142434445464748,
	Payload:         []byte("payload"),
	UserHeaders:     []byte("headers!"),
}

// The layout of a message, byte for byte.
func TestMessageBytes(t *testing.T) {
	want := strings.Join([]string{
		"0807060504030201",                 // checksum
		"100102030405060708090a0b0c0d0e1f", // id
		"2827262524232221",                 // offset
		"3837363534333231",                 // timestamp
		"4847464544434241",                 // origin timestamp
		"08000000",                         // length of the user headers
		"07000000",                         // length of the payload
		"0000000000000000",                 // reserved
		hex.EncodeToString([]byte("payloadheaders!")),
	}, "")
	b := mapping.AppendMessage([]byte("before"), &fullMessage)[len("before"):]
	if diff := cmp.Diff(want, hex.EncodeToString(b)); diff != "" {
		t.Error(diff)
	}
	m, n, err := mapping.ParseMessage(append(b, "the next one"...))
	if diff := cmp.Diff(fullMessage, m); diff != "" || n != len(b) || n != m.Size() || err != nil {
		t.Error(diff, n, err)
	}
}

func TestParseMessageCut(t *testing.T) {
	b := mapping.AppendMessage(nil, &fullMessage)
	for n := range b {
		if _, took, err := mapping.ParseMessage(b[:n]); !errors.Is(err, recordcodec.ErrCorrupt) || took != 0 {
			t.Errorf("%d bytes: took %d, %v", n, took, err)
		}
	}
	for _, lengths := range [][2]uint32{{math.MaxUint32, 0}, {0, math.MaxUint32}, {math.MaxUint32, math.MaxUint32}, {8, 8}} {
		binary.LittleEndian.PutUint32(b[48:], lengths[0])
		binary.LittleEndian.PutUint32(b[52:], lengths[1])
		if _, _, err := mapping.ParseMessage(b); !errors.Is(err, recordcodec.ErrCorrupt) {
			t.Errorf("lengths %d: %v", lengths, err)
		}
	}
}

func TestIDs(t *testing.T) {
	idempotent := mapping.IDs{ProducerID: 0x0102030405060708, Epoch: 0x090a, BaseSequence: math.MaxInt32 - 1}
	random := mapping.IDs{ProducerID: -1, Random: [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	for _, c := range []struct {
		name string
		id   [16]byte
		hex  string
		want mapping.ParsedID
	}{
		{"idempotent", idempotent.ID(0), "0807060504030201" + "0a09" + "feffff7f" + "4b49",
			mapping.ParsedID{mapping.IDIdempotent, 0x0102030405060708, 0x090a, math.MaxInt32 - 1}},
		{"the last sequence", idempotent.ID(1), "0807060504030201" + "0a09" + "ffffff7f" + "4b49",
			mapping.ParsedID{mapping.IDIdempotent, 0x0102030405060708, 0x090a, math.MaxInt32}},
		{"sequences wrap to 0", idempotent.ID(2), "0807060504030201" + "0a09" + "00000000" + "4b49",
			mapping.ParsedID{mapping.IDIdempotent, 0x0102030405060708, 0x090a, 0}},
		{"random", random.ID(258), "0102030405060708090a" + "02010000" + "4b52",
			mapping.ParsedID{Kind: mapping.IDRandom}},
		{"all zeros but for the tag", (&mapping.IDs{ProducerID: -1}).ID(0), "0000000000000000000000000000" + "4b52",
			mapping.ParsedID{Kind: mapping.IDRandom}},
		{"foreign", [16]byte{1}, "01000000000000000000000000000000", mapping.ParsedID{}},
		{"a foreign one with our tag: no such producer", [16]byte{7: 0x80, 14: 'K', 15: 'I'}, "00000000000000800000000000004b49", mapping.ParsedID{}},
		{"a foreign one with our tag: no such sequence", [16]byte{13: 0x80, 14: 'K', 15: 'I'}, "00000000000000000000000000804b49", mapping.ParsedID{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hex.EncodeToString(c.id[:]); got != c.hex {
				t.Errorf("id is %s, not %s", got, c.hex)
			}
			if diff := cmp.Diff(c.want, mapping.ParseID(c.id)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
