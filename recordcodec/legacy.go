// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// LegacyRecord is one record of a message set of format 0 or 1. Formats 0 and 1 have no record headers.
type LegacyRecord struct {
	Offset        int64
	Timestamp     int64 // ms; -1 in format 0, which has none
	LogAppendTime bool  // the broker's clock stamped it
	Key, Value    []byte
}

// A message set is messages one after another (numbers big-endian, lengths -1 for null). One with a codec wraps a compressed message
// set in its value; format 1 numbers the messages inside from 0, and the wrapper has the offset of the last.
//
//	i64 offset | i32 size of the rest | u32 CRC-32 of the rest | i8 magic | i8 attributes | [i64 timestamp, format 1] |
//	i32 key length | key | i32 value length | value
const (
	legacyOverhead = 12
	legacyMinSize  = 14 // of a message of format 0 with null key and value
	legacyCRC      = legacyOverhead + 4
)

// legacyMessage is one message as it stands in a set.
type legacyMessage struct {
	LegacyRecord
	magic int8
	codec Codec
}

// DecodeMessageSet decodes b, a message set of format 0 or 1: what clients older than Kafka 0.11 write, kept for libraries that read
// old logs. The records hold copies. lim.MaxBytes bounds what all compressed sets in b decompress to, together.
// Errors: ErrCorrupt, ErrInvalid, ErrTooLarge, ErrUnknownCodec.
func (d *Decoder) DecodeMessageSet(b []byte, lim Limits) ([]LegacyRecord, error) {
	var records []LegacyRecord
	for len(b) > 0 {
		m, n, err := parseLegacy(b)
		if err != nil {
			return nil, err
		}
		b = b[n:]
		if m.codec == CodecNone {
			records = append(records, m.LegacyRecord.clone())
		} else {
			var size int
			if records, size, err = d.appendWrapped(records, &m, lim); err != nil {
				return nil, err
			}
			lim.MaxBytes -= size
		}
		if len(records) > lim.MaxRecords {
			return nil, errLegacyRecords(lim)
		}
	}
	return records, nil
}

// appendWrapped appends the records of the message set that wrapper holds compressed, and returns the set's size.
func (d *Decoder) appendWrapped(records []LegacyRecord, wrapper *legacyMessage, lim Limits) (_ []LegacyRecord, size int, err error) {
	bound, err := maxDecompressed(wrapper.codec, wrapper.Value)
	if err != nil {
		return nil, 0, err
	}
	buf, err := d.decompress(wrapper.codec, wrapper.Value, bound, max(lim.MaxBytes, 0))
	if err != nil {
		return nil, 0, err
	}
	defer d.buffers.put(buf)
	first := len(records)
	for b := buf.b; len(b) > 0; {
		m, n, err := parseLegacy(b)
		if err != nil {
			return nil, 0, err
		}
		if m.codec != CodecNone || m.magic != wrapper.magic {
			return nil, 0, fmt.Errorf("recordcodec: message set: a compressed or foreign message in a compressed one: %w", ErrInvalid)
		}
		if len(records) >= lim.MaxRecords {
			return nil, 0, errLegacyRecords(lim)
		}
		if wrapper.LogAppendTime {
			m.Timestamp, m.LogAppendTime = wrapper.Timestamp, true
		}
		records = append(records, m.LegacyRecord.clone())
		b = b[n:]
	}
	if inner := records[first:]; wrapper.magic == magicV1 && len(inner) > 0 {
		base := wrapper.Offset - inner[len(inner)-1].Offset
		for i := range inner {
			inner[i].Offset += base
		}
	}
	return records, len(buf.b), nil
}

func errLegacyRecords(lim Limits) error {
	return fmt.Errorf("recordcodec: message set: more than %d records: %w", lim.MaxRecords, ErrTooLarge)
}

// parseLegacy reads the message at the start of b, checks its CRC, and returns its length.
func parseLegacy(b []byte) (m legacyMessage, n int, err error) {
	be := binary.BigEndian
	if len(b) < legacyOverhead+legacyMinSize {
		return m, 0, fmt.Errorf("recordcodec: message set: %d bytes of a message: %w", len(b), ErrCorrupt)
	}
	size := int32(be.Uint32(b[posLength:]))
	if size < legacyMinSize || int(size) > len(b)-legacyOverhead {
		return m, 0, fmt.Errorf("recordcodec: message set: message of %d bytes in %d: %w", size, len(b)-legacyOverhead, ErrCorrupt)
	}
	n = legacyOverhead + int(size)
	if m.magic = int8(b[posMagic]); m.magic < 0 || m.magic > magicV1 {
		return m, 0, fmt.Errorf("recordcodec: message set: magic %d: %w", m.magic, ErrInvalid)
	}
	if crc := crc32.ChecksumIEEE(b[legacyCRC:n]); crc != be.Uint32(b[legacyOverhead:]) {
		return m, 0, fmt.Errorf("recordcodec: message set: CRC-32 is %08x: %w", crc, ErrCorrupt)
	}
	m.Offset = int64(be.Uint64(b))
	attributes := int16(b[posMagic+1])
	if m.codec, err = codecOf(attributes); err != nil {
		return m, 0, err
	}
	m.Timestamp = -1
	rest := b[posMagic+2 : n] // 8 bytes at least, by legacyMinSize
	if m.magic == magicV1 {
		m.Timestamp = int64(be.Uint64(rest))
		m.LogAppendTime = attributes&attrLogAppendTime != 0
		rest = rest[8:]
	}
	var keyOK, valueOK bool
	m.Key, rest, keyOK = legacyField(rest)
	m.Value, rest, valueOK = legacyField(rest)
	if !keyOK || !valueOK || len(rest) > 0 {
		return m, 0, fmt.Errorf("recordcodec: message set: %w: %w", ErrInvalid, errRecordParts)
	}
	return m, n, nil
}

func legacyField(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if n < 0 {
		return nil, b, true
	}
	if int(n) > len(b) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

func (r LegacyRecord) clone() LegacyRecord {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	return r
}
