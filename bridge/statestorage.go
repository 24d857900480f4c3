// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
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
	// Partitions (4) and Expiry, the age at which Iggy may drop messages (90 days, at least statelog.MinRetention), count only
	// when the topic is made.
	Partitions int32
	Expiry     time.Duration
}

func (c StateStorageConfig) withDefaults() StateStorageConfig {
	setDefault(&c.Partitions, 4)
	setDefault(&c.Expiry, 90*24*time.Hour)
	return c
}

// OpenStateStorage finds the topic, or makes it. It refuses one that would lose the state: checkpoints must be kept until newer
// ones are there, however little is written.
func (b *Bridge) OpenStateStorage(ctx context.Context, cfg StateStorageConfig) (*StateStorage, error) {
	cfg = cfg.withDefaults()
	err := checkStateExpiry(uint64(cfg.Expiry.Microseconds()))
	var topic *Topic
	if err == nil {
		topic, err = b.stateTopic(ctx, cfg)
	}
	if err == nil {
		err = checkStateTopic(topic)
	}
	if err != nil {
		return nil, fmt.Errorf("bridge: state topic %q: %w", cfg.Topic, err)
	}
	return &StateStorage{b, topic}, nil
}

func checkStateTopic(topic *Topic) error {
	switch {
	case !topic.Internal:
		return errors.New("it is none of Config.InternalTopics: clients could write to it")
	case topic.Partitions < 1:
		return errors.New("it has no partitions")
	case topic.MaxSize != iggywire.UnlimitedSize && topic.MaxSize != iggywire.ServerDefault:
		return fmt.Errorf("its size is bounded to %d bytes, so Iggy would drop state that is still needed; it must be unlimited",
			topic.MaxSize)
	}
	return checkStateExpiry(topic.MessageExpiry)
}

// checkStateExpiry takes microseconds. What a server's default is cannot be known.
func checkStateExpiry(expiry uint64) error {
	least := statelog.MinRetention
	if expiry != iggywire.ServerDefault && expiry < uint64(least.Microseconds()) {
		return fmt.Errorf("its messages expire after %v, so Iggy would drop state that is still needed; at least %v are needed",
			time.Duration(expiry)*time.Microsecond, least)
	}
	return nil
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
		size += mapping.MessageHeaderSize + len(messages[i].Payload) + stateHeadersSize
	}
	out := make([]byte, 0, size)
	var headers [stateHeadersSize]byte
	for i := range messages {
		m := &messages[i]
		out = mapping.AppendMessage(out, &mapping.Message{
			ID: ids.ID(i), OriginTimestamp: timestamp, Payload: m.Payload,
			UserHeaders: appendStateHeaders(headers[:0], m.Checkpoint, m.Sequence),
		})
	}
	return out
}

// stateReadBytes is what one poll should bring.
const stateReadBytes = 4 << 20

// Read implements statelog.Storage.
func (s *StateStorage) Read(ctx context.Context, partition int, from int64, limit int) ([]statelog.Message, error) {
	if known, ok := s.b.KnownBounds(s.topic, int32(partition)); ok && known.MessageSize > 0 {
		limit = int(min(int64(limit), stateReadBytes/known.MessageSize+1))
	}
	polled, err := s.b.Read(ctx, s.b.self, s.topic, int32(partition), from, limit)
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
		checkpoint, sequence := parseStateHeaders(m.UserHeaders)
		messages = append(messages, statelog.Message{
			Offset: int64(m.Offset), Checkpoint: checkpoint, Sequence: sequence, Payload: m.Payload,
		})
		rest = rest[n:]
	}
	return messages, nil
}

// The user headers of a message, as Iggy encodes each, lengths and number little-endian:
//
//	kind of the name (string) u8 | length u32 | name | kind of the value u8 | length u32 | number, 8 bytes
const (
	checkpointName   = "kafka.state.checkpoint"
	sequenceName     = "kafka.state.sequence"
	kindString       = 2
	kindInt64        = 7
	kindUint64       = 12
	checkpointSize   = 1 + 4 + len(checkpointName) + 1 + 4 + 8
	stateHeadersSize = checkpointSize + 1 + 4 + len(sequenceName) + 1 + 4 + 8
)

func appendStateHeaders(dst []byte, checkpoint int64, sequence uint64) []byte {
	dst = appendNumberHeader(dst, checkpointName, kindInt64, uint64(checkpoint))
	return appendNumberHeader(dst, sequenceName, kindUint64, sequence)
}

func appendNumberHeader(dst []byte, name string, kind byte, value uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, kindString), uint32(len(name)))
	dst = append(append(dst, name...), kind)
	dst = binary.LittleEndian.AppendUint32(dst, 8)
	return binary.LittleEndian.AppendUint64(dst, value)
}

// parseStateHeaders reads the headers. A message that somebody else wrote has none of them.
func parseStateHeaders(headers []byte) (checkpoint int64, sequence uint64) {
	if len(headers) != stateHeadersSize {
		return -1, 0
	}
	checkpoint = int64(binary.LittleEndian.Uint64(headers[checkpointSize-8:]))
	sequence = binary.LittleEndian.Uint64(headers[stateHeadersSize-8:])
	var want [stateHeadersSize]byte
	if !bytes.Equal(headers, appendStateHeaders(want[:0], checkpoint, sequence)) {
		return -1, 0
	}
	return checkpoint, sequence
}
