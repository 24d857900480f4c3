// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"math"
	"math/bits"
)

// Records store their numbers as zigzag varints: 7 bits a byte, the low ones first, a set top bit says that more follow.
//
// The readers below take a position and return the next one, or -1 when the number is cut short or too long; given -1 they return
// -1, so that a record is read straight through and checked once. Like Kafka's ByteUtils they ignore bits that do not fit.
const (
	maxVarintLen32 = 5
	maxVarintLen64 = 10
)

// nowhere is a position that no bytes reach, and that stays one when the length of a short field is added.
const nowhere uint = math.MaxInt

// shortVarint reads a number of at most two bytes and leaves its sign in bit 0: all lengths up to 8191 are such. The next position
// after any other is nowhere. It is small enough to be inlined.
func shortVarint(b []byte, i uint) (u, next uint) {
	if i < uint(len(b)) {
		low := uint(b[i])
		i++
		if low < 0x80 {
			return low, i
		}
		if i < uint(len(b)) && b[i] < 0x80 {
			return low&0x7f | uint(b[i])<<7, i + 1
		}
	}
	return 0, nowhere
}

func unzigzag(u uint) int64 { return int64(u>>1) ^ -int64(u&1) }

// isNull says whether a length, its sign in bit 0, stands for null.
func isNull(length uint) bool { return length&1 != 0 }

// fieldSize is the number of bytes of a field of that length.
func fieldSize(length uint) uint {
	if isNull(length) {
		return 0
	}
	return length >> 1
}

// fieldAt is the field of that length, which b holds whole.
func fieldAt(b []byte, start, length uint) []byte {
	if isNull(length) {
		return nil
	}
	end := start + length>>1
	return b[start:end:end]
}

func readVarint32(b []byte, i int) (v int32, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int32(b[i]>>1) ^ -int32(b[i]&1), i + 1
	}
	u, next := readUvarint(b, i, maxVarintLen32)
	return int32(uint32(u)>>1) ^ -int32(u&1), next
}

func readVarint64(b []byte, i int) (v int64, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	u, next := readUvarint(b, i, maxVarintLen64)
	return int64(u>>1) ^ -int64(u&1), next
}

func readUvarint(b []byte, i, maxLen int) (u uint64, next int) {
	if uint(i) > uint(len(b)) {
		return 0, -1
	}
	shift := uint(0)
	for n, c := range b[i:min(len(b), i+maxLen)] {
		u |= uint64(c&0x7f) << (shift & 63)
		if c < 0x80 {
			return u, i + n + 1
		}
		shift += 7
	}
	return 0, -1
}

// readField reads a length and as many bytes: nil for a negative length, which is null.
func readField(b []byte, i int) (field []byte, next int) {
	n, i := readVarint32(b, i)
	if i < 0 || n < 0 {
		return nil, i
	}
	if int(n) > len(b)-i {
		return nil, -1
	}
	end := i + int(n)
	return b[i:end:end], end
}

func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// appendField is the inverse of readField; a nil field is null.
func appendField(dst, field []byte) []byte {
	if field == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int64(len(field))), field...)
}

func varintLen(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

func fieldLen(field []byte) int {
	if field == nil {
		return 1
	}
	return varintLen(int64(len(field))) + len(field)
}
