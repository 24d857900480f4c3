// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

// RawHeaders are the headers of one record as a batch holds them, one after another, without their count:
//
//	varint name length | name | varint value length, -1 for null | value
//
// Iterate with Iter; build with AppendHeader. Names repeat and keep their order.
type RawHeaders []byte

// AppendHeader appends a header to h; a nil value is null.
func AppendHeader(h RawHeaders, name, value []byte) RawHeaders {
	h = append(appendVarint(h, int64(len(name))), name...)
	return appendField(h, value)
}

// HeaderLen is the number of bytes that AppendHeader appends.
func HeaderLen(name, value []byte) int {
	return varintLen(int64(len(name))) + len(name) + fieldLen(value)
}

// Iter iterates over h without allocating:
//
//	for it := h.Iter(); it.Next(); {
//		use(it.Name, it.Value)
//	}
func (h RawHeaders) Iter() *HeaderIter { return &HeaderIter{rest: h} }

// HeaderIter is at one header of a record.
type HeaderIter struct {
	Name  []byte
	Value []byte // nil is null

	rest []byte
}

// Next moves to the next header, or reports that there is none. Headers that Decode did not check may end early at a header that
// does not parse.
func (it *HeaderIter) Next() bool { return len(it.rest) > 0 && it.next() }

// next is apart so that Next is inlined: most records have no headers.
func (it *HeaderIter) next() bool {
	name, i := readField(it.rest, 0)
	value, i := readField(it.rest, i)
	if i < 0 || name == nil {
		it.rest = nil
		return false
	}
	it.Name, it.Value, it.rest = name, value, it.rest[i:]
	return true
}
