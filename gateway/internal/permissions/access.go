// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Rights is what somebody may do with a topic, as a set. Each says no more than its name: Read does not include Poll, though
// in Iggy nobody has the one without the other.
type Rights uint8

const (
	Read   Rights = 1 << iota // look at the topic: its settings and producers
	Poll                      // read its messages and keep offsets in it
	Send                      // write messages
	Manage                    // change, purge and delete it; of a stream: make topics in it, too

	// Describe is one of all: who may do anything with a topic may know of it. Kafka says the same of its operations
	// (AclAuthorizer: READ, WRITE, DELETE and ALTER imply DESCRIBE), and no producer writes to what Metadata does not show it.
	Describe = Read | Poll | Send | Manage
)

// Any says whether one of the wanted rights is there.
func (r Rights) Any(wanted Rights) bool { return r&wanted != 0 }

// Access is what a user may do. It does not change and is safe for concurrent use.
type Access struct {
	global  Rights
	streams map[uint32]Rights // by Iggy's number of the stream
	topics  map[place]Rights
	// anywhere is what the user may do with at least one topic, were it there.
	anywhere Rights

	readServers, manageServers bool
	readUsers                  bool
}

// place is a topic as permissions name it.
type place struct{ stream, topic uint32 }

// Everything is the access of who needs no permission: of all clients while there is no authentication.
func Everything() *Access {
	return &Access{global: Describe, anywhere: Describe, readServers: true, manageServers: true, readUsers: true}
}

// New returns the access that goes with a user's permissions; nil are none.
func New(p *iggywire.Permissions) *Access {
	a := &Access{}
	if p == nil {
		return a
	}
	g := &p.Global
	a.manageServers = g.ManageServers
	a.readServers = g.ManageServers || g.ReadServers
	a.readUsers = g.ManageUsers || g.ReadUsers
	a.global = rights(g.ManageStreams || g.ManageTopics, g.ReadStreams || g.ReadTopics, g.PollMessages, g.SendMessages)
	a.anywhere = a.global
	a.streams = make(map[uint32]Rights, len(p.Streams))
	for i := range p.Streams {
		s := &p.Streams[i]
		in := rights(s.ManageStream || s.ManageTopics, s.ReadStream || s.ReadTopics, s.PollMessages, s.SendMessages)
		a.streams[s.Stream] |= in
		a.anywhere |= in
		for j := range s.Topics {
			t := &s.Topics[j]
			at := rights(t.ManageTopic, t.ReadTopic, t.PollMessages, t.SendMessages)
			if a.topics == nil {
				a.topics = map[place]Rights{}
			}
			a.topics[place{s.Stream, t.Topic}] |= at
			a.anywhere |= at
		}
	}
	return a
}

// rights applies Iggy's inheritance, which is the same at each level: managing includes all, reading includes polling.
func rights(manage, read, poll, send bool) Rights {
	var r Rights
	switch {
	case manage:
		return Read | Poll | Send | Manage
	case read:
		r = Read | Poll
	case poll:
		r = Poll
	}
	if send {
		r |= Send
	}
	return r
}

// Rights are those to a topic that is there.
func (a *Access) Rights(t *bridge.Topic) Rights {
	if len(a.streams) == 0 {
		return a.global
	}
	stream, topic := t.Numbers()
	return a.RightsIn(stream) | a.topics[place{stream, topic}]
}

// RightsIn are those to every topic of a stream, whether it is there or not.
func (a *Access) RightsIn(stream uint32) Rights { return a.global | a.streams[stream] }

// RightsEverywhere are those to every topic of every stream.
func (a *Access) RightsEverywhere() Rights { return a.global }

// MayDescribe: be told of a topic by name.
func (a *Access) MayDescribe(t *bridge.Topic) bool { return a.Rights(t).Any(Describe) }

// MayRead: look at a topic's settings and producers.
func (a *Access) MayRead(t *bridge.Topic) bool { return a.Rights(t).Any(Read) }

// MayPoll: read a topic's messages and keep offsets in it.
func (a *Access) MayPoll(t *bridge.Topic) bool { return a.Rights(t).Any(Poll) }

// MaySend: write messages to a topic.
func (a *Access) MaySend(t *bridge.Topic) bool { return a.Rights(t).Any(Send) }

// MayManage: change, purge and delete a topic.
func (a *Access) MayManage(t *bridge.Topic) bool { return a.Rights(t).Any(Manage) }

// MayUseGroups: be a member of groups, and look at them. Groups belong to no topic, so having something to read is enough.
func (a *Access) MayUseGroups() bool { return a.anywhere.Any(Read | Poll) }

// MaySendAnywhere: write to at least one topic.
func (a *Access) MaySendAnywhere() bool { return a.anywhere.Any(Send) }

// MayManageTopics: make topics in a stream and manage all that are in it.
func (a *Access) MayManageTopics(stream uint32) bool { return a.RightsIn(stream).Any(Manage) }

// MayReadServers: look at the gateway's settings, sizes and quotas.
func (a *Access) MayReadServers() bool { return a.readServers }

// MayManageServers: change quotas.
func (a *Access) MayManageServers() bool { return a.manageServers }

// MayReadUsers: look at what other users may do.
func (a *Access) MayReadUsers() bool { return a.readUsers }
