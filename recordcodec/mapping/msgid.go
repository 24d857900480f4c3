// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding/binary"
	"math"
)

// A message id, 16 bytes, numbers little-endian; the tag at the end keeps ours apart from those that native producers choose, and from
// all zeros, for which Iggy would choose one:
//
//	idempotent: u64 producer id | u16 producer epoch | u32 sequence | "KI"
//	other:      10 random bytes, the same for a whole send          | u32 index in the send | "KR"
const (
	posIDEpoch    = 8
	posIDSequence = 10
	posIDTag      = 14

	tagIdempotent = "KI"
	tagRandom     = "KR"
)

// IDs gives the messages of one batch their ids, with which a send whose outcome is unknown can be found again.
type IDs struct {
	ProducerID   int64 // below 0: the batch is not idempotent, and Random is used
	Epoch        int16
	BaseSequence int32
	Random       [10]byte
}

// ID is the id of record i of the batch, from 0. Sequences wrap from 2147483647 to 0, as in Kafka's DefaultRecordBatch.
func (ids *IDs) ID(i int) (id [16]byte) {
	if ids.ProducerID < 0 {
		copy(id[:], ids.Random[:])
		binary.LittleEndian.PutUint32(id[posIDSequence:], uint32(i))
		copy(id[posIDTag:], tagRandom)
		return id
	}
	binary.LittleEndian.PutUint64(id[:], uint64(ids.ProducerID))
	binary.LittleEndian.PutUint16(id[posIDEpoch:], uint16(ids.Epoch))
	binary.LittleEndian.PutUint32(id[posIDSequence:], (uint32(ids.BaseSequence)+uint32(i))&math.MaxInt32)
	copy(id[posIDTag:], tagIdempotent)
	return id
}

// hasTag tells whether id has one of our tags, whatever its numbers.
func hasTag(id [16]byte) bool {
	tag := string(id[posIDTag:])
	return tag == tagIdempotent || tag == tagRandom
}

// IDKind says who made a message id.
type IDKind uint8

const (
	IDForeign    IDKind = iota // a native producer, or Iggy
	IDIdempotent               // a Kafka producer with an id and sequence numbers
	IDRandom                   // a Kafka producer without
)

// ParsedID is what a message id tells. Producer, epoch and sequence are set for IDIdempotent only: only these ids can say whether a
// batch is a duplicate.
type ParsedID struct {
	Kind       IDKind
	ProducerID int64
	Epoch      int16
	Sequence   int32
}

// ParseID reads a message id. An id with our tag but with numbers that no producer has is foreign.
func ParseID(id [16]byte) ParsedID {
	switch string(id[posIDTag:]) {
	case tagRandom:
		return ParsedID{Kind: IDRandom}
	case tagIdempotent:
		p := ParsedID{
			Kind:       IDIdempotent,
			ProducerID: int64(binary.LittleEndian.Uint64(id[:])),
			Epoch:      int16(binary.LittleEndian.Uint16(id[posIDEpoch:])),
			Sequence:   int32(binary.LittleEndian.Uint32(id[posIDSequence:])),
		}
		if p.ProducerID >= 0 && p.Sequence >= 0 {
			return p
		}
	}
	return ParsedID{Kind: IDForeign}
}
