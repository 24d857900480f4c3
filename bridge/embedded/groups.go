// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// group is a consumer group of a topic. Sessions are its members, for as long as
// they last. The catalogue's mutex guards it.
type group struct {
	id          uint32
	incarnation uint64 // as a topic's: never used again
	name        string
	topic       *topic
	members     slab[member]
}

// member is a session's part in a group.
type member struct {
	session    *session
	partitions []uint32
	turn       atomic.Uint32 // counts the polls that named no partition
}

func (t *topic) group(id iggywire.Identifier) *group {
	if name, named := id.Name(); named {
		return t.groupNames[name]
	}
	number, _ := id.Number()
	return t.groups.get(number)
}

// member returns the session's part in the group, or nil.
func (g *group) member(s *session) (uint32, *member) {
	for id, m := range g.members.all {
		if m.session == s {
			return id, m
		}
	}
	return 0, nil
}

// disband makes the members forget the group, which is going.
func (g *group) disband() {
	for _, m := range g.members.all {
		delete(m.session.groups, g)
	}
}

// rebalance deals the topic's partitions out to the members by turns: what
// happens when a member left or partitions came or went.
func (g *group) rebalance() {
	var members []*member
	for _, m := range g.members.all {
		m.partitions = nil
		members = append(members, m)
	}
	if len(members) == 0 {
		return
	}
	for i, p := range g.topic.partitions {
		m := members[i%len(members)]
		m.partitions = append(m.partitions, p.partition)
	}
}

// welcome gives a new member its share: the last partitions of those members who
// have more than theirs. A real server hands a partition over only when what its
// owner polled is committed; this one does at once.
func (g *group) welcome(m *member) {
	count, partitions := g.members.count, len(g.topic.partitions)
	if count == 1 {
		g.rebalance()
		return
	}
	share, extra := partitions/count, partitions%count
	for _, other := range g.members.all {
		if other == m {
			continue
		}
		allowed := share
		if extra > 0 && len(other.partitions) > share {
			allowed++
			extra--
		}
		for len(other.partitions) > allowed {
			last := len(other.partitions) - 1
			m.partitions = append(m.partitions, other.partitions[last])
			other.partitions = other.partitions[:last]
		}
	}
	slices.Sort(m.partitions)
}

func (t *topic) rebalanceGroups() {
	for _, g := range t.groups.all {
		g.rebalance()
	}
}

func (g *group) describe() iggywire.GroupDetails {
	d := iggywire.GroupDetails{Group: iggywire.Group{
		ID: g.id, Partitions: uint32(len(g.topic.partitions)), Members: uint32(g.members.count), Name: g.name,
	}}
	for id, m := range g.members.all {
		d.MemberList = append(d.MemberList, iggywire.GroupMember{ID: id, Partitions: m.partitions})
	}
	return d
}

func (s *session) getGroups(req iggywire.GetGroups, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(req.Stream, req.Topic)
	switch {
	case status != iggywire.StatusOK:
		return dst, iggywire.StatusOK
	case !s.me().at(t).readTopic():
		return dst, iggywire.StatusUnauthorized
	}
	for _, g := range t.groups.all {
		dst = g.describe().Group.AppendTo(dst)
	}
	return dst, iggywire.StatusOK
}

func (s *session) getGroup(req iggywire.GetGroup, dst []byte) ([]byte, iggywire.Status) {
	c := &s.server.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, status := c.topic(req.Stream, req.Topic)
	if status != iggywire.StatusOK {
		return dst, iggywire.StatusOK
	}
	g := t.group(req.Group)
	switch {
	case g == nil:
		return dst, iggywire.StatusOK
	case !s.me().at(t).readTopic():
		return dst, iggywire.StatusUnauthorized
	}
	return g.describe().AppendTo(dst), iggywire.StatusOK
}

func (s *session) createGroup(req iggywire.CreateGroup, dst []byte) ([]byte, iggywire.Status) {
	status := s.server.change(func() (edit, iggywire.Status) {
		t, status := s.server.catalog.topic(req.Stream, req.Topic)
		switch {
		case status != iggywire.StatusOK:
			return edit{}, status
		case !s.me().at(t).readTopic():
			return edit{}, iggywire.StatusUnauthorized
		case t.groupNames[req.Name] != nil:
			return edit{}, iggywire.StatusGroupExists
		}
		c := &s.server.catalog
		g := &group{id: t.groups.next(), incarnation: c.nextIncarnation, name: req.Name, topic: t}
		c.nextIncarnation++
		t.groups.add(g)
		t.groupNames[g.name] = g
		dst = g.describe().AppendTo(dst)
		return edit{records: []record{groupRecord(g), incarnationRecord(c.nextIncarnation)}}, iggywire.StatusOK
	})
	return dst, status
}

// changeGroup carries out a change of a group by somebody who may read its topic.
func (s *session) changeGroup(stream, topic, id iggywire.Identifier, do func(*group) (edit, iggywire.Status)) iggywire.Status {
	return s.server.change(func() (edit, iggywire.Status) {
		t, status := s.server.catalog.topic(stream, topic)
		if status != iggywire.StatusOK {
			return edit{}, status
		}
		g := t.group(id)
		switch {
		case g == nil:
			return edit{}, iggywire.StatusGroupNotFound
		case !s.me().at(t).readTopic():
			return edit{}, iggywire.StatusUnauthorized
		}
		return do(g)
	})
}

func (s *session) deleteGroup(req iggywire.DeleteGroup, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeGroup(req.Stream, req.Topic, req.Group, func(g *group) (edit, iggywire.Status) {
		e := edit{records: []record{{key: groupKey(g)}}}
		for _, p := range g.topic.partitions {
			if p.forget(g.consumer()) {
				e.records = append(e.records, record{key: offsetKey(p.logID, g.consumer())})
			}
		}
		g.disband()
		g.topic.groups.remove(g.id)
		delete(g.topic.groupNames, g.name)
		return e, iggywire.StatusOK
	})
}

// consumer is whom the group's offsets are stored for.
func (g *group) consumer() consumerKey {
	return consumerKey{group: g.incarnation}
}

func (s *session) joinGroup(req iggywire.JoinGroup, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeGroup(req.Stream, req.Topic, req.Group, func(g *group) (edit, iggywire.Status) {
		if _, m := g.member(s); m == nil {
			m = &member{session: s}
			g.members.add(m)
			s.groups[g] = struct{}{}
			g.welcome(m)
		}
		return edit{}, iggywire.StatusOK
	})
}

func (s *session) leaveGroup(req iggywire.LeaveGroup, dst []byte) ([]byte, iggywire.Status) {
	return dst, s.changeGroup(req.Stream, req.Topic, req.Group, func(g *group) (edit, iggywire.Status) {
		if _, m := g.member(s); m == nil {
			return edit{}, iggywire.StatusGroupMemberNotFound
		}
		s.leave(g)
		return edit{}, iggywire.StatusOK
	})
}

func (s *session) leave(g *group) {
	if id, m := g.member(s); m != nil {
		g.members.remove(id)
		g.rebalance()
	}
	delete(s.groups, g)
}

// leaveAll ends the session's part in all groups, when it ends itself.
func (s *session) leaveAll() {
	c := &s.server.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := range s.groups {
		s.leave(g)
	}
}
