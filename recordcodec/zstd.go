// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"errors"
	"math"

	"github.com/klauspost/compress/zstd"
)

// A zstd frame is a header, then blocks until one says that it is the last, then a checksum if the header says so (RFC 8878).
// A block's header, u24 little-endian: bit 0 last, bits 1-2 type, bits 3-23 size.
const (
	zstdBlockHeader = 3
	zstdBlockMax    = 128 << 10 // most that one block can hold, decompressed
	zstdChecksum    = 4

	// zstdSlack is room past the output, with which the decoder can copy in whole words.
	zstdSlack = 32
)

// Types of block.
const (
	zstdRaw = iota
	zstdRLE // one byte, repeated size times
	zstdCompressed
)

var (
	errZstdCut   = errors.New("frame cut short")
	errZstdBlock = errors.New("bad block")
)

// zstdBound adds up the most that each block can hold, or takes the content size where that is declared and less: Java's frames have
// none.
func zstdBound(src []byte) (int, error) {
	total := 0
	for len(src) > 0 {
		size, rest, err := zstdFrameBound(src)
		if err != nil {
			return 0, errCompressed(CodecZstd, err)
		}
		total = min(total+size, math.MaxInt32)
		src = rest
	}
	return total, nil
}

func zstdFrameBound(src []byte) (size int, rest []byte, err error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return 0, nil, err
	}
	src = src[h.HeaderSize:]
	if h.Skippable {
		if uint64(h.SkippableSize) > uint64(len(src)) {
			return 0, nil, errZstdCut
		}
		return 0, src[h.SkippableSize:], nil
	}
	for last := false; !last; {
		if len(src) < zstdBlockHeader {
			return 0, nil, errZstdCut
		}
		header := int(src[0]) | int(src[1])<<8 | int(src[2])<<16
		src = src[zstdBlockHeader:]
		last = header&1 != 0
		length := header >> 3
		if length > zstdBlockMax {
			return 0, nil, errZstdBlock
		}
		switch header >> 1 & 3 {
		case zstdRaw:
			size += length
		case zstdRLE:
			size += length
			length = 1
		case zstdCompressed:
			size += zstdBlockMax
		default:
			return 0, nil, errZstdBlock
		}
		if length > len(src) {
			return 0, nil, errZstdCut
		}
		src = src[length:]
	}
	if h.HasFCS {
		size = int(min(uint64(size), h.FrameContentSize))
	}
	if h.HasCheckSum {
		if len(src) < zstdChecksum {
			return 0, nil, errZstdCut
		}
		src = src[zstdChecksum:]
	}
	return size, src, nil
}

func newZstdDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
}

// unzstd decompresses src into buf and returns the length; it fails if there are more than size bytes.
func (d *Decoder) unzstd(buf *buffer, src []byte, size int) (int, error) {
	z, err := d.zstd()
	if err != nil {
		return 0, err
	}
	out, err := z.DecodeAll(src, buf.b[:0:min(cap(buf.b), size+zstdSlack)])
	switch {
	case err != nil:
		return 0, err
	case len(out) > size:
		return 0, errShortOutput
	case len(out) > 0 && &out[0] != &buf.b[:1][0]:
		buf.b = out // the decoder chose to move
	}
	return len(out), nil
}

func newZstdEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(0), zstd.WithLowerEncoderMem(true))
}

// zstd appends src to dst as one frame.
func (e *Encoder) zstd(dst, src []byte) ([]byte, error) {
	z, err := e.newZstd()
	if err != nil {
		return dst, errCompressed(CodecZstd, err)
	}
	return z.EncodeAll(src, dst), nil
}
