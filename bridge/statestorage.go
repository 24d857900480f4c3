// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// StateStorage keeps a gateway's state log in an Iggy topic, as the gateway's own user: one message per record, the payload
// its bytes. It is a statelog.Storage.
type StateStorage struct {
	b     *Bridge
	topic *Topic
}

var _ statelog.Storage = (*StateStorage)(nil)

// StateStorageConfig names the topic and says how to make it. Zero values of the optional fields take the defaults named
// beside them.
type StateStorageConfig struct {
	// Topic is the Kafka name, which must be one of Config.InternalTopics: clients may read it and not write to it.
	Topic string
	// Partitions (4) and Expiry, the age at which Iggy may drop messages (90 days), count only when the topic is made.
	Partitions int32
	Expiry     time.Duration
}

func (c StateStorageConfig) withDefaults() StateStorageConfig {
	setDefault(&c.Partitions, 4)
	setDefault(&c.Expiry, 90*24*time.Hour)
	return c
}

// OpenStateStorage finds the topic, or makes it.
func (b *Bridge) OpenStateStorage(ctx context.Context, cfg StateStorageConfig) (*StateStorage, error) {
	cfg = cfg.withDefaults()
	topic, err := b.stateTopic(ctx, cfg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("bridge: state topic %q: %w", cfg.Topic, err)
	case !topic.Internal:
		return nil, fmt.Errorf("bridge: state topic %q is none of Config.InternalTopics: clients could write to it", cfg.Topic)
	case topic.Partitions < 1:
		return nil, fmt.Errorf("bridge: state topic %q has no partitions", cfg.Topic)
	}
	return &StateStorage{b, topic}, nil
}

func (b *Bridge) stateTopic(ctx context.Context, cfg StateStorageConfig) (*Topic, error) {
	for made := false; ; made = true {
		view, err := b.TopicsWithin(ctx, 0)
		if err != nil {
			return nil, err
		}
		if topic, ok := view.ByName(cfg.Topic); ok {
			return topic, nil
		}
		if made {
			return nil, ErrTopicNotFound // and yet it exists, says Iggy
		}
		topic, err := b.CreateTopic(ctx, b.self, TopicSpec{
			Name: cfg.Topic, Partitions: cfg.Partitions,
			MessageExpiry: uint64(cfg.Expiry.Microseconds()), MaxSize: iggywire.UnlimitedSize,
		})
		if !IsExists(err) { // another gateway was faster
			return topic, err
		}
	}
}

// Partitions implements statelog.Storage.
func (s *StateStorage) Partitions() int { return int(s.topic.Partitions) }

// Bounds implements statelog.Storage.
func (s *StateStorage) Bounds(ctx context.Context, partition int) (first, next int64, err error) {
	bounds, err := s.b.Bounds(ctx, s.topic)
	switch {
	case err != nil:
		return 0, 0, err
	case partition >= len(bounds):
		return 0, 0, fmt.Errorf("bridge: topic %q partition %d: %w", s.topic.Name, partition, ErrPartitionNotFound)
	}
	return bounds[partition].Start, bounds[partition].Next, nil
}

// stateAppendTime is how long an append may take whose context has no end of its own.
const stateAppendTime = 10 * time.Second

// Append implements statelog.Storage. It goes through the partition's lane.
func (s *StateStorage) Append(ctx context.Context, partition int, messages []statelog.Message) (base int64, err error) {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(stateAppendTime)
	}
	a := &Append{
		Session: s.b.self, Messages: stateMessages(messages, uint64(now.UnixMicro())), Count: len(messages),
		Deadline: deadline, MaxTimestamp: now.UnixMilli(),
	}
	if err := s.b.Append(s.topic, int32(partition), a); err != nil {
		return 0, err
	}
	appended, err := a.Wait(ctx)
	return appended.BaseOffset, err
}

func stateMessages(messages []statelog.Message, timestamp uint64) []byte {
	ids := mapping.IDs{ProducerID: -1}
	rand.Read(ids.Random[:])
	size := 0
	for i := range messages {
		size += mapping.MessageHeaderSize + len(messages[i].Payload) + checkpointHeaderSize
	}
	out := make([]byte, 0, size)
	var header [checkpointHeaderSize]byte
	for i := range messages {
		m := &messages[i]
		putCheckpoint(&header, m.Checkpoint)
		out = mapping.AppendMessage(out, &mapping.Message{
			ID: ids.ID(i), OriginTimestamp: timestamp, Payload: m.Payload, UserHeaders: header[:],
		})
	}
	return out
}

// stateReadBytes is what one poll should bring.
const stateReadBytes = 4 << 20

// Read implements statelog.Storage.
func (s *StateStorage) Read(ctx context.Context, partition int, from int64, max int) ([]statelog.Message, error) {
	if known, ok := s.b.KnownBounds(s.topic, int32(partition)); ok && known.MessageSize > 0 {
		max = int(min(int64(max), stateReadBytes/known.MessageSize+1))
	}
	polled, err := s.b.Read(ctx, s.b.self, s.topic, int32(partition), from, max)
	if err != nil {
		return nil, err
	}
	rest := bytes.Clone(polled.Messages)
	messages := make([]statelog.Message, 0, polled.Count)
	polled.Release()
	for len(rest) > 0 {
		m, n, err := mapping.ParseMessage(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		messages = append(messages, statelog.Message{Offset: int64(m.Offset), Checkpoint: checkpointOf(m.UserHeaders), Payload: m.Payload})
		rest = rest[n:]
	}
	return messages, nil
}

// The one user header of a message, as Iggy encodes them, lengths and number little-endian:
//
//	kind of the name (string) u8 | length u32 | name | kind of the value (int64) u8 | length u32 | offset i64
const (
	checkpointName       = "kafka.state.checkpoint"
	kindString           = 2
	kindInt64            = 7
	checkpointHeaderSize = 1 + 4 + len(checkpointName) + 1 + 4 + 8
)

func putCheckpoint(header *[checkpointHeaderSize]byte, offset int64) {
	b := append(header[:0], kindString)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(checkpointName)))
	b = append(b, checkpointName...)
	b = append(b, kindInt64)
	b = binary.LittleEndian.AppendUint32(b, 8)
	binary.LittleEndian.AppendUint64(b, uint64(offset))
}

// checkpointOf reads the header. A message that somebody else wrote has none.
func checkpointOf(headers []byte) int64 {
	if len(headers) != checkpointHeaderSize {
		return -1
	}
	offset := int64(binary.LittleEndian.Uint64(headers[checkpointHeaderSize-8:]))
	var want [checkpointHeaderSize]byte
	putCheckpoint(&want, offset)
	if !bytes.Equal(headers, want[:]) {
		return -1
	}
	return offset
}
