// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"math"
)

// What decoding allocates besides the bytes that it copies, in bytes.
const (
	requestCost = 512 // the request itself
	stringCost  = 16  // a string's header where it is nullable
	tagCost     = 384 // the map that kmsg makes for an element with an unknown tagged field
)

// rounded bounds what Go's allocator gives out for n bytes. Its size classes are multiples of 16 at first (below that
// several share a block, or not, as they come), then less than a fifth apart; from 32 KiB on it gives pages of 8 KiB.
func rounded(n int64) int64 {
	const block, fineClasses, largestClass, page = 16, 256, 32<<10 - 8, 8 << 10
	switch {
	case n <= fineClasses:
		return (n + block - 1) &^ (block - 1)
	case n <= largestClass:
		return n + n/5
	default:
		return n + page
	}
}

// cursor reads a request front to back, keeps count of what it will cost to decode, and is stuck at the first
// fault: err is set, rest is empty, and everything read from then on is zero.
type cursor struct {
	rest []byte
	err  error

	elements int  // array elements that may still come
	scalars  bool // arrays of scalars count as elements too
	tagsLeft int  // tagged fields that may still come
	cost     int64
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

// take returns the next n bytes, which alias the frame, or nil.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.fail(ErrMalformed)
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) uint8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// uvarint reads an unsigned varint of at most 5 bytes whose value fits an int32: no length or tag is larger, and
// kmsg would take a larger one for a negative length.
func (c *cursor) uvarint() int {
	v, n := binary.Uvarint(c.rest[:min(len(c.rest), binary.MaxVarintLen32)])
	if n <= 0 || v > math.MaxInt32 {
		c.fail(ErrMalformed)
		return 0
	}
	c.rest = c.rest[n:]
	return int(v)
}

// string reads a string with an int16 length; nil if it is null.
func (c *cursor) string() []byte {
	n := int(int16(c.uint16()))
	if n < 0 || c.err != nil {
		return nil
	}
	return c.chars(n)
}

// chars takes a string's n bytes, which decoding copies.
func (c *cursor) chars(n int) []byte {
	c.cost += stringCost + rounded(int64(n))
	return c.take(n)
}

// tags skips tagged fields, known and unknown ones; nested says which of them have tagged fields inside.
func (c *cursor) tags(nested map[int][]field) {
	n := c.uvarint()
	if n > c.tagsLeft {
		c.fail(ErrOverBudget)
		return
	}
	c.tagsLeft -= n
	for range n {
		tag := c.uvarint()
		value := c.take(c.uvarint())
		c.cost += tagCost + rounded(int64(len(value))) // a known one may be a string
		if fields := nested[tag]; fields != nil {
			c.inside(value, fields)
		}
	}
}

// inside walks over a value that must end with its last field.
func (c *cursor) inside(value []byte, fields []field) {
	rest := c.rest
	c.rest = value
	c.walk(fields)
	if len(c.rest) > 0 {
		c.fail(ErrMalformed)
	}
	if c.err == nil {
		c.rest = rest
	}
}

// walk follows the layout over the bytes.
func (c *cursor) walk(fields []field) {
	for i := range fields {
		if c.err != nil {
			return
		}
		f := &fields[i]
		switch f.kind {
		case fixed:
			c.take(f.width)
		case str:
			c.string()
		case bytes:
			if n := int(int32(c.uint32())); n > 0 {
				c.take(n)
			}
		case compact:
			if n := c.uvarint(); n > 0 {
				c.chars(n - 1)
			}
		case compactBytes:
			if n := c.uvarint(); n > 0 {
				c.take(n - 1)
			}
		case array:
			c.array(f, int(int32(c.uint32())))
		case compactArray:
			c.array(f, c.uvarint()-1)
		case tagged:
			c.tags(f.nested)
		case nullableGroup:
			if int8(c.uint8()) >= 0 {
				c.walk(f.fields)
			}
		}
	}
}

// array follows n elements; negative n is a null array. n is bounded before the loop: each element takes at least
// a byte.
func (c *cursor) array(f *field, n int) {
	if n <= 0 {
		return
	}
	if n > len(c.rest) {
		c.fail(ErrMalformed)
		return
	}
	if c.scalars || !f.scalar {
		if n > c.elements {
			c.fail(ErrOverBudget)
			return
		}
		c.elements -= n
	}
	c.cost += rounded(int64(n) * f.elemSize)
	if f.scalar {
		c.take(n * f.fields[0].width)
		return
	}
	for range n {
		c.walk(f.fields)
		if c.err != nil {
			return
		}
	}
}
