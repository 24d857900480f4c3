// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The user headers with which a record's parts travel. The namespace "kafka." is reserved.
const (
	reserved       = "kafka."
	nameKey        = "kafka.key"
	nameValue      = "kafka.value"
	nameEnvelope   = "kafka.envelope"
	nameTimestamp  = "kafka.ts"
	prefixHeader   = "kafka.h."
	valueNull      = "null"
	valueEmpty     = "empty"
	placeholder    = 0x00 // the payload that stands for a null or an empty value: Iggy's SDKs refuse an empty payload
	maxHeaderField = 255  // bytes in a name or a value, by Iggy's rules
)

// ErrorHeader is the header of a record that stands for an unmappable message. Its value says why.
const ErrorHeader = "kafka.gateway.error"

// A user header entry, lengths little-endian; entries follow one another:
//
//	u8 kind of the name | u32 length | name | u8 kind of the value | u32 length | value
const entryOverhead = 1 + 4 + 1 + 4

// Iggy's kinds of names and values.
const (
	kindRaw     = 1
	kindString  = 2
	kindBool    = 3
	kindInt8    = 4
	kindInt128  = 8
	kindUint8   = 9
	kindUint128 = 13
	kindFloat32 = 14
	kindFloat64 = 15
)

func entryLen(name, value int) int { return entryOverhead + name + value }

// appendEntry appends a user header whose name is prefix and name joined.
func appendEntry(dst []byte, prefix string, name, value []byte) []byte {
	dst = append(dst, kindString)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(prefix)+len(name)))
	dst = append(append(dst, prefix...), name...)
	dst = append(dst, kindRaw)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...)
}

// entryIter iterates over user headers. Lengths are checked only against the end: Iggy itself checks none, and a name that a Rust or
// Go consumer would refuse can still be read here.
type entryIter struct {
	name  []byte // as a record's header name
	value []byte
	err   error // errUserHeaders, once next has returned false

	rest    []byte
	scratch []byte // holds a name that is not in the message as such
}

func (it *entryIter) next() bool {
	if len(it.rest) == 0 || it.err != nil {
		return false
	}
	kind, name, rest, ok := takeField(it.rest)
	if ok {
		_, it.value, it.rest, ok = takeField(rest)
	}
	if ok {
		it.name, ok = it.recordName(kind, name)
	}
	if !ok {
		it.err = errUserHeaders
	}
	return ok
}

// takeField takes a kind, a length and that many bytes off b.
func takeField(b []byte) (kind byte, field, rest []byte, ok bool) {
	if len(b) < 5 {
		return 0, nil, nil, false
	}
	kind = b[0]
	n := binary.LittleEndian.Uint32(b[1:])
	b = b[5:]
	if uint64(n) > uint64(len(b)) {
		return 0, nil, nil, false
	}
	return kind, b[:n:n], b[n:], true
}

// recordName is the name of the record header that an entry becomes: text as it is, numbers in decimal, other bytes in hex.
func (it *entryIter) recordName(kind byte, name []byte) (text []byte, ok bool) {
	switch {
	case kind == kindString || kind == kindRaw && utf8.Valid(name):
		return name, true
	case kind == kindRaw:
		it.scratch = hex.AppendEncode(it.scratch[:0], name)
	default:
		it.scratch, ok = appendNumber(it.scratch[:0], kind, name)
		return it.scratch, ok
	}
	return it.scratch, true
}

// appendNumber appends the decimal form of a number, little-endian as Iggy has it; it fails if b is not as long as the kind.
func appendNumber(dst []byte, kind byte, b []byte) (_ []byte, ok bool) {
	switch kind {
	case kindBool:
		return strconv.AppendBool(dst, len(b) == 1 && b[0] != 0), len(b) == 1
	case kindFloat32:
		if len(b) != 4 {
			return dst, false
		}
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return strconv.AppendFloat(dst, float64(f), 'g', -1, 32), true
	case kindFloat64:
		if len(b) != 8 {
			return dst, false
		}
		return strconv.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64), true
	}
	var signed bool
	var size int
	switch {
	case kind >= kindInt8 && kind <= kindInt128:
		signed, size = true, 1<<(kind-kindInt8)
	case kind >= kindUint8 && kind <= kindUint128:
		size = 1 << (kind - kindUint8)
	}
	if size == 0 || len(b) != size {
		return dst, false
	}
	bigEndian := slices.Clone(b)
	slices.Reverse(bigEndian)
	n := new(big.Int).SetBytes(bigEndian)
	if signed && bigEndian[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return n.Append(dst, 10), true
}
