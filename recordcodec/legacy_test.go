// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// legacyMessage is a message of format 0 or 1 with its CRC.
func legacyMessage(offset int64, magic, attributes byte, timestamp int64, key, value []byte) []byte {
	b := be.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, magic, attributes)
	if magic == 1 {
		b = be.AppendUint64(b, uint64(timestamp))
	}
	for _, field := range [][]byte{key, value} {
		if field == nil {
			b = be.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(be.AppendUint32(b, uint32(len(field))), field...)
	}
	return sealLegacy(b)
}

func sealLegacy(b []byte) []byte {
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

func TestLegacy(t *testing.T) {
	d := recordcodec.NewDecoder()
	inner := func(magic byte, offsets ...int64) []byte {
		var set []byte
		for _, offset := range offsets {
			set = append(set, legacyMessage(offset, magic, 0, 100+offset, nil, []byte("v"))...)
		}
		return xerial(set)
	}
	record := func(offset, timestamp int64, appendTime bool) recordcodec.LegacyRecord {
		return recordcodec.LegacyRecord{Offset: offset, Timestamp: timestamp, LogAppendTime: appendTime, Value: []byte("v")}
	}
	for _, c := range []struct {
		name string
		set  []byte
		want []recordcodec.LegacyRecord
		err  error
	}{
		{"nothing", nil, nil, nil},
		{"format 0 keeps the offsets inside", legacyMessage(9, 0, 2, 0, nil, inner(0, 7, 9)),
			[]recordcodec.LegacyRecord{record(7, -1, false), record(9, -1, false)}, nil},
		{"format 1 counts back from the wrapper's", legacyMessage(9, 1, 2, 5, nil, inner(1, 0, 2)),
			[]recordcodec.LegacyRecord{record(7, 100, false), record(9, 102, false)}, nil},
		{"log append time is the wrapper's", legacyMessage(9, 1, 2|8, 5, nil, inner(1, 0, 1)),
			[]recordcodec.LegacyRecord{record(8, 5, true), record(9, 5, true)}, nil},
		{"plain and compressed", slices.Concat(legacyMessage(1, 1, 0, 5, nil, []byte("v")), legacyMessage(2, 1, 2, 5, nil, inner(1, 0))),
			[]recordcodec.LegacyRecord{record(1, 5, false), record(2, 100, false)}, nil},
		{"compressed twice", legacyMessage(9, 1, 2, 5, nil, xerial(legacyMessage(0, 1, 2, 5, nil, inner(1, 0)))), nil, recordcodec.ErrInvalid},
		{"formats mixed in one", legacyMessage(9, 1, 2, 5, nil, inner(0, 0)), nil, recordcodec.ErrInvalid},
		{"compressed null", legacyMessage(9, 1, 2, 5, nil, nil), nil, recordcodec.ErrCorrupt},
		{"codec 5", legacyMessage(9, 1, 5, 5, nil, nil), nil, recordcodec.ErrUnknownCodec},
		{"magic 2", legacyMessage(9, 2, 0, 5, nil, nil), nil, recordcodec.ErrInvalid},
		{"no room for key and value", sealLegacy(append(legacyMessage(0, 0, 0, 0, nil, nil)[:16], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), nil, recordcodec.ErrInvalid},
		{"a key beyond the end", sealLegacy(append(legacyMessage(0, 0, 0, 0, nil, nil)[:18], 0, 0, 0, 9, 0, 0, 0, 0)), nil, recordcodec.ErrInvalid},
		{"bytes after the value", sealLegacy(append(legacyMessage(0, 0, 0, 0, nil, nil), 0)), nil, recordcodec.ErrInvalid},
		{"more records than allowed", slices.Concat(legacyMessage(1, 1, 0, 5, nil, nil), legacyMessage(2, 1, 2, 5, nil, inner(1, 0, 1, 2, 3))), nil, recordcodec.ErrTooLarge},
		{"more bytes than allowed", legacyMessage(1, 1, 2, 5, nil, xerial(legacyMessage(2, 1, 0, 5, nil, make([]byte, 2000)))), nil, recordcodec.ErrTooLarge},
		{"more bytes than allowed, together", slices.Concat(legacyMessage(1, 1, 2, 5, nil, xerial(legacyMessage(2, 1, 0, 5, nil, make([]byte, 500)))),
			legacyMessage(2, 1, 2, 5, nil, xerial(legacyMessage(2, 1, 0, 5, nil, make([]byte, 500))))), nil, recordcodec.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := d.DecodeMessageSet(c.set, recordcodec.Limits{MaxBytes: 1000, MaxRecords: 4})
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLegacyDamaged(t *testing.T) {
	d := recordcodec.NewDecoder()
	for _, g := range goldenBatches(t) {
		if g.Magic == 2 {
			continue
		}
		t.Run(g.Name+"/"+g.Codec, func(t *testing.T) {
			for n := 1; n < len(g.Bytes); n++ {
				// A cut between two messages leaves a whole set.
				if got, err := d.DecodeMessageSet(g.Bytes[:n], wide); err == nil && len(got) >= len(g.Records) {
					t.Errorf("%d of %d bytes: %d records", n, len(g.Bytes), len(got))
				}
			}
			for bit := range 8 * len(g.Bytes) {
				damaged := slices.Clone(g.Bytes)
				damaged[bit/8] ^= 1 << (bit % 8)
				if got, err := d.DecodeMessageSet(damaged, wide); err == nil && cmp.Equal(got[0].Value, []byte(nil)) {
					t.Errorf("bit %d: %v", bit, got)
				}
			}
		})
	}
}
