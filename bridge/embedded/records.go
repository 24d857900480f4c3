// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// The catalogue is stored as one JSON record per fact. Numbers in keys are
// hexadecimal of fixed length, so that keys sort like the numbers.
//
//	incarnation                    the next incarnation of a topic
//	stream/STREAM                  a stream
//	topic/STREAM/TOPIC             a topic, with its partitions
//	offset/INCARNATION/PARTITION/KIND/NUMBER or =NAME    a consumer's offset
const (
	incarnationKey = "incarnation"
	streamPrefix   = "stream/"
	topicPrefix    = "topic/"
	offsetPrefix   = "offset/"
)

type storedStream struct {
	ID        uint32
	Name      string
	CreatedAt uint64
}

type storedTopic struct {
	Stream, ID  uint32
	Settings    topicSettings
	CreatedAt   uint64
	Incarnation uint64
	Partitions  []uint64 // when each was created
}

type storedOffset struct {
	Incarnation uint64
	Partition   uint32
	Kind        iggywire.ConsumerKind
	Named       bool
	Name        string
	Number      uint32
	Offset      uint64
}

func newRecord(key string, value any) record {
	b, err := json.Marshal(value)
	if err != nil {
		panic("embedded: a record that is no JSON: " + err.Error()) // only our own plain structs come here
	}
	return record{key: key, value: b}
}

func incarnationRecord(next uint64) record { return newRecord(incarnationKey, next) }

func streamKey(st *stream) string { return fmt.Sprintf("%s%08x", streamPrefix, st.id) }

func streamRecord(st *stream) record {
	return newRecord(streamKey(st), storedStream{ID: st.id, Name: st.name, CreatedAt: st.createdAt})
}

func topicKey(t *topic) string { return fmt.Sprintf("%s%08x/%08x", topicPrefix, t.stream.id, t.id) }

func topicRecord(t *topic) record {
	stored := storedTopic{
		Stream: t.stream.id, ID: t.id, Settings: t.settings,
		CreatedAt: t.createdAt, Incarnation: t.incarnation,
		Partitions: make([]uint64, len(t.partitions)),
	}
	for i, p := range t.partitions {
		stored.Partitions[i] = p.createdAt
	}
	return newRecord(topicKey(t), stored)
}

func offsetKey(id logID, key consumerKey) string {
	prefix := fmt.Sprintf("%s%016x/%08x/%d/", offsetPrefix, id.incarnation, id.partition, key.kind)
	if name, named := key.id.Name(); named {
		return prefix + "=" + name
	}
	number, _ := key.id.Number()
	return fmt.Sprintf("%s%08x", prefix, number)
}

func offsetRecord(id logID, key consumerKey, offset uint64) record {
	stored := storedOffset{Incarnation: id.incarnation, Partition: id.partition, Kind: key.kind, Offset: offset}
	stored.Name, stored.Named = key.id.Name()
	stored.Number, _ = key.id.Number()
	return newRecord(offsetKey(id, key), stored)
}

// load builds the catalogue from the store's records.
func (s *Server) load() error {
	records, err := s.store.load()
	if err != nil {
		return err
	}
	l := loader{server: s, topics: make(map[uint32]map[uint32]*topic), logs: make(map[logID]*partition)}
	if err := l.read(records); err != nil {
		return err
	}
	l.finish()
	return nil
}

// loader gathers records until the numbers of all streams and topics are known.
type loader struct {
	server  *Server
	streams map[uint32]*stream
	topics  map[uint32]map[uint32]*topic // by stream
	logs    map[logID]*partition
}

func (l *loader) read(records []record) error {
	l.streams = make(map[uint32]*stream)
	// What refers to something else is read after it, whatever the keys' order.
	for _, kind := range []struct {
		prefix string
		read   func([]byte) error
	}{
		{incarnationKey, l.incarnation},
		{streamPrefix, l.stream},
		{topicPrefix, l.topic},
		{offsetPrefix, l.offset},
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
	l.topics[stored.ID] = make(map[uint32]*topic)
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
		createdAt: stored.CreatedAt, incarnation: stored.Incarnation,
	}
	for i, createdAt := range stored.Partitions {
		p, err := l.server.openPartition(logID{incarnation: t.incarnation, partition: uint32(i)}, createdAt)
		if err != nil {
			return err
		}
		t.partitions = append(t.partitions, p)
		l.logs[p.logID] = p
	}
	st.topicNames[t.settings.Name] = t
	l.topics[st.id][t.id] = t
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
	key := consumerKey{kind: stored.Kind, id: iggywire.NumericID(stored.Number)}
	if stored.Named {
		key.id = iggywire.NamedID(stored.Name)
	}
	p.offsets[key] = stored.Offset
	return nil
}

func (l *loader) finish() {
	c := &l.server.catalog
	c.streams.restore(l.streams)
	c.streamNames = make(map[string]*stream, len(l.streams))
	for id, st := range l.streams {
		c.streamNames[st.name] = st
		st.topics.restore(l.topics[id])
	}
}
