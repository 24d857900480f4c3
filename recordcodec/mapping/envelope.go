// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding/binary"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// The envelope, version 1, is the payload of a record that Iggy's rules for user headers exclude; numbers little-endian, lengths of absent
// parts 0:
//
//	u8 flags: 1 key present, 2 value present | u32 length | key | u32 length | value | u32 count | count headers of:
//	u32 length | name | u8 value present | u32 length | value
const (
	envelopeVersion = 1

	flagKey   = 1
	flagValue = 2

	envelopeOverhead       = 1 + 4 + 4 + 4
	envelopeHeaderOverhead = 4 + 1 + 4
)

// envelopeLen is the length of r's envelope; headerBytes is the sum of its header names and values.
func envelopeLen(r *recordcodec.Record, headerBytes int) int {
	return envelopeOverhead + len(r.Key) + len(r.Value) + r.HeaderCount*envelopeHeaderOverhead + headerBytes
}

func appendEnvelope(dst []byte, r *recordcodec.Record) []byte {
	var flags byte
	if r.Key != nil {
		flags |= flagKey
	}
	if r.Value != nil {
		flags |= flagValue
	}
	dst = append(dst, flags)
	dst = appendPart(dst, r.Key)
	dst = appendPart(dst, r.Value)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.HeaderCount))
	for h := r.Headers.Iter(); h.Next(); {
		dst = appendPart(dst, h.Name)
		present := byte(0)
		if h.Value != nil {
			present = 1
		}
		dst = appendPart(append(dst, present), h.Value)
	}
	return dst
}

func appendPart(dst, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(part))), part...)
}

// envelope is an opened one.
type envelope struct {
	key, value []byte
	headers    headerSum
	encoded    []byte // the headers, checked
}

// openEnvelope reads all of payload and checks it.
func openEnvelope(payload []byte) (e envelope, err error) {
	if len(payload) == 0 {
		return e, errEnvelopeShort
	}
	flags := payload[0]
	if flags&^(flagKey|flagValue) != 0 {
		return e, errEnvelopeFlag
	}
	rest := payload[1:]
	if e.key, rest, err = takePart(rest, flags&flagKey != 0); err != nil {
		return e, err
	}
	if e.value, rest, err = takePart(rest, flags&flagValue != 0); err != nil {
		return e, err
	}
	if len(rest) < 4 {
		return e, errEnvelopeShort
	}
	count := binary.LittleEndian.Uint32(rest)
	rest = rest[4:]
	if uint64(count)*envelopeHeaderOverhead > uint64(len(rest)) {
		return e, errEnvelopeShort
	}
	e.encoded = rest
	for range count {
		var name, value []byte
		if name, value, rest, err = takeEnvelopeHeader(rest); err != nil {
			return e, err
		}
		e.headers.add(name, value)
	}
	if len(rest) > 0 {
		return e, errEnvelopeTrailing
	}
	return e, nil
}

func takeEnvelopeHeader(b []byte) (name, value, rest []byte, err error) {
	if name, rest, err = takePart(b, true); err != nil {
		return nil, nil, nil, err
	}
	if len(rest) == 0 {
		return nil, nil, nil, errEnvelopeShort
	}
	present := rest[0]
	if present > 1 {
		return nil, nil, nil, errEnvelopeFlag
	}
	value, rest, err = takePart(rest[1:], present == 1)
	return name, value, rest, err
}

// takePart takes a length and that many bytes off b: nil for an absent part, not nil for a present one.
func takePart(b []byte, present bool) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errEnvelopeShort
	}
	n := binary.LittleEndian.Uint32(b)
	b = b[4:]
	switch {
	case !present && n != 0:
		return nil, nil, errEnvelopeAbsent
	case uint64(n) > uint64(len(b)):
		return nil, nil, errEnvelopeShort
	case !present:
		return nil, b, nil
	}
	return b[:n:n], b[n:], nil
}
