// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggytest

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// Place is a topic, by Iggy's numbers.
type Place struct{ Stream, Topic uint32 }

// Grant is a set of permissions with a name.
type Grant struct {
	Name        string
	Permissions *iggywire.Permissions
}

// Grants are all single permissions that Iggy has, everywhere, in the stream of a place, and there; none at all; and all
// that there are, but in another stream and another topic.
func Grants(at Place) []Grant {
	type (
		global = iggywire.GlobalPermissions
		stream = iggywire.StreamPermissions
		topic  = iggywire.TopicPermissions
	)
	everywhere := func(g global) *iggywire.Permissions { return &iggywire.Permissions{Global: g} }
	in := func(s stream) *iggywire.Permissions {
		if s.Stream == 0 {
			s.Stream = at.Stream
		}
		return &iggywire.Permissions{Streams: []stream{s}}
	}
	on := func(t topic) *iggywire.Permissions {
		if t.Topic == 0 {
			t.Topic = at.Topic
		}
		return in(stream{Topics: []topic{t}})
	}
	const elsewhere = 1<<32 - 1
	return []Grant{
		{"nothing", nil},
		{"nothing-said", &iggywire.Permissions{}},
		{"manage-servers", everywhere(global{ManageServers: true})},
		{"read-servers", everywhere(global{ReadServers: true})},
		{"manage-users", everywhere(global{ManageUsers: true})},
		{"read-users", everywhere(global{ReadUsers: true})},
		{"manage-streams", everywhere(global{ManageStreams: true})},
		{"read-streams", everywhere(global{ReadStreams: true})},
		{"manage-topics", everywhere(global{ManageTopics: true})},
		{"read-topics", everywhere(global{ReadTopics: true})},
		{"poll", everywhere(global{PollMessages: true})},
		{"send", everywhere(global{SendMessages: true})},
		{"stream.manage-stream", in(stream{ManageStream: true})},
		{"stream.read-stream", in(stream{ReadStream: true})},
		{"stream.manage-topics", in(stream{ManageTopics: true})},
		{"stream.read-topics", in(stream{ReadTopics: true})},
		{"stream.poll", in(stream{PollMessages: true})},
		{"stream.send", in(stream{SendMessages: true})},
		{"topic.manage", on(topic{ManageTopic: true})},
		{"topic.read", on(topic{ReadTopic: true})},
		{"topic.poll", on(topic{PollMessages: true})},
		{"topic.send", on(topic{SendMessages: true})},
		{"other-stream", in(stream{
			Stream: elsewhere, ManageStream: true, ReadStream: true, ManageTopics: true, ReadTopics: true, PollMessages: true, SendMessages: true,
		})},
		{"other-topic", on(topic{Topic: elsewhere, ManageTopic: true, ReadTopic: true, PollMessages: true, SendMessages: true})},
	}
}
