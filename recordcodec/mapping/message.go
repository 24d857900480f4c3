// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding/binary"
	"slices"
)

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
	dst = appendMessageHeader(dst, messageIDOf(m.ID), m.OriginTimestamp, len(m.Payload), len(m.UserHeaders))
	binary.LittleEndian.PutUint64(dst[start:], m.Checksum)
	binary.LittleEndian.PutUint64(dst[start+posOffset:], m.Offset)
	binary.LittleEndian.PutUint64(dst[start+posTimestamp:], m.Timestamp)
	dst = append(dst, m.Payload...)
	return append(dst, m.UserHeaders...)
}

// appendMessageHeader appends the header of a message that the server is still to complete, and makes room for all of the message.
func appendMessageHeader(dst []byte, id messageID, originTimestamp uint64, payload, userHeaders int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, MessageHeaderSize+payload+userHeaders)[:start+MessageHeaderSize]
	h := (*[MessageHeaderSize]byte)(dst[start:])
	*h = [MessageHeaderSize]byte{}
	id.put(h[posID:])
	binary.LittleEndian.PutUint64(h[posOriginTimestamp:], originTimestamp)
	binary.LittleEndian.PutUint32(h[posHeadersLength:], uint32(userHeaders))
	binary.LittleEndian.PutUint32(h[posPayloadLength:], uint32(payload))
	return dst
}

// ParseMessage reads the message at the start of b and returns how many bytes of b it takes. Payload and user headers point into b.
// It fails with recordcodec.ErrCorrupt if b ends before the message does.
func ParseMessage(b []byte) (m Message, n int, err error) {
	n, err = m.parse(b)
	return m, n, err
}

// parse is ParseMessage into memory that is there. After an error m is as it was.
func (m *Message) parse(b []byte) (n int, err error) {
	if len(b) < MessageHeaderSize {
		return 0, errMessageCut
	}
	le := binary.LittleEndian
	headers, payload := le.Uint32(b[posHeadersLength:]), le.Uint32(b[posPayloadLength:])
	if uint64(headers)+uint64(payload) > uint64(len(b)-MessageHeaderSize) {
		return 0, errMessageCut
	}
	payloadEnd := MessageHeaderSize + int(payload)
	n = payloadEnd + int(headers)
	m.Checksum = le.Uint64(b)
	m.ID = [16]byte(b[posID:])
	m.Offset = le.Uint64(b[posOffset:])
	m.Timestamp = le.Uint64(b[posTimestamp:])
	m.OriginTimestamp = le.Uint64(b[posOriginTimestamp:])
	m.Payload = b[MessageHeaderSize:payloadEnd:payloadEnd]
	m.UserHeaders = b[payloadEnd:n:n]
	return n, nil
}
