// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// IndexSize is the size in bytes of one index in a send.
const IndexSize = 16

// Limits of one message that the server enforces, in bytes.
const (
	MaxPayload     = 64_000_000
	MaxUserHeaders = 100_000
)

// PartitioningKind says how the server finds the partition of a send.
type PartitioningKind uint8

// The kinds of partitioning.
const (
	PartitioningBalanced  PartitioningKind = 1 // the server's turn
	PartitioningPartition PartitioningKind = 2 // by number
	PartitioningKey       PartitioningKind = 3 // by hash of a key
)

// Partitioning says where a send goes.
//
//	kind u8 | length u8 | nothing, partition u32, or a key of 1-255 bytes
type Partitioning struct {
	Kind      PartitioningKind
	Partition uint32
	Key       string // bytes, not text
}

// ToPartition is the partitioning of a send to partition n.
func ToPartition(n uint32) Partitioning {
	return Partitioning{Kind: PartitioningPartition, Partition: n}
}

func appendPartitioning(dst []byte, p Partitioning) []byte {
	dst = append(dst, byte(p.Kind))
	switch p.Kind {
	case PartitioningPartition:
		return binary.LittleEndian.AppendUint32(append(dst, 4), p.Partition)
	case PartitioningKey:
		return appendString8(dst, p.Key)
	default:
		return append(dst, 0)
	}
}

func (r *reader) partitioning() Partitioning {
	p := Partitioning{Kind: PartitioningKind(r.u8())}
	value := r.take(int(r.u8()))
	switch {
	case p.Kind == PartitioningBalanced && len(value) == 0:
	case p.Kind == PartitioningPartition && len(value) == 4:
		p.Partition = binary.LittleEndian.Uint32(value)
	case p.Kind == PartitioningKey && len(value) > 0:
		p.Key = string(value)
	default:
		r.fail(ErrMalformed)
	}
	return p
}

// AppendSendHeader appends the front of a send's body. A whole body is
//
//	metadata length u32 | stream | topic | partitioning | count u32 | count indexes | count messages
//
// that is AppendSendHeader, then [AppendIndexes] once or more, then the messages
// as they lie in memory: a client writes them behind the header with one writev
// and never joins them.
func AppendSendHeader(dst []byte, stream, topic Identifier, part Partitioning, count int) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendTopicPath(dst, stream, topic)
	dst = appendPartitioning(dst, part)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// AppendIndexes appends the indexes of the messages in msgs, which lie there in
// wire form one after another. base is the number of message bytes of the same
// send before msgs: positions count from the send's first message. It returns
// how many messages msgs holds; an error wraps [ErrMalformed] and leaves dst's
// contents as they were.
//
//	u32 0 | end position u32 | u64 0
func AppendIndexes(dst, msgs []byte, base uint32) (out []byte, count int, err error) {
	if int64(base)+int64(len(msgs)) > math.MaxUint32 {
		return dst, 0, fmt.Errorf("iggywire: send of %d bytes: %w", int64(base)+int64(len(msgs)), ErrMalformed)
	}
	out, end := dst, base
	for rest := msgs; len(rest) > 0; count++ {
		var msg []byte
		if msg, rest, err = NextMessage(rest); err != nil {
			return dst, 0, err
		}
		end += uint32(len(msg))
		out = appendIndex(out, end)
	}
	return out, count, nil
}

func appendIndex(dst []byte, end uint32) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(end)<<32)
	return binary.LittleEndian.AppendUint64(dst, 0)
}

// SendRequest is a send as a server reads it.
type SendRequest struct {
	Stream, Topic Identifier
	Partitioning  Partitioning
	Count         uint32
	Indexes       []byte // Count of [IndexSize] bytes; part of the body
	Messages      []byte // everything behind the indexes; part of the body
}

// ParseSendMetadata reads the metadata of a send, without its length. The status
// is [StatusOK] or the real server's: [StatusInvalidIdentifier] when it is empty,
// [StatusInvalidCommand] when anything else is wrong with it.
func ParseSendMetadata(b []byte) (SendRequest, Status) {
	if len(b) == 0 {
		return SendRequest{}, StatusInvalidIdentifier
	}
	r := reader{b: b}
	req := SendRequest{
		Stream:       r.identifier(),
		Topic:        r.identifier(),
		Partitioning: r.partitioning(),
		Count:        r.u32(),
	}
	if r.err != nil {
		return SendRequest{}, StatusInvalidCommand
	}
	return req, StatusOK
}

// ParseSend splits a whole send body; see [ParseSendMetadata] for the statuses.
// A body that ends before its indexes do is [StatusInvalidCommand]; the real
// server reads a send piece by piece and first waits for what is missing.
//
// The messages are not looked at: see [SendRequest.Validate].
func ParseSend(b []byte) (SendRequest, Status) {
	r := reader{b: b}
	length := r.u32()
	if r.err != nil || uint64(length) > uint64(len(r.b)) {
		return SendRequest{}, StatusInvalidCommand
	}
	req, status := ParseSendMetadata(r.take(int(length)))
	if status != StatusOK {
		return SendRequest{}, status
	}
	if uint64(req.Count)*IndexSize > uint64(len(r.b)) {
		return SendRequest{}, StatusInvalidCommand
	}
	req.Indexes = r.take(int(req.Count) * IndexSize)
	req.Messages = r.b
	return req, StatusOK
}

// Validate checks indexes and messages against each other as the real server
// does before it looks for the topic: there is at least one message, every index
// points at the end of one, lengths are within the limits and add up.
func (s SendRequest) Validate() Status {
	if s.Count == 0 {
		return StatusInvalidMessagesCount
	}
	start, lastOffset := uint32(0), uint64(0)
	for i := 0; i < len(s.Indexes); i += IndexSize {
		index := s.Indexes[i : i+IndexSize]
		end := binary.LittleEndian.Uint32(index[4:])
		switch {
		case binary.LittleEndian.Uint32(index) != 0:
			return StatusNonZeroOffset
		case binary.LittleEndian.Uint64(index[8:]) != 0:
			return StatusNonZeroTimestamp
		case uint64(end) > uint64(len(s.Messages)) || int64(end)-int64(start) < MessageHeaderSize:
			return StatusMissingIndex
		}
		msg := s.Messages[start:end]
		headers, payload := MessageLengths(msg)
		offset := MessageOffset(msg)
		switch {
		case payload > MaxPayload:
			return StatusTooBigMessagePayload
		case headers > MaxUserHeaders:
			return StatusTooBigUserHeaders
		case offset < lastOffset:
			return StatusInvalidOffset
		case MessageHeaderSize+int(payload)+int(headers) != len(msg):
			return StatusInvalidMessagesSize
		}
		start, lastOffset = end, offset
	}
	if int(start) != len(s.Messages) {
		return StatusInvalidMessagesSize
	}
	return StatusOK
}
