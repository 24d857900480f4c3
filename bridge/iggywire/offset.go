// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// StoreOffset stores a consumer's offset of one partition: the last one that it
// has processed.
//
//	consumer | stream | topic | has partition u8 | partition u32 | offset u64
type StoreOffset struct {
	Consumer      Consumer
	Stream, Topic Identifier
	HasPartition  bool
	Partition     uint32
	Offset        uint64
}

// Code returns [CodeStoreOffset].
func (StoreOffset) Code() Code { return CodeStoreOffset }

// AppendTo appends the body.
func (s StoreOffset) AppendTo(dst []byte) []byte {
	dst = appendConsumer(dst, s.Consumer)
	dst = appendTopicPath(dst, s.Stream, s.Topic)
	dst = appendOptionalPartition(dst, s.HasPartition, s.Partition)
	return binary.LittleEndian.AppendUint64(dst, s.Offset)
}

// ParseStoreOffset reads the body of a [StoreOffset].
func ParseStoreOffset(b []byte) (StoreOffset, error) {
	r := reader{b: b}
	s := StoreOffset{Consumer: r.consumer(), Stream: r.identifier(), Topic: r.identifier()}
	s.HasPartition, s.Partition = r.optionalPartition()
	s.Offset = r.u64()
	return s, r.end("store offset")
}

// GetOffset asks for the [ConsumerOffset] of one partition.
//
//	consumer | stream | topic | has partition u8 | partition u32
type GetOffset struct {
	Consumer      Consumer
	Stream, Topic Identifier
	HasPartition  bool
	Partition     uint32
}

// Code returns [CodeGetOffset].
func (GetOffset) Code() Code { return CodeGetOffset }

// AppendTo appends the body.
func (g GetOffset) AppendTo(dst []byte) []byte {
	dst = appendConsumer(dst, g.Consumer)
	dst = appendTopicPath(dst, g.Stream, g.Topic)
	return appendOptionalPartition(dst, g.HasPartition, g.Partition)
}

// ParseGetOffset reads the body of a [GetOffset].
func ParseGetOffset(b []byte) (GetOffset, error) {
	r := reader{b: b}
	g := GetOffset{Consumer: r.consumer(), Stream: r.identifier(), Topic: r.identifier()}
	g.HasPartition, g.Partition = r.optionalPartition()
	return g, r.end("get offset")
}

// DeleteOffset forgets a consumer's offset of one partition. Its body is that of
// a [GetOffset].
type DeleteOffset struct {
	Consumer      Consumer
	Stream, Topic Identifier
	HasPartition  bool
	Partition     uint32
}

// Code returns [CodeDeleteOffset].
func (DeleteOffset) Code() Code { return CodeDeleteOffset }

// AppendTo appends the body.
func (d DeleteOffset) AppendTo(dst []byte) []byte { return GetOffset(d).AppendTo(dst) }

// ParseDeleteOffset reads the body of a [DeleteOffset].
func ParseDeleteOffset(b []byte) (DeleteOffset, error) {
	g, err := ParseGetOffset(b)
	return DeleteOffset(g), err
}

// ConsumerOffset is the answer to [GetOffset].
//
//	partition u32 | current offset u64 | stored offset u64
type ConsumerOffset struct {
	Partition     uint32
	CurrentOffset uint64 // of the partition's last message
	StoredOffset  uint64
}

// AppendTo appends the answer.
func (c ConsumerOffset) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, c.Partition)
	dst = binary.LittleEndian.AppendUint64(dst, c.CurrentOffset)
	return binary.LittleEndian.AppendUint64(dst, c.StoredOffset)
}

// ParseConsumerOffset reads the answer to [GetOffset]; found is false if nothing
// is stored.
func ParseConsumerOffset(b []byte) (c ConsumerOffset, found bool, err error) {
	if len(b) == 0 {
		return c, false, nil
	}
	r := reader{b: b}
	c = ConsumerOffset{Partition: r.u32(), CurrentOffset: r.u64(), StoredOffset: r.u64()}
	if err := r.done("consumer offset"); err != nil {
		return ConsumerOffset{}, false, err
	}
	return c, true, nil
}

// FlushUnsaved makes the server write what it holds of a partition to its disk.
//
//	stream | topic | partition u32 | fsync u8
type FlushUnsaved struct {
	Stream, Topic Identifier
	Partition     uint32
	Fsync         bool
}

// Code returns [CodeFlushUnsaved].
func (FlushUnsaved) Code() Code { return CodeFlushUnsaved }

// AppendTo appends the body.
func (f FlushUnsaved) AppendTo(dst []byte) []byte {
	dst = appendTopicPath(dst, f.Stream, f.Topic)
	return appendBool(binary.LittleEndian.AppendUint32(dst, f.Partition), f.Fsync)
}

// ParseFlushUnsaved reads the body of a [FlushUnsaved].
func ParseFlushUnsaved(b []byte) (FlushUnsaved, error) {
	r := reader{b: b}
	f := FlushUnsaved{Stream: r.identifier(), Topic: r.identifier(), Partition: r.u32(), Fsync: r.bool()}
	return f, r.end("flush unsaved buffer")
}
