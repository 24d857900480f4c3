// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"fmt"
)

// MessageHeaderSize is the size in bytes of a message before its payload.
const MessageHeaderSize = 64

// Places of the header's fields that framing and a server need; the rest of a
// message means nothing to this package.
//
//	0 checksum u64 | 8 id 16 bytes | 24 offset u64 | 32 timestamp u64 | 40 origin timestamp u64 |
//	48 user headers' length u32 | 52 payload's length u32 | 56 reserved u64 | 64 payload | user headers
const (
	messageID             = 8
	messageOffset         = 24
	messageTimestamp      = 32
	messageHeadersLength  = 48
	messagePayloadLength  = 52
	messageChecksumCovers = messageID
)

// NextMessage splits the first message off b. An error wraps [ErrMalformed]: b
// ends within a message.
func NextMessage(b []byte) (msg, rest []byte, err error) {
	if len(b) < MessageHeaderSize {
		return nil, nil, fmt.Errorf("iggywire: message header of %d bytes: %w", len(b), ErrMalformed)
	}
	headers, payload := MessageLengths(b)
	size := MessageHeaderSize + int64(payload) + int64(headers)
	if size > int64(len(b)) {
		return nil, nil, fmt.Errorf("iggywire: message of %d bytes in %d: %w", size, len(b), ErrMalformed)
	}
	return b[:size:size], b[size:], nil
}

// MessageLengths returns the lengths in bytes of the user headers and of the
// payload that the header of msg announces. msg holds at least a header.
func MessageLengths(msg []byte) (headers, payload uint32) {
	_ = msg[MessageHeaderSize-1]
	return binary.LittleEndian.Uint32(msg[messageHeadersLength:]),
		binary.LittleEndian.Uint32(msg[messagePayloadLength:])
}

// MessageID returns the id of a message.
func MessageID(msg []byte) (id [16]byte) {
	copy(id[:], msg[messageID:messageOffset])
	return id
}

// MessageOffset returns the offset of a message.
func MessageOffset(msg []byte) uint64 { return binary.LittleEndian.Uint64(msg[messageOffset:]) }

// MessageTimestamp returns when the server got a message, in µs since 1970.
func MessageTimestamp(msg []byte) uint64 {
	return binary.LittleEndian.Uint64(msg[messageTimestamp:])
}

// SetMessageID writes the id that a server gives to a message sent without one.
func SetMessageID(msg []byte, id [16]byte) { copy(msg[messageID:messageOffset], id[:]) }

// Stamp writes what a server adds to a message: its offset, the time in µs at
// which it came, and the checksum, which sum (Iggy: XXH3, 64 bits) computes over
// everything behind the checksum itself.
func Stamp(msg []byte, offset, timestamp uint64, sum func([]byte) uint64) {
	binary.LittleEndian.PutUint64(msg[messageOffset:], offset)
	binary.LittleEndian.PutUint64(msg[messageTimestamp:], timestamp)
	binary.LittleEndian.PutUint64(msg, sum(msg[messageChecksumCovers:]))
}
