// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"encoding/binary"
	"math"
	"time"
)

// FORMAT.md describes these forms. Each value has one form only: what decodes encodes to the same bytes.

func appendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendStrings(dst []byte, list []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, s := range list {
		dst = appendString(dst, s)
	}
	return dst
}

// appendTime appends the nanoseconds within the second plus one, and the seconds since 1970; 0 alone is the zero time. The
// two together hold times that one number of nanoseconds does not: a retention that a client asks for may end after 2262.
func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(t.Nanosecond())+1)
	return binary.AppendVarint(dst, t.Unix())
}

// decoder takes values off the front of a record. After the first that is not there, or is not in its one form, it is bad
// and returns zeros.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) fail() {
	d.rest, d.bad = "", true
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		b := d.rest[i]
		if b < 0x80 {
			if i == binary.MaxVarintLen64-1 && b > 1 || i > 0 && b == 0 {
				break // too large, or longer than it need be
			}
			d.rest = d.rest[i+1:]
			return v | uint64(b)<<(7*i)
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	d.fail()
	return 0
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) int32() int32 {
	v := d.varint()
	if v != int64(int32(v)) {
		d.fail()
		return 0
	}
	return int32(v)
}

func (d *decoder) string() string {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

// bytes copies; nil stands for nothing.
func (d *decoder) bytes() []byte {
	s := d.string()
	if s == "" {
		return nil
	}
	return []byte(s)
}

// count takes the number of things that follow, each at least size bytes long: more than there can be are refused before
// anybody makes room for them.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	list := make([]string, d.count(1))
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) time() time.Time {
	n := d.uvarint()
	if n == 0 {
		return time.Time{}
	}
	t := time.Unix(d.varint(), int64((n-1)&math.MaxUint32))
	if n > 1e9 || t.IsZero() {
		d.fail()
		return time.Time{}
	}
	return t
}

func (d *decoder) duration() time.Duration { return time.Duration(d.varint()) }
