// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import "encoding/binary"

// MessageHeaderSize is the length of a message's header in bytes; payload and user headers follow it.
const MessageHeaderSize = 64

// Where the fields of a message's header stand; doc.go draws it.
const (
	posID              = 8
	posOffset          = 24
	posTimestamp       = 32
	posOriginTimestamp = 40
	posHeadersLength   = 48
	posPayloadLength   = 52
)

// Message is one Iggy message.
type Message struct {
	Checksum        uint64 // filled by the server
	ID              [16]byte
	Offset          uint64 // filled by the server
	Timestamp       uint64 // µs, the server's clock; filled by the server
	OriginTimestamp uint64 // µs, the producer's clock; 0 is none
	Payload         []byte
	UserHeaders     []byte // entries as headers.go draws them
}

// Size is the length in bytes of the message in Iggy's wire form.
func (m *Message) Size() int { return MessageHeaderSize + len(m.Payload) + len(m.UserHeaders) }

// AppendMessage appends m in Iggy's wire form.
func AppendMessage(dst []byte, m *Message) []byte {
	start := len(dst)
	dst = appendMessageHeader(dst, m.ID, m.OriginTimestamp, len(m.Payload), len(m.UserHeaders))
	binary.LittleEndian.PutUint64(dst[start:], m.Checksum)
	binary.LittleEndian.PutUint64(dst[start+posOffset:], m.Offset)
	binary.LittleEndian.PutUint64(dst[start+posTimestamp:], m.Timestamp)
	dst = append(dst, m.Payload...)
	return append(dst, m.UserHeaders...)
}

// appendMessageHeader appends the header of a message that the server is still to complete.
func appendMessageHeader(dst []byte, id [16]byte, originTimestamp uint64, payload, userHeaders int) []byte {
	var h [MessageHeaderSize]byte
	copy(h[posID:], id[:])
	binary.LittleEndian.PutUint64(h[posOriginTimestamp:], originTimestamp)
	binary.LittleEndian.PutUint32(h[posHeadersLength:], uint32(userHeaders))
	binary.LittleEndian.PutUint32(h[posPayloadLength:], uint32(payload))
	return append(dst, h[:]...)
}

// ParseMessage reads the message at the start of b and returns how many bytes of b it takes. Payload and user headers point into b.
// It fails with recordcodec.ErrCorrupt if b ends before the message does.
func ParseMessage(b []byte) (m Message, n int, err error) {
	if len(b) < MessageHeaderSize {
		return m, 0, errMessageCut
	}
	le := binary.LittleEndian
	headers, payload := le.Uint32(b[posHeadersLength:]), le.Uint32(b[posPayloadLength:])
	if uint64(headers)+uint64(payload) > uint64(len(b)-MessageHeaderSize) {
		return m, 0, errMessageCut
	}
	payloadEnd := MessageHeaderSize + int(payload)
	n = payloadEnd + int(headers)
	m = Message{
		Checksum:        le.Uint64(b),
		ID:              [16]byte(b[posID:]),
		Offset:          le.Uint64(b[posOffset:]),
		Timestamp:       le.Uint64(b[posTimestamp:]),
		OriginTimestamp: le.Uint64(b[posOriginTimestamp:]),
		Payload:         b[MessageHeaderSize:payloadEnd:payloadEnd],
		UserHeaders:     b[payloadEnd:n:n],
	}
	return m, n, nil
}
