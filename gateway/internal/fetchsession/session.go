// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a session is charged in bytes: its structs with their places in the maps, and the names it keeps with what Go rounds
// their sizes up to, an eighth at most. It is never charged less than before, as Go's maps do not shrink. A test compares it
// with the heap.
const (
	sessionCharge   = 512
	topicCharge     = 384
	partitionCharge = 112
)

// extent is how much a session holds.
type extent struct {
	partitions, topics int
	names              int // bytes of the topics' names
}

func (e extent) plus(o extent) extent {
	return extent{e.partitions + o.partitions, e.topics + o.topics, e.names + o.names}
}

func (e extent) charge() int64 {
	return sessionCharge + int64(e.names+e.names/8+e.topics*topicCharge+e.partitions*partitionCharge)
}

// Topic is how a client names a topic: by name up to version 12, by id from 13 on.
type Topic struct {
	Name string
	ID   [16]byte
}

// session is the partitions of one client, in the order to serve them.
type session struct {
	byID  bool
	place place // Cache.mu guards it

	mu     sync.Mutex // guards what follows
	epoch  int32      // of the request that is due
	topics map[Topic]*topic
	order  entry // the ring's head: order.next is to be served first
	size   int   // partitions
	names  int   // bytes of the topics' names
	charge int64 // bytes
}

type topic struct {
	Topic
	resolved string // the name that the id had when it was last known
	entries  map[int32]*entry
}

// entry is one partition of a session.
type entry struct {
	topic      *topic
	next, prev *entry

	offset        int64 // what the client asks
	maxBytes      int32
	leaderEpoch   int32
	partition     int32
	resolved      bool  // the topic's id was known in a fetch of this partition
	highWatermark int64 // what the client was told
	logStart      int64
}

func newSession(byID bool) *session {
	s := &session{byID: byID, epoch: 1, topics: map[Topic]*topic{}, charge: sessionCharge}
	s.order.next, s.order.prev = &s.order, &s.order
	return s
}

func (s *session) extent() extent { return extent{s.size, len(s.topics), s.names} }

// lacks says how much of what a request names is not in the session; what it names twice counts twice. mu is held.
func (s *session) lacks(req *kmsg.FetchRequest) (e extent) {
	for i := range req.Topics {
		in := &req.Topics[i]
		if len(in.Partitions) == 0 {
			continue
		}
		name := nameOf(in.Topic, in.TopicID, s.byID)
		t := s.topics[name]
		if t == nil {
			e = e.plus(extent{len(in.Partitions), 1, len(name.Name)})
			continue
		}
		for j := range in.Partitions {
			if t.entries[in.Partitions[j].Partition] == nil {
				e.partitions++
			}
		}
	}
	return e
}

// name takes in what a request names. mu is held.
func (s *session) name(req *kmsg.FetchRequest) {
	for i := range req.Topics {
		in := &req.Topics[i]
		if len(in.Partitions) == 0 {
			continue
		}
		t := s.topic(nameOf(in.Topic, in.TopicID, s.byID), len(in.Partitions))
		for j := range in.Partitions {
			s.ask(t, &in.Partitions[j])
		}
	}
	s.charge = max(s.charge, s.extent().charge())
}

// forget drops what a request forgets, also what it names as well. mu is held.
func (s *session) forget(req *kmsg.FetchRequest) {
	for i := range req.ForgottenTopics {
		in := &req.ForgottenTopics[i]
		if t := s.topics[nameOf(in.Topic, in.TopicID, s.byID)]; t != nil {
			for _, p := range in.Partitions {
				s.remove(t, p)
			}
		}
	}
}

// nameOf leaves out what the version does not have.
func nameOf(name string, id [16]byte, byID bool) Topic {
	if byID {
		return Topic{ID: id}
	}
	return Topic{Name: name}
}

// topic finds a topic, or adds it, with room for so many partitions.
func (s *session) topic(name Topic, partitions int) *topic {
	t := s.topics[name]
	if t == nil {
		t = &topic{Topic: name, entries: make(map[int32]*entry, partitions)}
		s.topics[name] = t
		s.names += len(name.Name)
	}
	return t
}

// ask adds a partition at the end, or changes what is asked of it.
func (s *session) ask(t *topic, in *kmsg.FetchRequestTopicPartition) {
	e := t.entries[in.Partition]
	if e == nil {
		e = &entry{topic: t, partition: in.Partition, highWatermark: -1, logStart: -1}
		t.entries[in.Partition] = e
		s.append(e)
		s.size++
	}
	e.offset, e.maxBytes, e.leaderEpoch = in.FetchOffset, in.PartitionMaxBytes, in.CurrentLeaderEpoch
}

func (s *session) remove(t *topic, partition int32) {
	e := t.entries[partition]
	if e == nil {
		return
	}
	e.unlink()
	delete(t.entries, partition)
	s.size--
	if len(t.entries) == 0 {
		delete(s.topics, t.Topic)
		s.names -= len(t.Name)
	}
}

func (s *session) append(e *entry) {
	last := s.order.prev
	e.prev, e.next = last, &s.order
	last.next, s.order.prev = e, e
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}

// tell notes what the client is told of a partition, and says whether that is news to it. After an error whatever comes
// is news. A partition that had records goes to the end, so that each gets its turn however small the answers are.
func (s *session) tell(e *entry, o Outcome) (news bool) {
	news = o.isNews(e.highWatermark, e.logStart)
	e.highWatermark, e.logStart = o.HighWatermark, o.LogStart
	if o.Failed {
		e.highWatermark = -1
	}
	if o.Records {
		e.unlink()
		s.append(e)
	}
	if o.Resolved != "" {
		e.resolved = true
		e.topic.resolved = o.Resolved
	}
	return news
}

// isNews compares with what the client was told last.
func (o Outcome) isNews(highWatermark, logStart int64) bool {
	return o.Records || o.Failed || highWatermark != o.HighWatermark || logStart != o.LogStart
}
