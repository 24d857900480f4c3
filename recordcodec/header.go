// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// HeaderSize is the length of a batch's header in bytes; the records follow it.
const HeaderSize = 61

// Where the fields of the header stand; doc.go draws it.
const (
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57

	// logOverhead is what Length does not count: the base offset and Length itself.
	logOverhead = 12
)

// The attributes of a batch.
const (
	codecMask         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

const (
	magicV1 = 1 // the last of the message sets
	magicV2 = 2 // record batches
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the header of a record batch of format 2, field by field as on the wire.
type Header struct {
	BaseOffset           int64
	Length               int32 // bytes after this field
	PartitionLeaderEpoch int32
	Magic                int8
	CRC                  uint32 // CRC-32C of everything from the attributes on
	Attributes           int16
	LastOffsetDelta      int32
	BaseTimestamp        int64 // ms
	MaxTimestamp         int64 // ms; under log append time the time of every record
	ProducerID           int64 // -1: not idempotent, and the next two are -1 too
	ProducerEpoch        int16
	BaseSequence         int32
	Count                int32 // records, as the sender says
}

// Codec is how the records are compressed; ErrUnknownCodec for codec bits that Kafka does not define.
func (h *Header) Codec() (Codec, error) { return codecOf(h.Attributes) }

// LogAppendTime tells whether the broker's clock stamped the records: then MaxTimestamp is the time of each.
func (h *Header) LogAppendTime() bool { return h.Attributes&attrLogAppendTime != 0 }

// Transactional tells whether the batch belongs to a transaction (KIP-98).
func (h *Header) Transactional() bool { return h.Attributes&attrTransactional != 0 }

// Control tells whether the batch holds a transaction marker instead of a client's records (KIP-98).
func (h *Header) Control() bool { return h.Attributes&attrControl != 0 }

// ParseHeader reads the header at the start of b. It checks the magic byte (ErrLegacy, ErrCorrupt) and that b holds a whole
// header (ErrCorrupt), but neither the CRC nor that the records are there: that is Decode's.
func ParseHeader(b []byte) (Header, error) {
	if len(b) <= posMagic {
		return Header{}, fmt.Errorf("recordcodec: a batch of %d bytes: %w", len(b), ErrCorrupt)
	}
	// The magic byte stands at the same place in all formats, so that a reader can tell them apart.
	switch magic := int8(b[posMagic]); {
	case magic >= 0 && magic <= magicV1:
		return Header{}, fmt.Errorf("recordcodec: magic %d: %w", magic, ErrLegacy)
	case magic != magicV2:
		return Header{}, fmt.Errorf("recordcodec: magic %d: %w", magic, ErrCorrupt)
	}
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("recordcodec: a batch of %d bytes: %w", len(b), ErrCorrupt)
	}
	be := binary.BigEndian
	return Header{
		BaseOffset:           int64(be.Uint64(b)),
		Length:               int32(be.Uint32(b[posLength:])),
		PartitionLeaderEpoch: int32(be.Uint32(b[posLeaderEpoch:])),
		Magic:                int8(b[posMagic]),
		CRC:                  be.Uint32(b[posCRC:]),
		Attributes:           int16(be.Uint16(b[posAttributes:])),
		LastOffsetDelta:      int32(be.Uint32(b[posLastOffsetDelta:])),
		BaseTimestamp:        int64(be.Uint64(b[posBaseTimestamp:])),
		MaxTimestamp:         int64(be.Uint64(b[posMaxTimestamp:])),
		ProducerID:           int64(be.Uint64(b[posProducerID:])),
		ProducerEpoch:        int16(be.Uint16(b[posProducerEpoch:])),
		BaseSequence:         int32(be.Uint32(b[posBaseSequence:])),
		Count:                int32(be.Uint32(b[posCount:])),
	}, nil
}

// put writes the header into b, which holds HeaderSize bytes and the records after them, and computes Length, Magic and CRC.
func (h *Header) put(b []byte) {
	h.Length = int32(len(b) - logOverhead)
	h.Magic = magicV2
	be := binary.BigEndian
	be.PutUint64(b, uint64(h.BaseOffset))
	be.PutUint32(b[posLength:], uint32(h.Length))
	be.PutUint32(b[posLeaderEpoch:], uint32(h.PartitionLeaderEpoch))
	b[posMagic] = byte(h.Magic)
	be.PutUint16(b[posAttributes:], uint16(h.Attributes))
	be.PutUint32(b[posLastOffsetDelta:], uint32(h.LastOffsetDelta))
	be.PutUint64(b[posBaseTimestamp:], uint64(h.BaseTimestamp))
	be.PutUint64(b[posMaxTimestamp:], uint64(h.MaxTimestamp))
	be.PutUint64(b[posProducerID:], uint64(h.ProducerID))
	be.PutUint16(b[posProducerEpoch:], uint16(h.ProducerEpoch))
	be.PutUint32(b[posBaseSequence:], uint32(h.BaseSequence))
	be.PutUint32(b[posCount:], uint32(h.Count))
	h.CRC = crc32.Checksum(b[posAttributes:], castagnoli)
	be.PutUint32(b[posCRC:], h.CRC)
}
