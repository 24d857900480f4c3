// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/golang/snappy"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// bombLimit is what a bomb may decompress to, and bombSlack what decoding may allocate beside the output: decompressors and their tables.
const (
	bombLimit = 1 << 20
	bombSize  = 16 * bombLimit
	bombSlack = 3 << 20
)

// bombs are payloads that decompress to far more than bombLimit, or say so.
func bombs(tb testing.TB) map[string]struct {
	codec   recordcodec.Codec
	payload []byte
} {
	zeros := make([]byte, bombSize)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(zeros)
	z.Close()
	smallTrailer := slices.Clone(zipped.Bytes())
	binary.LittleEndian.PutUint32(smallTrailer[len(smallTrailer)-4:], 100)

	// Frames by hand, as no writer tells such lies. One RLE block is 4 bytes for 128 KiB.
	zstdHeader := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	zstdBlocks := bytes.Repeat([]byte{0x02, 0x00, 0x10, 'a'}, bombSize>>17)
	zstdEnd := []byte{0x01, 0x00, 0x00}
	zstdSized := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, binary.LittleEndian.AppendUint64(nil, 1<<60)...)
	lz4Sized := append([]byte{0x04, 0x22, 0x4d, 0x18, 0x68, 0x70}, binary.LittleEndian.AppendUint64(nil, 1<<60)...)
	lz4Sized = append(lz4Sized, 0, 5, 0, 0, 0, 0x1f, 'a', 1, 0, 0xff, 0, 0, 0, 0)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(snappy.Encode(nil, zeros[:1<<20]))))
	chunk = append(chunk, snappy.Encode(nil, zeros[:1<<20])...)

	return map[string]struct {
		codec   recordcodec.Codec
		payload []byte
	}{
		"gzip":                       {recordcodec.CodecGzip, zipped.Bytes()},
		"gzip with a modest trailer": {recordcodec.CodecGzip, smallTrailer},
		"snappy":                     {recordcodec.CodecSnappy, snappy.Encode(nil, zeros)},
		"snappy in chunks":           {recordcodec.CodecSnappy, slices.Concat(xerial(nil)[:16], bytes.Repeat(chunk, bombSize>>20))},
		"snappy that claims 4 GiB":   {recordcodec.CodecSnappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'a'}},
		"lz4":                        {recordcodec.CodecLZ4, encodeZeros(tb, recordcodec.CodecLZ4)},
		"lz4 that claims 2^60 bytes": {recordcodec.CodecLZ4, lz4Sized},
		"zstd":                       {recordcodec.CodecZstd, encodeZeros(tb, recordcodec.CodecZstd)},
		"zstd without content size":  {recordcodec.CodecZstd, slices.Concat(zstdHeader, zstdBlocks, zstdEnd)},
		"zstd in many frames":        {recordcodec.CodecZstd, bytes.Repeat(slices.Concat(zstdHeader, zstdBlocks[:4], zstdEnd), bombSize>>17)},
		"zstd that claims 2^60":      {recordcodec.CodecZstd, slices.Concat(zstdSized, zstdBlocks, zstdEnd)},
		"zstd that claims and lacks": {recordcodec.CodecZstd, slices.Concat(zstdSized, zstdBlocks[:4], zstdEnd)},
	}
}

// encodeZeros is the payload of a batch with one value of bombSize zeros.
func encodeZeros(tb testing.TB, codec recordcodec.Codec) []byte {
	tb.Helper()
	w := recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{Codec: codec})
	w.Begin(&recordcodec.RecordHead{Value: make([]byte, bombSize)})
	b, err := w.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	return b[recordcodec.HeaderSize:]
}

func TestBombs(t *testing.T) {
	for name, bomb := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			batch := rawBatch(bomb.codec, 1, bomb.payload)
			d := recordcodec.NewDecoder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := d.Decode(batch, recordcodec.Limits{MaxBytes: bombLimit, MaxRecords: 1})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, recordcodec.ErrTooLarge) && !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Error(err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 3*bombLimit+bombSlack {
				t.Errorf("%d bytes were allocated for a limit of %d", allocated, bombLimit)
			}
		})
	}
}

// A small payload must not claim even the limit: only as much as it could hold.
func TestModestAllocation(t *testing.T) {
	for name, bomb := range bombs(t) {
		if len(bomb.payload) > 100 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bound, err := recordcodec.MaxDecompressed(rawBatch(bomb.codec, 1, bomb.payload))
			if bound > 256<<10 || err != nil && !errors.Is(err, recordcodec.ErrCorrupt) {
				t.Errorf("%d bytes for %d, %v", bound, len(bomb.payload), err)
			}
		})
	}
}
