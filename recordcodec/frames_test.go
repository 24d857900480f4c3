// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// frameRecords is how many records testdata/frames/records holds: enough for two LZ4 blocks of 64 KiB.
const frameRecords = 1500

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "frames", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Frames that other programs make of the same records: see testdata/frames/README.md.
func frames(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/frames/*.*")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if name = filepath.Base(name); name != "README.md" {
			all[name] = readFile(tb, name)
		}
	}
	plain := readFile(tb, "records")
	all["raw.snappy"] = snappy.Encode(nil, plain)
	all["two streams.snappy"] = slices.Concat(xerial(plain[:10_000]), xerial(plain[10_000:]))
	return all
}

// xerial frames src in one chunk.
func xerial(src []byte) []byte {
	block := snappy.Encode(nil, src)
	b := append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), be.AppendUint32(nil, uint32(len(block)))...)
	return append(b, block...)
}

func frameCodec(name string) recordcodec.Codec {
	return map[string]recordcodec.Codec{
		".gz": recordcodec.CodecGzip, ".snappy": recordcodec.CodecSnappy, ".lz4": recordcodec.CodecLZ4, ".zst": recordcodec.CodecZstd,
	}[filepath.Ext(name)]
}

func TestForeignFrames(t *testing.T) {
	d := recordcodec.NewDecoder()
	want, err := d.Decode(rawBatch(recordcodec.CodecNone, frameRecords, readFile(t, "records")), wide)
	if err != nil {
		t.Fatal(err)
	}
	wantRecords := recordsOf(want)
	exact := recordcodec.Limits{MaxBytes: want.Bytes(), MaxRecords: frameRecords}
	for name, frame := range frames(t) {
		t.Run(name, func(t *testing.T) {
			batch := rawBatch(frameCodec(name), frameRecords, frame)
			b, err := d.Decode(batch, exact)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			if got := recordsOf(b); !reflect.DeepEqual(wantRecords, got) { // cmp takes its time with so many
				t.Error(cmp.Diff(wantRecords, got))
			}
			bound, err := recordcodec.MaxDecompressed(batch)
			if err != nil || bound < b.Bytes() {
				t.Errorf("MaxDecompressed is %d, %v", bound, err)
			}
			if slack := bound - b.Bytes(); slack > 256<<10 && !strings.HasSuffix(name, ".gz") && !strings.Contains(name, "4 MiB") {
				t.Errorf("MaxDecompressed is %d bytes too much", slack)
			}
			exact := exact
			exact.MaxBytes--
			if _, err := d.Decode(batch, exact); !errors.Is(err, recordcodec.ErrTooLarge) {
				t.Errorf("with a byte less: %v", err)
			}
		})
	}
}

// A frame that is cut, or has one byte more, or a wrong checksum inside, fails; so does one whose declared content size is wrong.
func TestDamagedFrames(t *testing.T) {
	d := recordcodec.NewDecoder()
	for name, frame := range frames(t) {
		t.Run(name, func(t *testing.T) {
			codec := frameCodec(name)
			for n := 1; n < len(frame); n += 1 + len(frame)/29 {
				if b, err := d.Decode(rawBatch(codec, frameRecords, frame[:n]), wide); err == nil {
					t.Errorf("cut to %d bytes: %d records", n, b.Len())
				}
			}
			if _, err := d.Decode(rawBatch(codec, frameRecords, append(slices.Clone(frame), 1)), wide); !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Errorf("with a byte more: %v", err)
			}
		})
	}
}

func TestLZ4Checksums(t *testing.T) {
	d := recordcodec.NewDecoder()
	frame := readFile(t, "linked, every checksum.lz4")
	for _, at := range []int{7 + 8, 7 + 8 + 4 + 100, len(frame) - 1} {
		damaged := slices.Clone(frame)
		damaged[at] ^= 1
		if _, err := d.Decode(rawBatch(recordcodec.CodecLZ4, frameRecords, damaged), wide); !errors.Is(err, recordcodec.ErrCorrupt) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// With a wrong header checksum, as clients before KAFKA-3160 write it, the frame is read all the same.
func TestLZ4HeaderChecksum(t *testing.T) {
	frame := readFile(t, "independent.lz4")
	frame[6] ^= 0xff
	if err := decode(rawBatch(recordcodec.CodecLZ4, frameRecords, frame), wide); err != nil {
		t.Error(err)
	}
}
