// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// tight are limits that fuzzing can hit.
var tight = recordcodec.Limits{MaxBytes: 1 << 20, MaxRecords: 2000, MaxHeaders: 1000}

func isClassified(err error) bool {
	return errors.Is(err, recordcodec.ErrCorrupt) || errors.Is(err, recordcodec.ErrInvalid) ||
		errors.Is(err, recordcodec.ErrTooLarge) || errors.Is(err, recordcodec.ErrUnknownCodec)
}

// FuzzDecode: any bytes, with and without a right length and CRC, decode or fail with one of our errors, within the limits; what decodes
// also encodes, and decodes to the same records again.
func FuzzDecode(f *testing.F) {
	for _, g := range goldenBatches(f) {
		if g.Name != "500 records" {
			f.Add([]byte(g.Bytes), false)
			f.Add([]byte(g.Bytes), true)
		}
	}
	for _, bomb := range bombs(f) {
		if len(bomb.payload) < 1000 {
			f.Add(rawBatch(bomb.codec, 1, bomb.payload), true)
		}
	}
	d, e := recordcodec.NewDecoder(), recordcodec.NewEncoder()
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed && len(data) >= recordcodec.HeaderSize {
			data = seal(slices.Clone(data))
		}
		bound, boundErr := recordcodec.MaxDecompressed(data)
		b, err := d.Decode(data, tight)
		if err != nil {
			if !isClassified(err) {
				t.Fatalf("an error of no class: %v", err)
			}
			return
		}
		defer b.Release()
		if boundErr != nil || b.Bytes() > bound || b.Bytes() > tight.MaxBytes || b.Len() > tight.MaxRecords || b.HeaderCount() > tight.MaxHeaders {
			t.Fatalf("%d bytes of %d, %d records, %v", b.Bytes(), bound, b.Len(), boundErr)
		}
		checkMaxTimestamp(t, b)
		want := recordsOf(b)
		if len(want) != b.Len() {
			t.Fatalf("%d records of %d", len(want), b.Len())
		}
		for i := range want { // a writer wants ascending offsets
			want[i].Offset = int64(i)
		}
		g := goldenBatch{Records: want}
		for codec := recordcodec.CodecNone; len(want) > 0 && codec <= recordcodec.CodecZstd; codec++ {
			again, err := d.Decode(g.encode(t, e, codec), recordcodec.Limits{MaxBytes: 2 * tight.MaxBytes, MaxRecords: len(want), MaxHeaders: tight.MaxHeaders})
			if err != nil {
				t.Fatalf("%v: %v", codec, err)
			}
			if got := recordsOf(again); !reflect.DeepEqual(want, got) { // cmp takes its time with many
				t.Fatalf("%v: %s", codec, cmp.Diff(want, got))
			}
			again.Release()
		}
	})
}

// FuzzPayload: the compressed bytes of a batch, in each codec.
func FuzzPayload(f *testing.F) {
	for name, frame := range frames(f) {
		f.Add(uint8(frameCodec(name)), frame[:min(len(frame), 2000)])
	}
	for _, bomb := range bombs(f) {
		if len(bomb.payload) < 1000 {
			f.Add(uint8(bomb.codec), bomb.payload)
		}
	}
	d := recordcodec.NewDecoder()
	f.Fuzz(func(t *testing.T, codec uint8, payload []byte) {
		data := rawBatch(recordcodec.Codec(codec%5), 1, payload)
		bound, boundErr := recordcodec.MaxDecompressed(data)
		b, err := d.Decode(data, tight)
		if err != nil {
			if !isClassified(err) {
				t.Fatalf("an error of no class: %v", err)
			}
			return
		}
		if boundErr != nil || b.Bytes() > min(bound, tight.MaxBytes) {
			t.Fatalf("%d bytes of %d, %v", b.Bytes(), bound, boundErr)
		}
		b.Release()
	})
}

// FuzzMessageSet: any bytes decode or fail with one of our errors, within the limits.
func FuzzMessageSet(f *testing.F) {
	for _, g := range goldenBatches(f) {
		if g.Magic < 2 {
			f.Add([]byte(g.Bytes))
		}
	}
	d := recordcodec.NewDecoder()
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := d.DecodeMessageSet(data, tight)
		if err != nil && !isClassified(err) || len(records) > tight.MaxRecords {
			t.Fatalf("%d records, %v", len(records), err)
		}
	})
}

// FuzzHeaderIter: headers that nobody checked end, sooner or later, and those before are within the bytes.
func FuzzHeaderIter(f *testing.F) {
	f.Add([]byte(recordcodec.AppendHeader(recordcodec.AppendHeader(nil, []byte("name"), []byte("value")), nil, nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		bytes := 0
		for it := recordcodec.RawHeaders(data).Iter(); it.Next(); {
			bytes += 2 + len(it.Name) + len(it.Value)
		}
		if bytes > len(data) {
			t.Fatalf("%d bytes in %d", bytes, len(data))
		}
	})
}
