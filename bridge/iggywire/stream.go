// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// CreateStream creates a stream; the answer is its [StreamDetails].
type CreateStream struct{ Name string }

// Code returns [CodeCreateStream].
func (CreateStream) Code() Code { return CodeCreateStream }

// AppendTo appends the body.
func (c CreateStream) AppendTo(dst []byte) []byte { return appendString8(dst, c.Name) }

// ParseCreateStream reads the body of a [CreateStream].
func ParseCreateStream(b []byte) (CreateStream, error) {
	r := reader{b: b}
	c := CreateStream{Name: r.name()}
	return c, r.end("create stream")
}

// UpdateStream renames a stream.
type UpdateStream struct {
	Stream Identifier
	Name   string
}

// Code returns [CodeUpdateStream].
func (UpdateStream) Code() Code { return CodeUpdateStream }

// AppendTo appends the body.
func (u UpdateStream) AppendTo(dst []byte) []byte {
	return appendString8(AppendIdentifier(dst, u.Stream), u.Name)
}

// ParseUpdateStream reads the body of an [UpdateStream].
func ParseUpdateStream(b []byte) (UpdateStream, error) {
	r := reader{b: b}
	u := UpdateStream{Stream: r.identifier(), Name: r.name()}
	return u, r.end("update stream")
}

// GetStream asks for one stream's [StreamDetails].
type GetStream struct{ Stream Identifier }

// Code returns [CodeGetStream].
func (GetStream) Code() Code { return CodeGetStream }

// AppendTo appends the body.
func (g GetStream) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, g.Stream) }

// ParseGetStream reads the body of a [GetStream].
func ParseGetStream(b []byte) (GetStream, error) {
	r := reader{b: b}
	g := GetStream{Stream: r.identifier()}
	return g, r.end("get stream")
}

// DeleteStream deletes a stream and everything in it.
type DeleteStream struct{ Stream Identifier }

// Code returns [CodeDeleteStream].
func (DeleteStream) Code() Code { return CodeDeleteStream }

// AppendTo appends the body.
func (d DeleteStream) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, d.Stream) }

// ParseDeleteStream reads the body of a [DeleteStream].
func ParseDeleteStream(b []byte) (DeleteStream, error) {
	r := reader{b: b}
	d := DeleteStream{Stream: r.identifier()}
	return d, r.end("delete stream")
}

// PurgeStream deletes the messages of all topics of a stream and starts their
// offsets at 0 again.
type PurgeStream struct{ Stream Identifier }

// Code returns [CodePurgeStream].
func (PurgeStream) Code() Code { return CodePurgeStream }

// AppendTo appends the body.
func (p PurgeStream) AppendTo(dst []byte) []byte { return AppendIdentifier(dst, p.Stream) }

// ParsePurgeStream reads the body of a [PurgeStream].
func ParsePurgeStream(b []byte) (PurgeStream, error) {
	r := reader{b: b}
	p := PurgeStream{Stream: r.identifier()}
	return p, r.end("purge stream")
}

// Stream describes a stream.
//
//	id u32 | created at u64 | topics u32 | size u64 | messages u64 | name string8
type Stream struct {
	ID        uint32
	CreatedAt uint64 // µs since 1970
	Topics    uint32
	Size      uint64 // bytes
	Messages  uint64
	Name      string
}

// AppendTo appends the stream as one element of the answer to [CodeGetStreams].
func (s Stream) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, s.ID)
	dst = binary.LittleEndian.AppendUint64(dst, s.CreatedAt)
	dst = binary.LittleEndian.AppendUint32(dst, s.Topics)
	dst = binary.LittleEndian.AppendUint64(dst, s.Size)
	dst = binary.LittleEndian.AppendUint64(dst, s.Messages)
	return appendString8(dst, s.Name)
}

func (r *reader) stream() Stream {
	return Stream{
		ID:        r.u32(),
		CreatedAt: r.u64(),
		Topics:    r.u32(),
		Size:      r.u64(),
		Messages:  r.u64(),
		Name:      r.name(),
	}
}

// ParseStreams reads the answer to [CodeGetStreams].
func ParseStreams(b []byte) ([]Stream, error) { return parseList(b, "streams", (*reader).stream) }

// StreamDetails is a stream with its topics, by ascending id.
type StreamDetails struct {
	Stream
	TopicList []Topic
}

// AppendTo appends the answer to [GetStream] or [CreateStream].
func (s StreamDetails) AppendTo(dst []byte) []byte {
	dst = s.Stream.AppendTo(dst)
	for _, t := range s.TopicList {
		dst = t.AppendTo(dst)
	}
	return dst
}

// ParseStreamDetails reads the answer to [GetStream] or [CreateStream]; found is
// false for a stream that does not exist.
func ParseStreamDetails(b []byte) (s StreamDetails, found bool, err error) {
	if len(b) == 0 {
		return s, false, nil
	}
	r := reader{b: b}
	s.Stream = r.stream()
	for r.more() {
		s.TopicList = append(s.TopicList, r.topic())
	}
	if err := r.done("stream"); err != nil {
		return StreamDetails{}, false, err
	}
	return s, true, nil
}
