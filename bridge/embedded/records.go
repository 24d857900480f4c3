// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/json"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// The catalogue is stored as one JSON record per fact. Numbers in keys are
// hexadecimal of fixed length, so that keys sort like the numbers.
//
//	incarnation                                the next incarnation of a topic or group
//	stream/STREAM                              a stream
//	topic/STREAM/TOPIC                         a topic, with its partitions
//	group/STREAM/TOPIC/GROUP                   a consumer group
//	segment/INCARNATION/PARTITION/BASE         a segment of a partition
//	unflushed/INCARNATION/PARTITION            what a real server would lose of it
//	offset/INCARNATION/PARTITION/CONSUMER      a consumer's offset in a partition
//	user/USER                                  a user; the root user is the configuration's
//	token/USER/NAME                            a personal access token
const (
	groupPrefix     = "group/"
	userPrefix      = "user/"
	tokenPrefix     = "token/"
	incarnationKey  = "incarnation"
	streamPrefix    = "stream/"
	topicPrefix     = "topic/"
	segmentPrefix   = "segment/"
	unflushedPrefix = "unflushed/"
	offsetPrefix    = "offset/"
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

type storedSegment struct {
	Incarnation uint64
	Partition   uint32
	Base        uint64
	Size        uint64
	Timestamp   uint64
	First       bool // those before were taken away
}

type storedUnflushed struct {
	Incarnation uint64
	Partition   uint32
	End         uint64 // of what was flushed
}

type storedOffset struct {
	Incarnation uint64
	Partition   uint32
	Group       uint64 // 0: a single consumer
	Named       bool
	Name        string
	Number      uint32
	Offset      uint64
}

type storedGroup struct {
	Stream, Topic, ID uint32
	Incarnation       uint64
	Name              string
}

type storedUser struct {
	ID          uint32
	CreatedAt   uint64
	Name        string
	Status      uint8
	Password    password
	Permissions *iggywire.Permissions
}

type storedToken struct {
	Owner     uint32
	Name      string
	Hash      []byte
	ExpiresAt uint64
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

func groupKey(g *group) string {
	return fmt.Sprintf("%s%08x/%08x/%08x", groupPrefix, g.topic.stream.id, g.topic.id, g.id)
}

func groupRecord(g *group) record {
	return newRecord(groupKey(g), storedGroup{
		Stream: g.topic.stream.id, Topic: g.topic.id, ID: g.id, Incarnation: g.incarnation, Name: g.name,
	})
}

func segmentKey(id logID, base uint64) string {
	return fmt.Sprintf("%s%016x/%08x/%016x", segmentPrefix, id.incarnation, id.partition, base)
}

func segmentRecord(id logID, sg segment, first bool) record {
	return newRecord(segmentKey(id, sg.base), storedSegment{
		Incarnation: id.incarnation, Partition: id.partition,
		Base: sg.base, Size: sg.size, Timestamp: sg.timestamp, First: first,
	})
}

func unflushedKey(id logID) string {
	return fmt.Sprintf("%s%016x/%08x", unflushedPrefix, id.incarnation, id.partition)
}

func unflushedRecord(id logID, end uint64) record {
	return newRecord(unflushedKey(id), storedUnflushed{Incarnation: id.incarnation, Partition: id.partition, End: end})
}

func offsetKey(id logID, key consumerKey) string {
	prefix := fmt.Sprintf("%s%016x/%08x/", offsetPrefix, id.incarnation, id.partition)
	if key.group != 0 {
		return fmt.Sprintf("%sgroup %016x", prefix, key.group)
	}
	return prefix + key.single.String()
}

func offsetRecord(id logID, key consumerKey, offset uint64) record {
	stored := storedOffset{Incarnation: id.incarnation, Partition: id.partition, Group: key.group, Offset: offset}
	stored.Name, stored.Named = key.single.Name()
	stored.Number, _ = key.single.Number()
	return newRecord(offsetKey(id, key), stored)
}

func userKey(u *user) string { return fmt.Sprintf("%s%08x", userPrefix, u.id) }

// userRecords has nothing for the root user, who is the configuration's.
func userRecords(u *user) []record {
	if u.id == rootID {
		return nil
	}
	return []record{newRecord(userKey(u), storedUser{
		ID: u.id, CreatedAt: u.createdAt, Name: u.name, Status: u.status,
		Password: u.password, Permissions: u.permissions,
	})}
}

func tokenKey(t *token) string { return fmt.Sprintf("%s%08x/%s", tokenPrefix, t.owner.id, t.name) }

func tokenRecord(t *token) record {
	return newRecord(tokenKey(t), storedToken{Owner: t.owner.id, Name: t.name, Hash: t.hash[:], ExpiresAt: t.expiresAt})
}
