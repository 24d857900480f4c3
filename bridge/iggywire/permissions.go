// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "encoding/binary"

// Permissions says what a user may do: everywhere, and beyond that in streams
// and topics named by number.
//
//	10 flags | has streams u8 | streams: id u32, 6 flags, has topics u8, topics: id u32, 4 flags, another u8; another u8
//
// A list of permissions begins with a flag that it is not empty and has one
// behind each element that another follows.
type Permissions struct {
	Global  GlobalPermissions
	Streams []StreamPermissions // by ascending id
}

// GlobalPermissions holds in every stream and topic.
type GlobalPermissions struct {
	ManageServers, ReadServers bool
	ManageUsers, ReadUsers     bool
	ManageStreams, ReadStreams bool
	ManageTopics, ReadTopics   bool
	PollMessages, SendMessages bool
}

// StreamPermissions holds in one stream.
type StreamPermissions struct {
	Stream                     uint32
	ManageStream, ReadStream   bool
	ManageTopics, ReadTopics   bool
	PollMessages, SendMessages bool
	Topics                     []TopicPermissions // by ascending id
}

// TopicPermissions holds in one topic.
type TopicPermissions struct {
	Topic                      uint32
	ManageTopic, ReadTopic     bool
	PollMessages, SendMessages bool
}

func appendBools(dst []byte, flags ...bool) []byte {
	for _, flag := range flags {
		dst = appendBool(dst, flag)
	}
	return dst
}

func appendPermissions(dst []byte, p *Permissions) []byte {
	g := p.Global
	dst = appendBools(dst, g.ManageServers, g.ReadServers, g.ManageUsers, g.ReadUsers, g.ManageStreams,
		g.ReadStreams, g.ManageTopics, g.ReadTopics, g.PollMessages, g.SendMessages)
	dst = appendBool(dst, len(p.Streams) > 0)
	for i, s := range p.Streams {
		dst = binary.LittleEndian.AppendUint32(dst, s.Stream)
		dst = appendBools(dst, s.ManageStream, s.ReadStream, s.ManageTopics, s.ReadTopics,
			s.PollMessages, s.SendMessages, len(s.Topics) > 0)
		for j, t := range s.Topics {
			dst = binary.LittleEndian.AppendUint32(dst, t.Topic)
			dst = appendBools(dst, t.ManageTopic, t.ReadTopic, t.PollMessages, t.SendMessages,
				j < len(s.Topics)-1)
		}
		dst = appendBool(dst, i < len(p.Streams)-1)
	}
	return dst
}

func (r *reader) permissions() *Permissions {
	p := &Permissions{Global: GlobalPermissions{
		ManageServers: r.bool(), ReadServers: r.bool(),
		ManageUsers: r.bool(), ReadUsers: r.bool(),
		ManageStreams: r.bool(), ReadStreams: r.bool(),
		ManageTopics: r.bool(), ReadTopics: r.bool(),
		PollMessages: r.bool(), SendMessages: r.bool(),
	}}
	for another := r.bool(); another; another = r.bool() {
		p.Streams = append(p.Streams, r.streamPermissions())
	}
	return p
}

func (r *reader) streamPermissions() StreamPermissions {
	s := StreamPermissions{
		Stream:       r.u32(),
		ManageStream: r.bool(), ReadStream: r.bool(),
		ManageTopics: r.bool(), ReadTopics: r.bool(),
		PollMessages: r.bool(), SendMessages: r.bool(),
	}
	for another := r.bool(); another; another = r.bool() {
		s.Topics = append(s.Topics, TopicPermissions{
			Topic:       r.u32(),
			ManageTopic: r.bool(), ReadTopic: r.bool(),
			PollMessages: r.bool(), SendMessages: r.bool(),
		})
	}
	return s
}

// appendOptionalPermissions appends a flag and, if p is not nil, the length in
// bytes (u32) and the permissions.
func appendOptionalPermissions(dst []byte, p *Permissions) []byte {
	if p == nil {
		return append(dst, 0)
	}
	start := len(dst) + 1
	dst = appendPermissions(append(dst, 1, 0, 0, 0, 0), p)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func (r *reader) optionalPermissions() *Permissions {
	if !r.bool() {
		return nil
	}
	length := r.u32()
	if uint64(length) > uint64(len(r.b)) {
		r.fail(ErrMalformed)
		return nil
	}
	inner := reader{b: r.take(int(length)), err: r.err}
	p := inner.permissions()
	if len(inner.b) > 0 {
		inner.fail(ErrMalformed)
	}
	if inner.err != nil {
		r.fail(inner.err)
		return nil
	}
	return p
}
