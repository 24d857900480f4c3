// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// PollStrategy says what the value of a [Poll] counts from.
type PollStrategy uint8

// The strategies of a poll.
const (
	PollOffset    PollStrategy = 1 // from offset Value on
	PollTimestamp PollStrategy = 2 // from the first message that the server got at Value (µs) or later
	PollFirst     PollStrategy = 3 // from the first message kept
	PollLast      PollStrategy = 4 // the last Count messages
	PollNext      PollStrategy = 5 // after the consumer's stored offset, or from the first
)

// Poll asks for up to Count messages. There is no limit in bytes, and nothing
// waits: without messages the answer comes at once, with the current offset.
//
//	consumer | stream | topic | has partition u8 | partition u32 | strategy u8 | value u64 | count u32 | auto commit u8
type Poll struct {
	Consumer      Consumer
	Stream, Topic Identifier
	HasPartition  bool // false: partition 0, or one of the member's for a group
	Partition     uint32
	Strategy      PollStrategy
	Value         uint64
	Count         uint32
	AutoCommit    bool // store the last offset of the answer as the consumer's
}

// Code returns [CodePollMessages].
func (Poll) Code() Code { return CodePollMessages }

// AppendTo appends the body.
func (p Poll) AppendTo(dst []byte) []byte {
	dst = appendConsumer(dst, p.Consumer)
	dst = appendTopicPath(dst, p.Stream, p.Topic)
	dst = appendOptionalPartition(dst, p.HasPartition, p.Partition)
	dst = append(dst, byte(p.Strategy))
	dst = binary.LittleEndian.AppendUint64(dst, p.Value)
	dst = binary.LittleEndian.AppendUint32(dst, p.Count)
	return appendBool(dst, p.AutoCommit)
}

// ParsePoll reads the body of a [Poll].
func ParsePoll(b []byte) (Poll, error) {
	r := reader{b: b}
	p := Poll{Consumer: r.consumer(), Stream: r.identifier(), Topic: r.identifier()}
	p.HasPartition, p.Partition = r.optionalPartition()
	p.Strategy = PollStrategy(r.u8())
	if p.Strategy < PollOffset || p.Strategy > PollNext {
		r.fail(ErrMalformed)
	}
	p.Value = r.u64()
	p.Count = r.u32()
	p.AutoCommit = r.bool()
	return p, r.end("poll")
}

// appendOptionalPartition appends a flag and the number, which is there even
// when the flag says that it means nothing.
func appendOptionalPartition(dst []byte, has bool, partition uint32) []byte {
	if !has {
		partition = 0
	}
	return binary.LittleEndian.AppendUint32(appendBool(dst, has), partition)
}

func (r *reader) optionalPartition() (has bool, partition uint32) {
	has, partition = r.bool(), r.u32()
	if !has {
		partition = 0
	}
	return has, partition
}

// PollResultHeaderSize is the size in bytes of a poll's answer before the messages.
const PollResultHeaderSize = 4 + 8 + 4

// PollResult is the answer to a [Poll].
//
//	partition u32 | current offset u64 | count u32 | messages
//
// CurrentOffset is the offset of the partition's last message, and 0 as well
// when it never had one.
type PollResult struct {
	Partition     uint32
	CurrentOffset uint64
	Count         uint32
	Messages      []byte // Count messages in wire form; after ParsePollResult part of the body
}

// AppendHeader appends the answer up to the messages, which a server writes
// from where they are stored.
func (p PollResult) AppendHeader(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Partition)
	dst = binary.LittleEndian.AppendUint64(dst, p.CurrentOffset)
	return binary.LittleEndian.AppendUint32(dst, p.Count)
}

// ParsePollResult reads the answer to a [Poll]. Messages aliases b, and its
// messages are not looked at but for the least room that Count of them need; bytes without
// a count are refused.
func ParsePollResult(b []byte) (PollResult, error) {
	r := reader{b: b}
	p := PollResult{Partition: r.u32(), CurrentOffset: r.u64(), Count: r.u32()}
	p.Messages = r.take(len(r.b))
	if int64(p.Count)*MessageHeaderSize > int64(len(p.Messages)) || p.Count == 0 && len(p.Messages) > 0 {
		r.fail(ErrMalformed)
	}
	if err := r.done("poll answer"); err != nil {
		return PollResult{}, err
	}
	return p, nil
}
