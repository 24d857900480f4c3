// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// MaxPartitions is the largest number of partitions that one request may create.
const MaxPartitions = 1000

// CreatePartitions adds partitions to a topic, 1 to [MaxPartitions] at a time.
type CreatePartitions struct {
	Stream, Topic Identifier
	Partitions    uint32
}

// Code returns [CodeCreatePartitions].
func (CreatePartitions) Code() Code { return CodeCreatePartitions }

// AppendTo appends the body.
func (c CreatePartitions) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(appendTopicPath(dst, c.Stream, c.Topic), c.Partitions)
}

// ParseCreatePartitions reads the body of a [CreatePartitions].
func ParseCreatePartitions(b []byte) (CreatePartitions, error) {
	r := reader{b: b}
	c := CreatePartitions{Stream: r.identifier(), Topic: r.identifier(), Partitions: r.u32()}
	return c, r.end("create partitions")
}

// DeletePartitions deletes the last partitions of a topic with their messages.
type DeletePartitions struct {
	Stream, Topic Identifier
	Partitions    uint32
}

// Code returns [CodeDeletePartitions].
func (DeletePartitions) Code() Code { return CodeDeletePartitions }

// AppendTo appends the body.
func (d DeletePartitions) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(appendTopicPath(dst, d.Stream, d.Topic), d.Partitions)
}

// ParseDeletePartitions reads the body of a [DeletePartitions].
func ParseDeletePartitions(b []byte) (DeletePartitions, error) {
	r := reader{b: b}
	d := DeletePartitions{Stream: r.identifier(), Topic: r.identifier(), Partitions: r.u32()}
	return d, r.end("delete partitions")
}

// Partition describes a partition of a topic.
//
//	id u32 | created at u64 | segments u32 | current offset u64 | size u64 | messages u64
//
// CurrentOffset is the offset of the last message ever written; it is 0 in a
// partition that has none too, so only Messages tells the two apart.
type Partition struct {
	ID            uint32
	CreatedAt     uint64 // µs since 1970
	Segments      uint32
	CurrentOffset uint64
	Size          uint64 // bytes
	Messages      uint64 // those still kept
}

// AppendTo appends the partition as one element of [TopicDetails].
func (p Partition) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	dst = binary.LittleEndian.AppendUint64(dst, p.CreatedAt)
	dst = binary.LittleEndian.AppendUint32(dst, p.Segments)
	dst = binary.LittleEndian.AppendUint64(dst, p.CurrentOffset)
	dst = binary.LittleEndian.AppendUint64(dst, p.Size)
	return binary.LittleEndian.AppendUint64(dst, p.Messages)
}

func (r *reader) partition() Partition {
	return Partition{
		ID:            r.u32(),
		CreatedAt:     r.u64(),
		Segments:      r.u32(),
		CurrentOffset: r.u64(),
		Size:          r.u64(),
		Messages:      r.u64(),
	}
}
