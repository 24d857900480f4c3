// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

var be = binary.BigEndian

// seal sets the length and the CRC of a batch right, so that what is wrong otherwise is found behind them.
func seal(b []byte) []byte {
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// rawBatch is a sealed batch of that many records with that payload.
func rawBatch(codec recordcodec.Codec, count int32, payload []byte) []byte {
	b := make([]byte, recordcodec.HeaderSize, recordcodec.HeaderSize+len(payload))
	b[16] = 2
	b[22] = byte(codec)
	be.PutUint32(b[23:], uint32(count-1))
	for i := 43; i < 57; i++ {
		b[i] = 0xff
	}
	be.PutUint32(b[57:], uint32(count))
	return seal(append(b, payload...))
}

// perCodec runs f on a batch of the same three records in each codec, as Kafka wrote it.
func perCodec(t *testing.T, f func(t *testing.T, batch []byte)) {
	for _, g := range goldenBatches(t) {
		if g.Name == "plain" && g.Magic == 2 {
			t.Run(g.Codec, func(t *testing.T) { f(t, g.Bytes) })
		}
	}
}

func decode(b []byte, lim recordcodec.Limits) error {
	batch, err := recordcodec.NewDecoder().Decode(b, lim)
	if err == nil {
		batch.Release()
	}
	return err
}

// Of the header, the CRC leaves out the base offset and the leader epoch, so that a broker may set them; nothing else may change.
func TestBitFlips(t *testing.T) {
	fields := []struct {
		name       string
		start, end int
		want       []error // nil: fine; else one of these
	}{
		{"base offset", 0, 8, nil},
		{"length", 8, 12, []error{recordcodec.ErrCorrupt, recordcodec.ErrInvalid}},
		{"leader epoch", 12, 16, nil},
		{"magic", 16, 17, []error{recordcodec.ErrCorrupt, recordcodec.ErrLegacy}},
		{"crc", 17, 21, []error{recordcodec.ErrCorrupt}},
		{"attributes", 21, 23, []error{recordcodec.ErrCorrupt, recordcodec.ErrUnknownCodec}},
		{"last offset delta", 23, 27, []error{recordcodec.ErrCorrupt}},
		{"base timestamp", 27, 35, []error{recordcodec.ErrCorrupt}},
		{"max timestamp", 35, 43, []error{recordcodec.ErrCorrupt}},
		{"producer id", 43, 51, []error{recordcodec.ErrCorrupt}},
		{"producer epoch", 51, 53, []error{recordcodec.ErrCorrupt}},
		{"base sequence", 53, 57, []error{recordcodec.ErrCorrupt}},
		{"count", 57, 61, []error{recordcodec.ErrCorrupt}},
		{"records", 61, math.MaxInt, []error{recordcodec.ErrCorrupt}},
	}
	perCodec(t, func(t *testing.T, batch []byte) {
		for _, f := range fields {
			for bit := 8 * f.start; bit < 8*min(f.end, len(batch)); bit++ {
				flipped := slices.Clone(batch)
				flipped[bit/8] ^= 1 << (bit % 8)
				if err := decode(flipped, wide); !isOneOf(err, f.want) {
					t.Errorf("%s, bit %d: %v", f.name, bit, err)
				}
			}
		}
	})
}

func isOneOf(err error, want []error) bool {
	if len(want) == 0 {
		return err == nil
	}
	return slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) })
}

func TestCutAtEveryByte(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		for n := range batch {
			if err := decode(batch[:n], wide); !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Errorf("%d of %d bytes: %v", n, len(batch), err)
			}
			if _, err := recordcodec.MaxDecompressed(batch[:n]); !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Errorf("MaxDecompressed of %d of %d bytes: %v", n, len(batch), err)
			}
		}
	})
}

// The payload of a batch whose length and CRC are right can still be damaged: by its sender.
func TestCutPayload(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		for n := recordcodec.HeaderSize; n < len(batch); n++ {
			err := decode(seal(slices.Clone(batch[:n])), wide)
			if !errors.Is(err, recordcodec.ErrCorrupt) && !errors.Is(err, recordcodec.ErrInvalid) {
				t.Errorf("%d of %d bytes: %v", n, len(batch), err)
			}
		}
	})
}

func TestFlippedPayloadDoesNotPanic(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		for bit := 8 * recordcodec.HeaderSize; bit < 8*len(batch); bit++ {
			flipped := slices.Clone(batch)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := decode(seal(flipped), wide); err != nil && !errors.Is(err, recordcodec.ErrCorrupt) &&
				!errors.Is(err, recordcodec.ErrInvalid) && !errors.Is(err, recordcodec.ErrTooLarge) {
				t.Errorf("bit %d: %v", bit, err)
			}
		}
	})
}

func TestOneBatchOnly(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		for _, after := range [][]byte{{0}, batch, make([]byte, 100)} {
			if err := decode(append(slices.Clone(batch), after...), wide); !errors.Is(err, recordcodec.ErrInvalid) {
				t.Errorf("%d bytes after the batch: %v", len(after), err)
			}
		}
	})
}

func TestCountsThatLie(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		for _, count := range []int32{0, 1, 2, 4, 1000, math.MaxInt32, -1, math.MinInt32} {
			lying := slices.Clone(batch)
			be.PutUint32(lying[57:], uint32(count))
			if err := decode(seal(lying), wide); !errors.Is(err, recordcodec.ErrInvalid) {
				t.Errorf("count %d: %v", count, err)
			}
		}
	})
}

func TestBadHeaders(t *testing.T) {
	good := rawBatch(recordcodec.CodecNone, 1, []byte{12, 0, 0, 0, 1, 1, 0})
	if err := decode(good, wide); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   error
	}{
		{"codec 5", func(b []byte) { b[22] = 5; seal(b) }, recordcodec.ErrUnknownCodec},
		{"codec 7", func(b []byte) { b[22] = 7; seal(b) }, recordcodec.ErrUnknownCodec},
		{"magic 3", func(b []byte) { b[16] = 3 }, recordcodec.ErrCorrupt},
		{"magic -1", func(b []byte) { b[16] = 0xff }, recordcodec.ErrCorrupt},
		{"magic 0", func(b []byte) { b[16] = 0 }, recordcodec.ErrLegacy},
		{"magic 1", func(b []byte) { b[16] = 1 }, recordcodec.ErrLegacy},
		{"length 0", func(b []byte) { be.PutUint32(b[8:], 0) }, recordcodec.ErrCorrupt},
		{"length below a header", func(b []byte) { be.PutUint32(b[8:], 48) }, recordcodec.ErrCorrupt},
		{"length -1", func(b []byte) { be.PutUint32(b[8:], math.MaxUint32) }, recordcodec.ErrCorrupt},
		{"length 2^31 - 1", func(b []byte) { be.PutUint32(b[8:], math.MaxInt32) }, recordcodec.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := slices.Clone(good)
			c.change(b)
			if err := decode(b, wide); !errors.Is(err, c.want) {
				t.Errorf("Decode: %v", err)
			}
			if _, err := recordcodec.MaxDecompressed(b); !errors.Is(err, c.want) {
				t.Errorf("MaxDecompressed: %v", err)
			}
		})
	}
}

func TestBadRecords(t *testing.T) {
	for _, c := range []struct {
		name   string
		record []byte
	}{
		{"nothing but zeros", make([]byte, 7)},
		{"length beyond the end", []byte{14, 0, 0, 0, 1, 1, 0}},
		{"negative length", []byte{1, 0, 0, 0, 1, 1, 0}},
		{"length of six bytes", []byte{0x8c, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0, 0, 1, 1, 0}},
		{"length cut short", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"timestamp delta of eleven bytes", []byte{34, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0, 0}},
		{"key beyond the record", []byte{12, 0, 0, 0, 0x7e, 1, 0}},
		{"value beyond the record", []byte{12, 0, 0, 0, 1, 0x7e, 0}},
		{"no header count", []byte{12, 0, 0, 0, 1, 2, 'v'}},
		{"header count beyond the record", []byte{12, 0, 0, 0, 1, 1, 2}},
		{"header count 2^31 - 1", []byte{20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f}},
		{"negative header count", []byte{12, 0, 0, 0, 1, 1, 1}},
		{"header without a name", []byte{16, 0, 0, 0, 1, 1, 2, 1, 1}},
		{"header name beyond the record", []byte{16, 0, 0, 0, 1, 1, 2, 8, 1}},
		{"header value beyond the record", []byte{16, 0, 0, 0, 1, 1, 2, 0, 8}},
		{"header without a value", []byte{18, 0, 0, 0, 1, 1, 2, 4, 'h', 'h'}},
		{"bytes after the headers", []byte{14, 0, 0, 0, 1, 1, 0, 0}},
		{"bytes after the record", []byte{12, 0, 0, 0, 1, 1, 0, 0}},
		{"a second record", []byte{12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := decode(rawBatch(recordcodec.CodecNone, 1, c.record), wide); !errors.Is(err, recordcodec.ErrInvalid) {
				t.Error(err)
			}
		})
	}
}

// Like Kafka's reader, any negative length of a key or value is null, and bits beyond 32 are dropped.
func TestOddButFine(t *testing.T) {
	b, err := recordcodec.NewDecoder().Decode(rawBatch(recordcodec.CodecNone, 1,
		[]byte{20, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x70, 3, 5, 0}), wide)
	if err != nil {
		t.Fatal(err)
	}
	it := b.Records()
	if !it.Next() || it.Record.Key != nil || it.Record.Value != nil || it.Record.OffsetDelta != 0 || it.Next() {
		t.Errorf("%+v", it.Record)
	}
}

func TestEmptyBatch(t *testing.T) {
	b, err := recordcodec.NewDecoder().Decode(rawBatch(recordcodec.CodecNone, 0, nil), recordcodec.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if it := b.Records(); b.Len() != 0 || b.Contiguous() || it.Next() {
		t.Error("a batch without records has some")
	}
}

func TestContiguous(t *testing.T) {
	for _, c := range []struct {
		name    string
		offsets []int64
		want    bool
	}{
		{"from 0", []int64{5, 6, 7}, true},
		{"a gap", []int64{5, 7, 8}, false},
		{"one", []int64{9}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{})
			for _, offset := range c.offsets {
				w.Begin(&recordcodec.RecordHead{Offset: offset})
			}
			bytes, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			b, err := recordcodec.NewDecoder().Decode(bytes, wide)
			if err != nil || b.Contiguous() != c.want {
				t.Errorf("%v, %v", b, err)
			}
			be.PutUint32(bytes[23:], uint32(len(c.offsets)))
			if b, err := recordcodec.NewDecoder().Decode(seal(bytes), wide); err != nil || b.Contiguous() {
				t.Errorf("with a wrong last offset delta: %v", err)
			}
		})
	}
}

// Each limit allows exactly as much as it says, in every codec.
func TestLimits(t *testing.T) {
	for codec := recordcodec.CodecNone; codec <= recordcodec.CodecZstd; codec++ {
		for _, size := range []int{1, 300, 70_000, 400_000} {
			t.Run(fmt.Sprintf("%v/%d", codec, size), func(t *testing.T) {
				w := recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{Codec: codec})
				value := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				for offset := range int64(2) {
					w.Begin(&recordcodec.RecordHead{Offset: offset, Value: value, HeaderCount: 1, HeaderBytes: recordcodec.HeaderLen([]byte("h"), nil)})
					w.Header([]byte("h"), nil)
				}
				encoded, err := w.Finish()
				if err != nil {
					t.Fatal(err)
				}
				d := recordcodec.NewDecoder()
				b, err := d.Decode(encoded, wide)
				if err != nil {
					t.Fatal(err)
				}
				exact := recordcodec.Limits{MaxBytes: b.Bytes(), MaxRecords: 2, MaxHeaders: 2}
				if b.Bytes() != w.Size()-recordcodec.HeaderSize && codec == recordcodec.CodecNone || b.HeaderCount() != 2 {
					t.Errorf("%d bytes, %d headers", b.Bytes(), b.HeaderCount())
				}
				b.Release()
				if err := decode(encoded, exact); err != nil {
					t.Error(err)
				}
				for _, lim := range []recordcodec.Limits{
					{MaxBytes: exact.MaxBytes - 1, MaxRecords: 2, MaxHeaders: 2},
					{MaxBytes: exact.MaxBytes / 2, MaxRecords: 2, MaxHeaders: 2},
					{MaxBytes: 1, MaxRecords: 2, MaxHeaders: 2},
					{MaxRecords: 2, MaxHeaders: 2},
					{MaxBytes: -1, MaxRecords: 2, MaxHeaders: 2},
					{MaxBytes: exact.MaxBytes, MaxRecords: 1, MaxHeaders: 2},
					{MaxBytes: exact.MaxBytes, MaxRecords: 2, MaxHeaders: 1},
				} {
					if err := decode(encoded, lim); !errors.Is(err, recordcodec.ErrTooLarge) {
						t.Errorf("%+v: %v", lim, err)
					}
				}
			})
		}
	}
}

func TestReleaseTwice(t *testing.T) {
	perCodec(t, func(t *testing.T, batch []byte) {
		b, err := recordcodec.NewDecoder().Decode(batch, wide)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		b.Release()
		if it := b.Records(); b.Len() != 0 || it.Next() {
			t.Error("a released batch has records")
		}
	})
}
