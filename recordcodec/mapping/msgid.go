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

	tagIdempotent = 'K' | 'I'<<8 // little-endian
	tagRandom     = 'K' | 'R'<<8
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
	ids.at(i).put(id[:])
	return id
}

func (ids *IDs) at(i int) messageID {
	if ids.ProducerID < 0 {
		return newMessageID(binary.LittleEndian.Uint64(ids.Random[:]), binary.LittleEndian.Uint16(ids.Random[posIDEpoch:]), uint32(i), tagRandom)
	}
	sequence := (uint32(ids.BaseSequence) + uint32(i)) & math.MaxInt32
	return newMessageID(uint64(ids.ProducerID), uint16(ids.Epoch), sequence, tagIdempotent)
}

// messageID is a message id as two numbers, which processors pass and write faster than sixteen bytes.
type messageID struct{ low, high uint64 }

func newMessageID(producer uint64, epoch uint16, sequence uint32, tag uint16) messageID {
	high := uint64(tag)<<(8*(posIDTag-8)) | uint64(sequence)<<(8*(posIDSequence-8)) | uint64(epoch)
	return messageID{low: producer, high: high}
}

func messageIDOf(id [16]byte) messageID {
	return messageID{low: binary.LittleEndian.Uint64(id[:]), high: binary.LittleEndian.Uint64(id[8:])}
}

func (id messageID) put(b []byte) {
	binary.LittleEndian.PutUint64(b, id.low)
	binary.LittleEndian.PutUint64(b[8:], id.high)
}

func tagOf(id *[16]byte) uint16 { return binary.LittleEndian.Uint16(id[posIDTag:]) }

// hasTag tells whether id has one of our tags, whatever its numbers.
func hasTag(id *[16]byte) bool {
	tag := tagOf(id)
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
	switch tagOf(&id) {
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
