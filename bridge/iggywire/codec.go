// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxNameLength is the longest name, user name or partitioning key in bytes.
const MaxNameLength = math.MaxUint8

// ValidName tells whether s can name a stream, topic, group or user: 1 to 255
// bytes of UTF-8. Iggy tells names apart by their bytes, case included.
func ValidName(s string) bool {
	return len(s) >= 1 && len(s) <= MaxNameLength && utf8.ValidString(s)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendString8 appends a length byte and s; see the package comment for what
// happens to a string over 255 bytes.
func appendString8[T string | []byte](dst []byte, s T) []byte {
	if len(s) > math.MaxUint8 {
		s = s[:0]
	}
	return append(append(dst, byte(len(s))), s...)
}

func appendString32(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// reader takes fields off the front of a body. The first field that does not
// fit sets err; every later read then yields zero values, so that a Parse
// function reads straight through and asks once, at the end.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.fail(ErrMalformed)
		return nil
	}
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) f32() float32 { return math.Float32frombits(r.u32()) }

// bool reads a flag: as in Iggy anything but 0 is true.
func (r *reader) bool() bool { return r.u8() != 0 }

func (r *reader) text(n int) string {
	b := r.take(n)
	if !utf8.Valid(b) {
		r.fail(ErrMalformed)
		return ""
	}
	return string(b)
}

func (r *reader) string8() string { return r.text(int(r.u8())) }

// string32 compares the announced length with what is left before it is an int:
// a 32-bit platform must not see it negative.
func (r *reader) string32() string {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)) {
		r.fail(ErrMalformed)
		return ""
	}
	return r.text(int(n))
}

// name reads a [ValidName] behind a length byte.
func (r *reader) name() string {
	s := r.string8()
	if s == "" {
		r.fail(ErrInvalidName)
	}
	return s
}

// more tells whether another element of a list that ends with the body follows.
func (r *reader) more() bool { return r.err == nil && len(r.b) > 0 }

// end ends the reading of the request called what. Bytes left over are ignored,
// as the real server does.
func (r *reader) end(what string) error {
	if r.err != nil {
		return fmt.Errorf("iggywire: %s: %w", what, r.err)
	}
	return nil
}

// done ends the reading of the answer called what, which must use up the body.
func (r *reader) done(what string) error {
	if len(r.b) > 0 {
		r.fail(ErrMalformed)
	}
	return r.end(what)
}

// parseList reads elements until the body ends.
func parseList[T any](b []byte, what string, read func(*reader) T) ([]T, error) {
	r := &reader{b: b}
	var list []T
	for r.more() {
		list = append(list, read(r))
	}
	if err := r.done(what); err != nil {
		return nil, err
	}
	return list, nil
}
