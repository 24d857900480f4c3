// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TopicChange is what UpdateTopic changes of a topic. What is nil stays as it is.
type TopicChange struct {
	MessageExpiry *uint64 // µs, or iggywire.NeverExpire
	// PartitionSize times the partitions becomes the maximum size, MinTopicSize at least: bytes, or iggywire.UnlimitedSize.
	PartitionSize *uint64
}

// UpdateTopic changes settings of a topic as s's user, and returns the topic as it is then. Iggy's own command takes all of
// them and knows no "as it was": the others are sent as Iggy has them the moment before. What somebody else changes in the
// time between that question and the command, one round trip, is overwritten with what was there before. Errors: IsNotFound,
// also for a topic that was made anew since t was looked up; IsUnauthorized, and those of the way to Iggy.
func (b *Bridge) UpdateTopic(ctx context.Context, s *Session, t *Topic, change TopicChange) (*Topic, error) {
	now, err := b.topicNow(ctx, t)
	if err == nil {
		expiry, maxSize := now.MessageExpiry, now.MaxSize
		if change.MessageExpiry != nil {
			expiry = *change.MessageExpiry
		}
		if change.PartitionSize != nil {
			maxSize = max(TopicSize(*change.PartitionSize, int32(now.Partitions)), MinTopicSize)
		}
		err = b.setTopic(ctx, s, t, &now, expiry, maxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("bridge: update topic %q: %w", t.Name, err)
	}
	return b.newTopic(t.Name, t.Iggy, t.stream, &now), nil
}

// topicNow is what Iggy tells of the topic at this moment.
func (b *Bridge) topicNow(ctx context.Context, t *Topic) (iggywire.Topic, error) {
	now, found, err := b.getTopic(ctx, t.Iggy)
	if err == nil && (!found || !t.is(&now.Topic)) {
		b.view.drop()
		b.states.forget(t.ID)
		err = ErrTopicNotFound
	}
	return now.Topic, err
}

// setTopic gives a topic another expiry and maximum size than it has now, and leaves the rest as it is.
func (b *Bridge) setTopic(ctx context.Context, s *Session, t *Topic, now *iggywire.Topic, expiry, maxSize uint64) error {
	if expiry == now.MessageExpiry && maxSize == now.MaxSize {
		return nil
	}
	a, err := b.change(ctx, s, iggywire.UpdateTopic{
		Stream:            iggywire.NamedID(t.Iggy.Stream),
		Topic:             iggywire.NamedID(t.Iggy.Topic),
		Compression:       now.Compression,
		MessageExpiry:     expiry,
		MaxSize:           maxSize,
		ReplicationFactor: now.ReplicationFactor,
		Name:              now.Name,
	})
	if err != nil {
		return err
	}
	a.release()
	now.MessageExpiry, now.MaxSize = expiry, maxSize
	return nil
}

// ErrNotMore: a topic has as many partitions as it was to get, or more.
var ErrNotMore = errors.New("bridge: not more partitions than there are")

// CreatePartitions adds empty partitions to a topic, as s's user, until it has total; they can be used when it returns.
// Nobody can take them away again: two who add at the same time, of whom one is not this bridge's, both succeed. partitionSize
// is the topic's TopicChange.PartitionSize, nil if it has none: the maximum size grows first, so that nothing is removed in
// between, and never shrinks. Errors: ErrNotMore, IsTooManyPartitions, and those of UpdateTopic.
func (b *Bridge) CreatePartitions(ctx context.Context, s *Session, t *Topic, total int32, partitionSize *uint64) error {
	if err := b.createPartitions(ctx, s, t, total, partitionSize); err != nil {
		return fmt.Errorf("bridge: create partitions of topic %q: %w", t.Name, err)
	}
	return nil
}

func (b *Bridge) createPartitions(ctx context.Context, s *Session, t *Topic, total int32, partitionSize *uint64) error {
	now, err := b.topicNow(ctx, t)
	switch {
	case err != nil:
		return err
	case uint32(total) <= now.Partitions:
		return ErrNotMore
	}
	sizeBefore := now.MaxSize
	if partitionSize != nil {
		size := max(TopicSize(*partitionSize, total), now.MaxSize)
		if err := b.setTopic(ctx, s, t, &now, now.MessageExpiry, size); err != nil {
			return err
		}
	}
	a, err := b.change(ctx, s, iggywire.CreatePartitions{
		Stream:     iggywire.NamedID(t.Iggy.Stream),
		Topic:      iggywire.NamedID(t.Iggy.Topic),
		Partitions: uint32(total) - now.Partitions,
	})
	switch {
	case err == nil:
		a.release()
	case !IsUnknownOutcome(err): // none were added
		err = errors.Join(err, b.setTopic(ctx, s, t, &now, now.MessageExpiry, sizeBefore))
	}
	return err
}
