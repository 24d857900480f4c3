// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame (numbers little-endian); a batch holds one, readers take several in a row:
//
//	u32 magic | u8 flags | u8 block maximum | [u64 content size] | u8 header checksum
//	blocks: u32 length, top bit set if stored as it is | data | [u32 xxHash-32 of the data]
//	u32 0 | [u32 xxHash-32 of the content]
//
// Frames are read here rather than through a reader of streams: the blocks decompress straight into the output, where the bytes
// before a block are also the window that a linked block refers to, and nothing is allocated.
const (
	lz4Magic = 0x184D2204

	lz4VersionMask     = 0xC0
	lz4Version         = 0x40
	lz4Independent     = 0x20
	lz4BlockChecksum   = 0x10
	lz4HasContentSize  = 0x08
	lz4ContentChecksum = 0x04
	lz4Dictionary      = 0x01 // Kafka has no dictionaries

	lz4Stored   = 1 << 31
	lz4Window   = 64 << 10
	lz4MaxRatio = 255 // a byte of a match length stands for as many bytes

	// The frames that we write: independent blocks of at most 64 KiB, no checksums (the batch has its CRC), no content size,
	// as Kafka's Lz4BlockOutputStream.
	lz4FrameHeader = "\x04\x22\x4d\x18\x60\x40\x82"
	lz4Block       = 64 << 10
)

var (
	errLZ4Header   = errors.New("bad frame header")
	errLZ4Cut      = errors.New("frame cut short")
	errLZ4Block    = errors.New("block larger than the frame allows")
	errLZ4Checksum = errors.New("wrong checksum")
	errLZ4Size     = errors.New("content size is not the content's")
)

// lz4Frame is the header of a frame.
type lz4Frame struct {
	flags       byte
	blockMax    int
	contentSize uint64 // if flags says so
}

// parseLZ4Frame reads the frame header at the start of src. The header checksum is not checked: the batch's CRC covers it, and old
// Kafka clients wrote a wrong one in message sets of format 0 (KAFKA-3160).
func parseLZ4Frame(src []byte) (f lz4Frame, rest []byte, err error) {
	if len(src) < len(lz4FrameHeader) || binary.LittleEndian.Uint32(src) != lz4Magic {
		return f, nil, errLZ4Header
	}
	f.flags = src[4]
	sizeCode := src[5] >> 4 & 7
	if f.flags&lz4VersionMask != lz4Version || f.flags&lz4Dictionary != 0 || sizeCode < 4 {
		return f, nil, errLZ4Header
	}
	f.blockMax = 1 << (8 + 2*sizeCode)
	src = src[6:]
	if f.flags&lz4HasContentSize != 0 {
		if len(src) < 9 {
			return f, nil, errLZ4Cut
		}
		f.contentSize = binary.LittleEndian.Uint64(src)
		src = src[8:]
	}
	return f, src[1:], nil
}

// nextBlock takes the next block off src; its data is nil at the end mark.
func (f *lz4Frame) nextBlock(src []byte) (data []byte, stored bool, rest []byte, err error) {
	if len(src) < 4 {
		return nil, false, nil, errLZ4Cut
	}
	length := binary.LittleEndian.Uint32(src)
	src = src[4:]
	if length == 0 {
		return nil, false, src, nil
	}
	n := int(length &^ lz4Stored)
	if n > f.blockMax {
		return nil, false, nil, errLZ4Block
	}
	if n > len(src) {
		return nil, false, nil, errLZ4Cut
	}
	data, rest = src[:n:n], src[n:]
	if f.flags&lz4BlockChecksum != 0 {
		if rest, err = checkXXH32(rest, data); err != nil {
			return nil, false, nil, err
		}
	}
	return data, length&lz4Stored != 0, rest, nil
}

// checkXXH32 takes the checksum of data off src.
func checkXXH32(src, data []byte) (rest []byte, err error) {
	if len(src) < 4 {
		return nil, errLZ4Cut
	}
	if binary.LittleEndian.Uint32(src) != xxh32(data) {
		return nil, errLZ4Checksum
	}
	return src[4:], nil
}

// lz4Bound adds up the most that each block can hold, or takes the content size where that is declared and less.
func lz4Bound(src []byte) (int, error) {
	total := 0
	for len(src) > 0 {
		f, rest, err := parseLZ4Frame(src)
		if err != nil {
			return 0, errCompressed(CodecLZ4, err)
		}
		frame := 0
		for {
			var data []byte
			var stored bool
			data, stored, rest, err = f.nextBlock(rest)
			if err != nil {
				return 0, errCompressed(CodecLZ4, err)
			}
			if data == nil {
				break
			}
			if stored {
				frame += len(data)
			} else {
				frame += min(f.blockMax, len(data)*lz4MaxRatio)
			}
		}
		if f.flags&lz4HasContentSize != 0 {
			frame = int(min(uint64(frame), f.contentSize))
		}
		if f.flags&lz4ContentChecksum != 0 {
			if len(rest) < 4 {
				return 0, errCompressed(CodecLZ4, errLZ4Cut)
			}
			rest = rest[4:]
		}
		total = min(total+frame, math.MaxInt32)
		src = rest
	}
	return total, nil
}

// unlz4 decompresses src into dst and returns the length; it fails if dst is too short.
func unlz4(dst, src []byte) (int, error) {
	n := 0
	for len(src) > 0 {
		f, rest, err := parseLZ4Frame(src)
		if err != nil {
			return n, err
		}
		size, rest, err := f.decompress(dst, n, rest)
		if err != nil {
			return n, err
		}
		n += size
		src = rest
	}
	return n, nil
}

// decompress decompresses the blocks of one frame to dst[start:].
func (f *lz4Frame) decompress(dst []byte, start int, src []byte) (size int, rest []byte, err error) {
	end := start
	for {
		var data []byte
		var stored bool
		data, stored, src, err = f.nextBlock(src)
		if err != nil {
			return 0, nil, err
		}
		if data == nil {
			break
		}
		room := dst[end:min(len(dst), end+f.blockMax)]
		var n int
		switch {
		case stored && len(data) > len(room):
			err = errShortOutput
		case stored:
			n = copy(room, data)
		case f.flags&lz4Independent != 0:
			n, err = lz4.UncompressBlock(data, room)
		default:
			n, err = lz4.UncompressBlockWithDict(data, room, dst[max(start, end-lz4Window):end])
		}
		if err != nil {
			return 0, nil, err
		}
		end += n
	}
	content := dst[start:end]
	if f.flags&lz4HasContentSize != 0 && f.contentSize != uint64(len(content)) {
		return 0, nil, errLZ4Size
	}
	if f.flags&lz4ContentChecksum != 0 {
		if src, err = checkXXH32(src, content); err != nil {
			return 0, nil, err
		}
	}
	return len(content), src, nil
}

// lz4 appends src to dst as one frame.
func (e *Encoder) lz4(dst, src []byte) ([]byte, error) {
	c := e.lz4s.Get().(*lz4.Compressor)
	defer e.lz4s.Put(c)
	dst = append(dst, lz4FrameHeader...)
	for len(src) > 0 {
		block := src[:min(len(src), lz4Block)]
		src = src[len(block):]
		start := len(dst) + 4
		dst = extend(dst, 4+lz4.CompressBlockBound(len(block)))
		n, err := c.CompressBlock(block, dst[start:])
		if err != nil {
			return dst, errCompressed(CodecLZ4, err)
		}
		length := uint32(n)
		if n == 0 || n >= len(block) {
			n = copy(dst[start:], block)
			length = uint32(n) | lz4Stored
		}
		binary.LittleEndian.PutUint32(dst[start-4:], length)
		dst = dst[:start+n]
	}
	return append(dst, 0, 0, 0, 0), nil
}
