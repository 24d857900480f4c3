// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// encode makes a body that follows a layout: every array holds elements elements, every string and bytes one byte,
// every place for tagged fields tags unknown ones.
func encode(dst []byte, fields []field, elements, tags int) []byte {
	for _, f := range fields {
		switch f.kind {
		case fixed:
			dst = append(dst, make([]byte, f.width)...)
		case str:
			dst = append(dst, 0, 1, 'x')
		case bytes:
			dst = append(dst, 0, 0, 0, 1, 'x')
		case compact, compactBytes:
			dst = append(dst, 2, 'x')
		case array, compactArray:
			if f.kind == array {
				dst = binary.BigEndian.AppendUint32(dst, uint32(elements))
			} else {
				dst = binary.AppendUvarint(dst, uint64(elements)+1)
			}
			for range elements {
				dst = encode(dst, f.fields, elements, tags)
			}
		case tagged:
			dst = binary.AppendUvarint(dst, uint64(tags))
			for i := range tags {
				dst = binary.AppendUvarint(dst, uint64(1000+i))
				dst = append(dst, 2, 'h', 'i')
			}
		case nullableGroup:
			dst = encode(append(dst, 1), f.fields, elements, tags)
		}
	}
	return dst
}

// header encodes a request header with no client id and no tagged fields.
func header(key, version int16, lay *compiled) []byte {
	dst := binary.BigEndian.AppendUint16(nil, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = append(dst, 0, 0, 0, 7, 0xff, 0xff)
	if lay.header == 2 {
		dst = append(dst, 0)
	}
	return dst
}

// eachLayout runs a test for every API and version of the whole table.
func eachLayout(t *testing.T, test func(t *testing.T, table *Table, r *row, version int16, lay *compiled)) {
	t.Helper()
	table := NewTable(ServeAll())
	for i := range table.rows {
		r := &table.rows[i]
		for v := r.Min; v <= r.Max; v++ {
			t.Run(fmt.Sprintf("%s_v%d", r.Name, v), func(t *testing.T) {
				test(t, table, r, v, r.layouts[v-r.Min])
			})
		}
	}
}

func count(fields []field, kind fieldKind) (n int) {
	for _, f := range fields {
		if f.kind == kind {
			n++
		}
		n += count(f.fields, kind)
	}
	return n
}

// shape is a request made to be dear: one of its arrays holds many elements, the others few.
type shape struct {
	many     *field
	n        int // elements of many
	others   int // elements of arrays that are neither many nor around it
	text     int // bytes of each string
	data     int // bytes of each field of bytes
	elements int // out: elements that count
}

func (s *shape) encode(dst []byte, fields []field) []byte {
	for i := range fields {
		switch f := &fields[i]; f.kind {
		case fixed:
			dst = append(dst, make([]byte, f.width)...)
		case str:
			dst = binary.BigEndian.AppendUint16(dst, uint16(s.text))
			dst = append(dst, make([]byte, s.text)...)
		case bytes:
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.data))
			dst = append(dst, make([]byte, s.data)...)
		case compact:
			dst = binary.AppendUvarint(dst, uint64(s.text+1))
			dst = append(dst, make([]byte, s.text)...)
		case compactBytes:
			dst = binary.AppendUvarint(dst, uint64(s.data+1))
			dst = append(dst, make([]byte, s.data)...)
		case array, compactArray:
			n := s.others
			if f == s.many {
				n = s.n
			} else if n == 0 && slices.Contains(arrays(f.fields), s.many) {
				n = 1
			}
			if f.kind == array {
				dst = binary.BigEndian.AppendUint32(dst, uint32(n))
			} else {
				dst = binary.AppendUvarint(dst, uint64(n)+1)
			}
			if !f.scalar {
				s.elements += n
			}
			for range n {
				dst = s.encode(dst, f.fields)
			}
		case tagged:
			dst = append(dst, 0)
		case nullableGroup:
			dst = s.encode(append(dst, 1), f.fields)
		}
	}
	return dst
}

// arrays lists all arrays of a layout.
func arrays(fields []field) (out []*field) {
	for i := range fields {
		if f := &fields[i]; f.kind == array || f.kind == compactArray {
			out = append(out, f)
		}
		out = append(out, arrays(fields[i].fields)...)
	}
	return out
}
