// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// rights is what a user may do in one place, by the rules of Iggy's
// permissioner: a right that holds everywhere includes that of a stream, which
// includes that of a topic; managing includes reading, reading a topic includes
// polling it, and managing it includes sending to it.
type rights struct {
	root   bool
	global iggywire.GlobalPermissions
	stream iggywire.StreamPermissions
	topic  iggywire.TopicPermissions
}

// everywhere is the user's rights outside of any stream. Here and below the
// catalogue's mutex is held.
func (u *user) everywhere() rights {
	r := rights{root: u.id == rootID}
	if u.permissions != nil {
		r.global = u.permissions.Global
	}
	return r
}

// in is the user's rights in a stream.
func (u *user) in(st *stream) rights {
	r := u.everywhere()
	if r.root || u.permissions == nil {
		return r
	}
	list := u.permissions.Streams
	i, found := slices.BinarySearchFunc(list, st.id, func(s iggywire.StreamPermissions, id uint32) int {
		return cmp.Compare(s.Stream, id)
	})
	if found {
		r.stream = list[i]
	}
	return r
}

// at is the user's rights in a topic.
func (u *user) at(t *topic) rights {
	r := u.in(t.stream)
	list := r.stream.Topics
	i, found := slices.BinarySearchFunc(list, t.id, func(t iggywire.TopicPermissions, id uint32) int {
		return cmp.Compare(t.Topic, id)
	})
	if found {
		r.topic = list[i]
	}
	return r
}

// sorted puts permissions in the order that in and at search them in.
func sorted(p *iggywire.Permissions) *iggywire.Permissions {
	if p == nil {
		return nil
	}
	slices.SortFunc(p.Streams, func(a, b iggywire.StreamPermissions) int { return cmp.Compare(a.Stream, b.Stream) })
	for _, s := range p.Streams {
		slices.SortFunc(s.Topics, func(a, b iggywire.TopicPermissions) int { return cmp.Compare(a.Topic, b.Topic) })
	}
	return p
}

// need turns a right into the status of a request that depends on it.
func need(right bool) iggywire.Status {
	if right {
		return iggywire.StatusOK
	}
	return iggywire.StatusUnauthorized
}

func (r rights) readServers() bool {
	return r.root || r.global.ManageServers || r.global.ReadServers
}

func (r rights) manageUsers() bool { return r.root || r.global.ManageUsers }

func (r rights) readUsers() bool { return r.manageUsers() || r.global.ReadUsers }

func (r rights) manageStreams() bool { return r.root || r.global.ManageStreams }

func (r rights) readStreams() bool { return r.manageStreams() || r.global.ReadStreams }

func (r rights) manageStream() bool { return r.manageStreams() || r.stream.ManageStream }

func (r rights) readStream() bool {
	return r.readStreams() || r.stream.ManageStream || r.stream.ReadStream
}

func (r rights) manageTopics() bool {
	return r.manageStream() || r.global.ManageTopics || r.stream.ManageTopics
}

func (r rights) readTopics() bool {
	return r.readStream() || r.manageTopics() || r.global.ReadTopics || r.stream.ReadTopics
}

func (r rights) manageTopic() bool { return r.manageTopics() || r.topic.ManageTopic }

func (r rights) readTopic() bool {
	return r.readTopics() || r.topic.ManageTopic || r.topic.ReadTopic
}

func (r rights) poll() bool {
	return r.readTopic() || r.global.PollMessages || r.stream.PollMessages || r.topic.PollMessages
}

func (r rights) send() bool {
	return r.manageTopic() || r.global.SendMessages || r.stream.SendMessages || r.topic.SendMessages
}
