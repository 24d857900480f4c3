// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/golang/snappy"
)

// Java clients wrap snappy in the framing of the snappy-java library ("xerial"), others send one raw block:
//
//	82 'SNAPPY' 00 | u32 version | u32 lowest compatible version | chunks of: u32 length, a snappy block   (big-endian)
const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeaderSize = len(xerialMagic) + 8
	xerialVersions   = "\x00\x00\x00\x01\x00\x00\x00\x01"
	xerialChunk      = 32 << 10 // what Kafka's own SnappyCompression writes

	// maxSnappyRatio is above the most that snappy can shrink: 64 bytes in a copy of three.
	maxSnappyRatio = 22
)

var (
	errXerialCut   = errors.New("chunk cut short")
	errSnappyRatio = errors.New("declares more than its bytes can hold")
)

func isXerial(src []byte) bool {
	return len(src) >= xerialHeaderSize && string(src[:len(xerialMagic)]) == xerialMagic
}

// snappyBlocks calls f for each snappy block of src.
func snappyBlocks(src []byte, f func(block []byte) error) error {
	if !isXerial(src) {
		return f(src)
	}
	for len(src) > 0 {
		// snappy-java reads streams that were put one after another, each with its header.
		if isXerial(src) {
			src = src[xerialHeaderSize:]
			continue
		}
		if len(src) < 4 {
			return errXerialCut
		}
		n := binary.BigEndian.Uint32(src)
		if uint64(n) > uint64(len(src)-4) {
			return errXerialCut
		}
		if err := f(src[4 : 4+n]); err != nil {
			return err
		}
		src = src[4+n:]
	}
	return nil
}

// snappyBound adds up what the blocks declare, which is what they decompress to if they are sound.
func snappyBound(src []byte) (int, error) {
	total := 0
	err := snappyBlocks(src, func(block []byte) error {
		n, err := snappy.DecodedLen(block)
		if err != nil {
			return err
		}
		if n > maxSnappyRatio*len(block) {
			return errSnappyRatio
		}
		total += n
		return nil
	})
	if err != nil {
		return 0, errCompressed(CodecSnappy, err)
	}
	return min(total, math.MaxInt32), nil
}

// unsnappy decompresses src into dst and returns the length; it fails if dst is too short.
func unsnappy(dst, src []byte) (n int, err error) {
	err = snappyBlocks(src, func(block []byte) error {
		size, err := snappy.DecodedLen(block)
		if err != nil {
			return err
		}
		if size > len(dst)-n {
			return errShortOutput
		}
		if _, err := snappy.Decode(dst[n:n+size], block); err != nil {
			return err
		}
		n += size
		return nil
	})
	return n, err
}

// snappyFramed appends src to dst as Java writes it.
func snappyFramed(dst, src []byte) []byte {
	dst = append(append(dst, xerialMagic...), xerialVersions...)
	for len(src) > 0 {
		chunk := src[:min(len(src), xerialChunk)]
		src = src[len(chunk):]
		start := len(dst) + 4
		dst = extend(dst, 4+snappy.MaxEncodedLen(len(chunk)))
		n := len(snappy.Encode(dst[start:], chunk))
		binary.BigEndian.PutUint32(dst[start-4:], uint32(n))
		dst = dst[:start+n]
	}
	return dst
}
