// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"encoding/binary"
	"math"
)

// What a topic's settings mean beside a number of microseconds or bytes.
const (
	ServerDefault   = 0              // expiry or maximum size as the server is configured
	NeverExpire     = math.MaxUint64 // expiry
	UnlimitedSize   = math.MaxUint64 // maximum size
	CompressionNone = 1
	CompressionGzip = 2
)

// CreateTopic creates a topic; the answer is its [TopicDetails].
//
//	stream | partitions u32 | compression u8 | expiry u64 | maximum size u64 | replication factor u8 | name string8
type CreateTopic struct {
	Stream            Identifier
	Partitions        uint32 // 0 to 1,000
	Compression       uint8  // stored as given; [CompressionNone] and [CompressionGzip] exist
	MessageExpiry     uint64 // µs, [ServerDefault] or [NeverExpire]
	MaxSize           uint64 // bytes, [ServerDefault] or [UnlimitedSize]
	ReplicationFactor uint8  // 0: the server's default, 1
	Name              string
}

// Code returns [CodeCreateTopic].
func (CreateTopic) Code() Code { return CodeCreateTopic }

// AppendTo appends the body.
func (c CreateTopic) AppendTo(dst []byte) []byte {
	dst = AppendIdentifier(dst, c.Stream)
	dst = binary.LittleEndian.AppendUint32(dst, c.Partitions)
	dst = append(dst, c.Compression)
	dst = binary.LittleEndian.AppendUint64(dst, c.MessageExpiry)
	dst = binary.LittleEndian.AppendUint64(dst, c.MaxSize)
	dst = append(dst, c.ReplicationFactor)
	return appendString8(dst, c.Name)
}

// ParseCreateTopic reads the body of a [CreateTopic].
func ParseCreateTopic(b []byte) (CreateTopic, error) {
	r := reader{b: b}
	c := CreateTopic{
		Stream:            r.identifier(),
		Partitions:        r.u32(),
		Compression:       r.u8(),
		MessageExpiry:     r.u64(),
		MaxSize:           r.u64(),
		ReplicationFactor: r.u8(),
		Name:              r.name(),
	}
	return c, r.end("create topic")
}

// UpdateTopic replaces all settings of a topic but its partitions: there is no
// "as it was", and a MaxSize of [ServerDefault] reads back as 0 afterwards.
type UpdateTopic struct {
	Stream, Topic     Identifier
	Compression       uint8
	MessageExpiry     uint64
	MaxSize           uint64
	ReplicationFactor uint8
	Name              string
}

// Code returns [CodeUpdateTopic].
func (UpdateTopic) Code() Code { return CodeUpdateTopic }

// AppendTo appends the body.
func (u UpdateTopic) AppendTo(dst []byte) []byte {
	dst = AppendIdentifier(dst, u.Stream)
	dst = AppendIdentifier(dst, u.Topic)
	dst = append(dst, u.Compression)
	dst = binary.LittleEndian.AppendUint64(dst, u.MessageExpiry)
	dst = binary.LittleEndian.AppendUint64(dst, u.MaxSize)
	dst = append(dst, u.ReplicationFactor)
	return appendString8(dst, u.Name)
}

// ParseUpdateTopic reads the body of an [UpdateTopic].
func ParseUpdateTopic(b []byte) (UpdateTopic, error) {
	r := reader{b: b}
	u := UpdateTopic{
		Stream:            r.identifier(),
		Topic:             r.identifier(),
		Compression:       r.u8(),
		MessageExpiry:     r.u64(),
		MaxSize:           r.u64(),
		ReplicationFactor: r.u8(),
		Name:              r.name(),
	}
	return u, r.end("update topic")
}

// GetTopics asks for the topics of a stream.
type GetTopics struct{ Stream Identifier }

// Code returns [CodeGetTopics].
func (GetTopics) Code() Code { return CodeGetTopics }

// AppendTo appends the body.
func (g GetTopics) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, g.Stream) }

// ParseGetTopics reads the body of a [GetTopics].
func ParseGetTopics(b []byte) (GetTopics, error) {
	r := reader{b: b}
	g := GetTopics{Stream: r.identifier()}
	return g, r.end("get topics")
}

// GetTopic asks for one topic's [TopicDetails].
type GetTopic struct{ Stream, Topic Identifier }

// Code returns [CodeGetTopic].
func (GetTopic) Code() Code { return CodeGetTopic }

// AppendTo appends the body.
func (g GetTopic) AppendTo(dst []byte) []byte { return appendTopicPath(dst, g.Stream, g.Topic) }

// ParseGetTopic reads the body of a [GetTopic].
func ParseGetTopic(b []byte) (GetTopic, error) {
	r := reader{b: b}
	g := GetTopic{Stream: r.identifier(), Topic: r.identifier()}
	return g, r.end("get topic")
}

// DeleteTopic deletes a topic with its messages and consumer offsets.
type DeleteTopic struct{ Stream, Topic Identifier }

// Code returns [CodeDeleteTopic].
func (DeleteTopic) Code() Code { return CodeDeleteTopic }

// AppendTo appends the body.
func (d DeleteTopic) AppendTo(dst []byte) []byte { return appendTopicPath(dst, d.Stream, d.Topic) }

// ParseDeleteTopic reads the body of a [DeleteTopic].
func ParseDeleteTopic(b []byte) (DeleteTopic, error) {
	r := reader{b: b}
	d := DeleteTopic{Stream: r.identifier(), Topic: r.identifier()}
	return d, r.end("delete topic")
}

// PurgeTopic deletes the messages of a topic and starts its offsets at 0 again.
type PurgeTopic struct{ Stream, Topic Identifier }

// Code returns [CodePurgeTopic].
func (PurgeTopic) Code() Code { return CodePurgeTopic }

// AppendTo appends the body.
func (p PurgeTopic) AppendTo(dst []byte) []byte { return appendTopicPath(dst, p.Stream, p.Topic) }

// ParsePurgeTopic reads the body of a [PurgeTopic].
func ParsePurgeTopic(b []byte) (PurgeTopic, error) {
	r := reader{b: b}
	p := PurgeTopic{Stream: r.identifier(), Topic: r.identifier()}
	return p, r.end("purge topic")
}

func appendTopicPath(dst []byte, stream, topic Identifier) []byte {
	return AppendIdentifier(AppendIdentifier(dst, stream), topic)
}

// Topic describes a topic.
//
//	id u32 | created at u64 | partitions u32 | expiry u64 | compression u8 | maximum size u64 |
//	replication factor u8 | size u64 | messages u64 | name string8
type Topic struct {
	ID                uint32
	CreatedAt         uint64 // µs since 1970
	Partitions        uint32
	MessageExpiry     uint64 // µs, or [NeverExpire]
	Compression       uint8
	MaxSize           uint64 // bytes, or [UnlimitedSize]
	ReplicationFactor uint8
	Size              uint64 // bytes
	Messages          uint64
	Name              string
}

// AppendTo appends the topic as one element of the answer to [GetTopics].
func (t Topic) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, t.ID)
	dst = binary.LittleEndian.AppendUint64(dst, t.CreatedAt)
	dst = binary.LittleEndian.AppendUint32(dst, t.Partitions)
	dst = binary.LittleEndian.AppendUint64(dst, t.MessageExpiry)
	dst = append(dst, t.Compression)
	dst = binary.LittleEndian.AppendUint64(dst, t.MaxSize)
	dst = append(dst, t.ReplicationFactor)
	dst = binary.LittleEndian.AppendUint64(dst, t.Size)
	dst = binary.LittleEndian.AppendUint64(dst, t.Messages)
	return appendString8(dst, t.Name)
}

func (r *reader) topic() Topic {
	return Topic{
		ID:                r.u32(),
		CreatedAt:         r.u64(),
		Partitions:        r.u32(),
		MessageExpiry:     r.u64(),
		Compression:       r.u8(),
		MaxSize:           r.u64(),
		ReplicationFactor: r.u8(),
		Size:              r.u64(),
		Messages:          r.u64(),
		Name:              r.name(),
	}
}

// ParseTopics reads the answer to [GetTopics], which is empty for a missing
// stream as well as for a stream without topics.
func ParseTopics(b []byte) ([]Topic, error) { return parseList(b, "topics", (*reader).topic) }

// TopicDetails is a topic with its partitions, by ascending id.
type TopicDetails struct {
	Topic
	PartitionList []Partition
}

// AppendTo appends the answer to [GetTopic] or [CreateTopic].
func (t TopicDetails) AppendTo(dst []byte) []byte {
	dst = t.Topic.AppendTo(dst)
	for _, p := range t.PartitionList {
		dst = p.AppendTo(dst)
	}
	return dst
}

// ParseTopicDetails reads the answer to [GetTopic] or [CreateTopic]; found is
// false for a topic or stream that does not exist.
func ParseTopicDetails(b []byte) (t TopicDetails, found bool, err error) {
	if len(b) == 0 {
		return t, false, nil
	}
	r := reader{b: b}
	t.Topic = r.topic()
	for r.more() {
		t.PartitionList = append(t.PartitionList, r.partition())
	}
	if err := r.done("topic"); err != nil {
		return TopicDetails{}, false, err
	}
	return t, true, nil
}
