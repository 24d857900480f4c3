// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"strconv"
)

const (
	identifierNumeric = 1
	identifierNamed   = 2
)

// Identifier names a stream, topic, group, consumer or user by number or by
// name. It is comparable; the zero value is the number 0.
//
//	kind u8 (1 number, 2 name) | length u8 | number u32 or 1-255 bytes of UTF-8
//
// Iggy gives the numbers of deleted things out again: only a name, or a number
// together with the time of creation, is an identity.
type Identifier struct {
	name  string
	num   uint32
	named bool
}

// NumericID is the identifier of the thing with number n.
func NumericID(n uint32) Identifier { return Identifier{num: n} }

// NamedID is the identifier of the thing called s, which must be a [ValidName].
func NamedID(s string) Identifier { return Identifier{name: s, named: true} }

// Name returns the name and true, or false for a numeric identifier.
func (id Identifier) Name() (string, bool) { return id.name, id.named }

// Number returns the number and true, or false for a named identifier.
func (id Identifier) Number() (uint32, bool) { return id.num, !id.named }

// String returns the name, or "#" and the number.
func (id Identifier) String() string {
	if id.named {
		return id.name
	}
	return "#" + strconv.FormatUint(uint64(id.num), 10)
}

// AppendIdentifier appends id.
func AppendIdentifier(dst []byte, id Identifier) []byte {
	if id.named {
		return appendString8(append(dst, identifierNamed), id.name)
	}
	return binary.LittleEndian.AppendUint32(append(dst, identifierNumeric, 4), id.num)
}

// ParseIdentifier reads an identifier from the front of b and returns the bytes after it.
func ParseIdentifier(b []byte) (id Identifier, rest []byte, err error) {
	r := reader{b: b}
	id = r.identifier()
	rest, r.b = r.b, nil
	if err := r.end("identifier"); err != nil {
		return Identifier{}, nil, err
	}
	return id, rest, nil
}

func (r *reader) identifier() Identifier {
	switch r.u8() {
	case identifierNumeric:
		if r.u8() != 4 {
			r.fail(ErrMalformed)
		}
		return NumericID(r.u32())
	case identifierNamed:
		return NamedID(r.name())
	default:
		r.fail(ErrMalformed)
		return Identifier{}
	}
}
