// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// catalog is what exists: streams, their topics, partitions. mu guards all of it
// but what partitions guard themselves; it is taken before any partition's
// mutexes, and nothing waits while holding it. Whoever changes the catalogue
// hands the records of the change to the store before mu is given back, so that
// the store sees changes in the order in which they were made.
type catalog struct {
	mu              sync.RWMutex
	streams         slab[stream]
	streamNames     map[string]*stream
	nextIncarnation uint64

	users     slab[user]
	userNames map[string]*user
	tokens    map[[sha256.Size]byte]*token // by hash
}

// edit is a change of the catalogue as the store has to make it.
type edit struct {
	records []record
	dropped []logRange
}

// change carries out a change of the catalogue and waits until it is durable.
// When do refuses, nothing was changed.
func (s *Server) change(do func() (edit, iggywire.Status)) iggywire.Status {
	s.catalog.mu.Lock()
	e, status := do()
	if status != iggywire.StatusOK {
		s.catalog.mu.Unlock()
		return status
	}
	wait := s.commit(e)
	s.catalog.mu.Unlock()
	return wait()
}

type stream struct {
	id         uint32
	name       string
	createdAt  uint64
	topics     slab[topic]
	topicNames map[string]*topic
}

type topic struct {
	id          uint32
	stream      *stream
	settings    topicSettings
	createdAt   uint64
	incarnation uint64
	partitions  []*partition
	groups      slab[group]
	groupNames  map[string]*group
	turn        atomic.Uint32 // of the partition that gets the next balanced send
}

// topicSettings is what UpdateTopic can change.
type topicSettings struct {
	Name              string
	MessageExpiry     uint64
	Compression       uint8
	MaxSize           uint64
	ReplicationFactor uint8
}

func (c *catalog) stream(id iggywire.Identifier) *stream {
	if name, named := id.Name(); named {
		return c.streamNames[name]
	}
	number, _ := id.Number()
	return c.streams.get(number)
}

// topic returns the topic, or the status that says what is missing.
func (c *catalog) topic(streamID, topicID iggywire.Identifier) (*topic, iggywire.Status) {
	s := c.stream(streamID)
	if s == nil {
		return nil, iggywire.StatusStreamNotFound
	}
	if t := s.topic(topicID); t != nil {
		return t, iggywire.StatusOK
	}
	return nil, iggywire.StatusTopicNotFound
}

func (s *stream) topic(id iggywire.Identifier) *topic {
	if name, named := id.Name(); named {
		return s.topicNames[name]
	}
	number, _ := id.Number()
	return s.topics.get(number)
}

func (t *topic) partition(number uint32) (*partition, iggywire.Status) {
	if uint64(number) >= uint64(len(t.partitions)) {
		return nil, iggywire.StatusPartitionNotFound
	}
	return t.partitions[number], iggywire.StatusOK
}

// describe tells what clients see of the stream, with its topics if wanted.
func (s *stream) describe(withTopics bool) iggywire.StreamDetails {
	d := iggywire.StreamDetails{Stream: iggywire.Stream{
		ID: s.id, CreatedAt: s.createdAt, Topics: uint32(s.topics.count), Name: s.name,
	}}
	for _, t := range s.topics.all {
		described := t.describe(false).Topic
		d.Size += described.Size
		d.Messages += described.Messages
		if withTopics {
			d.TopicList = append(d.TopicList, described)
		}
	}
	return d
}

// describe tells what clients see of the topic, with its partitions if wanted.
func (t *topic) describe(withPartitions bool) iggywire.TopicDetails {
	d := iggywire.TopicDetails{Topic: iggywire.Topic{
		ID: t.id, CreatedAt: t.createdAt, Partitions: uint32(len(t.partitions)),
		MessageExpiry: t.settings.MessageExpiry, Compression: t.settings.Compression,
		MaxSize: t.settings.MaxSize, ReplicationFactor: t.settings.ReplicationFactor,
		Name: t.settings.Name,
	}}
	for _, p := range t.partitions {
		described := p.describe()
		d.Size += described.Size
		d.Messages += described.Messages
		if withPartitions {
			d.PartitionList = append(d.PartitionList, described)
		}
	}
	return d
}
