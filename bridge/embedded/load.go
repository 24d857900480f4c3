// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// load builds the catalogue from the store's records.
func (s *Server) load() error {
	records, err := s.store.load()
	if err != nil {
		return err
	}
	l := loader{
		server:   s,
		streams:  make(map[uint32]*stream),
		topics:   make(map[topicID]*topic),
		groups:   make(map[topicID]map[uint32]*group),
		segments: make(map[logID][]segment),
		logs:     make(map[logID]*partition),
		users:    map[uint32]*user{rootID: s.root()},
	}
	s.catalog.nextIncarnation, s.catalog.tokens = 1, make(map[[sha256.Size]byte]*token)
	if err := l.read(records); err != nil {
		return err
	}
	for id := range l.segments {
		return fmt.Errorf("partition %d of incarnation %d has segments and is missing", id.partition, id.incarnation)
	}
	l.finish()
	if status := s.commit(edit{records: l.changes})(); status != iggywire.StatusOK {
		return status
	}
	return nil
}

// root is the root user by the configuration. Its password never leaves memory,
// so that a cheap hash does.
func (s *Server) root() *user {
	return &user{
		id: rootID, createdAt: s.now(), name: s.cfg.Username, status: iggywire.UserActive,
		password: newPassword(s.cfg.Password, 1), permissions: everything(), tokens: make(map[string]*token),
	}
}

// everything is what the root user's permissions look like to others.
func everything() *iggywire.Permissions {
	return &iggywire.Permissions{Global: iggywire.GlobalPermissions{
		ManageServers: true, ReadServers: true, ManageUsers: true, ReadUsers: true,
		ManageStreams: true, ReadStreams: true, ManageTopics: true, ReadTopics: true,
		PollMessages: true, SendMessages: true,
	}}
}

// loader gathers records until the numbers of all streams and topics are known.
type loader struct {
	server   *Server
	streams  map[uint32]*stream
	topics   map[topicID]*topic
	groups   map[topicID]map[uint32]*group
	segments map[logID][]segment
	logs     map[logID]*partition
	users    map[uint32]*user
	changes  []record // of the records, found to be due
}

type topicID struct{ stream, topic uint32 }

func (l *loader) read(records []record) error {
	// What refers to something else is read after it, whatever the keys' order.
	for _, kind := range []struct {
		prefix string
		read   func([]byte) error
	}{
		{incarnationKey, l.incarnation},
		{streamPrefix, l.stream},
		{segmentPrefix, l.segment},
		{topicPrefix, l.topic},
		{unflushedPrefix, l.unflushed},
		{groupPrefix, l.group},
		{offsetPrefix, l.offset},
		{userPrefix, l.user},
		{tokenPrefix, l.token},
	} {
		for _, r := range records {
			if !strings.HasPrefix(r.key, kind.prefix) {
				continue
			}
			if err := kind.read(r.value); err != nil {
				return fmt.Errorf("record %q: %w", r.key, err)
			}
		}
	}
	return nil
}

func (l *loader) incarnation(b []byte) error {
	return json.Unmarshal(b, &l.server.catalog.nextIncarnation)
}

func (l *loader) stream(b []byte) error {
	var stored storedStream
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	l.streams[stored.ID] = &stream{
		id: stored.ID, name: stored.Name, createdAt: stored.CreatedAt,
		topicNames: make(map[string]*topic),
	}
	return nil
}

// segment is called in the order of the segments of a partition. The very first
// has no record: it is there as long as none says that those before were taken away.
func (l *loader) segment(b []byte) error {
	var stored storedSegment
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	id := logID{incarnation: stored.Incarnation, partition: stored.Partition}
	if l.segments[id] == nil && !stored.First {
		l.segments[id] = []segment{{}}
	}
	l.segments[id] = append(l.segments[id], segment{base: stored.Base, size: stored.Size, timestamp: stored.Timestamp})
	return nil
}

func (l *loader) topic(b []byte) error {
	var stored storedTopic
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	st := l.streams[stored.Stream]
	if st == nil {
		return fmt.Errorf("its stream %d is missing", stored.Stream)
	}
	t := &topic{
		id: stored.ID, stream: st, settings: stored.Settings,
		createdAt: stored.CreatedAt, incarnation: stored.Incarnation, groupNames: make(map[string]*group),
	}
	for i, createdAt := range stored.Partitions {
		id := logID{incarnation: t.incarnation, partition: uint32(i)}
		segments := l.segments[id]
		delete(l.segments, id)
		log, last, err := l.server.store.open(id)
		if err != nil {
			return fmt.Errorf("log of partition %d: %w", i, err)
		}
		p := l.server.newPartition(id, createdAt, log, last, segments)
		t.partitions = append(t.partitions, p)
		l.logs[p.logID] = p
	}
	st.topicNames[t.settings.Name] = t
	l.topics[topicID{st.id, t.id}] = t
	return nil
}

// unflushed cuts off what a real server would have lost, or lets bygones be
// bygones when nothing shall be lost any more.
func (l *loader) unflushed(b []byte) error {
	var stored storedUnflushed
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	id := logID{incarnation: stored.Incarnation, partition: stored.Partition}
	p := l.logs[id]
	if p == nil {
		return fmt.Errorf("its partition %d of incarnation %d is missing", stored.Partition, stored.Incarnation)
	}
	l.changes = append(l.changes, record{key: unflushedKey(id)})
	if !p.loseUnflushed {
		return nil
	}
	gone, err := p.lose(stored.End)
	l.changes = append(l.changes, gone...)
	return err
}

func (l *loader) group(b []byte) error {
	var stored storedGroup
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	id := topicID{stored.Stream, stored.Topic}
	t := l.topics[id]
	if t == nil {
		return fmt.Errorf("its topic %d of stream %d is missing", stored.Topic, stored.Stream)
	}
	g := &group{id: stored.ID, incarnation: stored.Incarnation, name: stored.Name, topic: t}
	t.groupNames[g.name] = g
	if l.groups[id] == nil {
		l.groups[id] = make(map[uint32]*group)
	}
	l.groups[id][g.id] = g
	return nil
}

func (l *loader) user(b []byte) error {
	var stored storedUser
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	if stored.ID == rootID {
		return errors.New("the root user is not stored")
	}
	l.users[stored.ID] = &user{
		id: stored.ID, createdAt: stored.CreatedAt, name: stored.Name, status: stored.Status,
		password: stored.Password, permissions: stored.Permissions, tokens: make(map[string]*token),
	}
	return nil
}

func (l *loader) token(b []byte) error {
	var stored storedToken
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	owner := l.users[stored.Owner]
	if owner == nil || len(stored.Hash) != sha256.Size {
		return fmt.Errorf("its owner %d is missing or its hash is %d bytes", stored.Owner, len(stored.Hash))
	}
	t := &token{owner: owner, name: stored.Name, hash: [sha256.Size]byte(stored.Hash), expiresAt: stored.ExpiresAt}
	owner.tokens[t.name] = t
	l.server.catalog.tokens[t.hash] = t
	return nil
}

func (l *loader) offset(b []byte) error {
	var stored storedOffset
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	p := l.logs[logID{incarnation: stored.Incarnation, partition: stored.Partition}]
	if p == nil {
		return fmt.Errorf("its partition %d of incarnation %d is missing", stored.Partition, stored.Incarnation)
	}
	key := consumerKey{group: stored.Group, single: iggywire.NumericID(stored.Number)}
	if stored.Named {
		key.single = iggywire.NamedID(stored.Name)
	}
	p.offsets[key] = stored.Offset
	return nil
}

// finish numbers everything, now that the numbers in use are known.
func (l *loader) finish() {
	c := &l.server.catalog
	c.streams.restore(l.streams)
	c.streamNames = make(map[string]*stream, len(l.streams))
	byStream := make(map[uint32]map[uint32]*topic)
	for id, t := range l.topics {
		if byStream[id.stream] == nil {
			byStream[id.stream] = make(map[uint32]*topic)
		}
		byStream[id.stream][id.topic] = t
		t.groups.restore(l.groups[id])
	}
	for id, st := range l.streams {
		c.streamNames[st.name] = st
		st.topics.restore(byStream[id])
	}
	c.users.restore(l.users)
	c.userNames = make(map[string]*user, len(l.users))
	for _, u := range l.users {
		c.userNames[u.name] = u
	}
}
