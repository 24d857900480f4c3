// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

const (
	// viewAge is how old the bridge's list of topics may be.
	viewAge = time.Second
	// measureAge is when a topic is asked about that seems not to have changed: retention and producers together may leave
	// its size as it was, and DeleteRecords does not change it.
	measureAge = 20 * time.Second
	// askTogether bounds how many topics Iggy is asked about at a time.
	askTogether = 16
)

// ErrTooManyPartitions is why topics have no partitions that could have some.
var ErrTooManyPartitions = fmt.Errorf("overview: more than %d partitions", MaxPartitions)

// topics remembers what Iggy said of each.
type topics struct {
	Topics
	measured map[bridge.TopicID]*measure
	failed   map[bridge.TopicID]error // why Iggy did not tell of those that it was asked about last
}

// measure is what Iggy said of a topic's partitions when it was last asked.
type measure struct {
	asked time.Time
	// valid is when the topic was last seen with the size and the number of messages that it had then.
	valid          time.Time
	size, messages uint64
	partitions     []Partition
	rate           Rate
}

func newTopics(t Topics) *topics { return &topics{Topics: t, measured: map[bridge.TopicID]*measure{}} }

// fillTopics puts the topics in next: as they are, or as they were in last.
func (s *Source) fillTopics(ctx context.Context, next, last *Snapshot) {
	if s.topics == nil {
		next.TopicsStatus.AsOf = next.Time
		return
	}
	view, err := s.topics.TopicsWithin(ctx, viewAge)
	if err != nil {
		next.Topics, next.HiddenTopics = last.Topics, last.HiddenTopics
		next.TopicsStatus = Status{last.TopicsStatus.AsOf, err}
		return
	}
	err = s.topics.measure(ctx, view, next.Time)
	next.TopicsStatus = Status{next.Time, err}
	if err != nil && err != ErrTooManyPartitions { // of which those that are shown are of now
		next.TopicsStatus.AsOf = last.TopicsStatus.AsOf
	}
	next.HiddenTopics = view.Hidden
	next.Topics = make([]Topic, len(view.Topics))
	for i, t := range view.Topics {
		next.Topics[i] = s.topics.describe(t)
	}
}

// measure asks Iggy about the topics that have changed since it was last asked, and forgets those that are gone. What was
// learnt before an error stays known. That Iggy does not tell of one topic, as the gateway may not read it, is an error of that
// topic alone.
func (ts *topics) measure(ctx context.Context, view *bridge.TopicView, now time.Time) error {
	known := make(map[bridge.TopicID]*measure, len(view.Topics))
	var changed []*bridge.Topic
	total := 0
	for _, t := range view.Topics {
		total += int(t.Partitions)
		if total > MaxPartitions {
			break
		}
		m := ts.measured[t.ID]
		if m != nil {
			known[t.ID] = m
		}
		switch {
		case m == nil, ts.failed[t.ID] != nil, len(m.partitions) != int(t.Partitions), m.size != t.Size, m.messages != t.Messages, now.Sub(m.asked) >= measureAge:
			changed = append(changed, t)
		default:
			m.stood(now)
		}
	}
	ts.measured = known
	err := ts.ask(ctx, changed, now)
	if err == nil && total > MaxPartitions {
		err = ErrTooManyPartitions
	}
	return err
}

// ask measures topics, some at a time. When ctx is done, which is the only error, no further one is begun: what the bridge has
// begun goes on.
func (ts *topics) ask(ctx context.Context, list []*bridge.Topic, now time.Time) error {
	ts.failed = map[bridge.TopicID]error{}
	var mu sync.Mutex // guards ts.measured and ts.failed
	var asking errgroup.Group
	asking.SetLimit(askTogether)
	for _, t := range list {
		asking.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			bounds, err := ts.Bounds(ctx, t)
			if bridge.IsNotFound(err) {
				return nil // deleted meanwhile
			}
			if ctx.Err() != nil && err != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				ts.failed[t.ID] = err
				return nil
			}
			ts.measured[t.ID] = newMeasure(t, bounds, ts.measured[t.ID], now)
			return nil
		})
	}
	return asking.Wait()
}

// newMeasure takes in what Iggy said; before is what it had said earlier, nil if nothing.
func newMeasure(t *bridge.Topic, bounds []bridge.Bounds, before *measure, now time.Time) *measure {
	m := &measure{asked: now, valid: now, size: t.Size, messages: t.Messages, partitions: make([]Partition, len(bounds))}
	for i, b := range bounds {
		m.partitions[i] = Partition{Start: b.Start, End: b.Next, Size: b.Bytes}
	}
	if before == nil {
		return m
	}
	seconds := now.Sub(before.valid).Seconds()
	m.rate.Known = seconds > 0
	for i := range min(len(m.partitions), len(before.partitions)) {
		p := &m.partitions[i]
		p.Rate = rateBetween(before.partitions[i], *p, bounds[i].MessageSize, seconds)
		m.rate.Messages += p.Rate.Messages
		m.rate.Bytes += p.Rate.Bytes
	}
	return m
}

// rateBetween is how fast a partition grew. Where retention took messages away meanwhile, the bytes follow from the average
// size of a message.
func rateBetween(before, now Partition, messageSize int64, seconds float64) Rate {
	if seconds <= 0 {
		return Rate{}
	}
	messages := max(now.End-before.End, 0)
	bytes := now.Size - before.Size
	if now.Start != before.Start || bytes < 0 {
		bytes = messages * messageSize
	}
	return Rate{Known: true, Messages: float64(messages) / seconds, Bytes: float64(bytes) / seconds}
}

// stood notes that nothing came in until now.
func (m *measure) stood(now time.Time) {
	m.valid = now
	if m.rate == (Rate{Known: true}) {
		return
	}
	m.rate = Rate{Known: true}
	m.partitions = slices.Clone(m.partitions) // snapshots have the old ones
	for i := range m.partitions {
		m.partitions[i].Rate = Rate{Known: true}
	}
}

// describe is a topic as far as it is known.
func (ts *topics) describe(t *bridge.Topic) Topic {
	out := Topic{Topic: t, Size: int64(t.Size), Messages: int64(t.Messages), Err: ts.failed[t.ID]}
	if m := ts.measured[t.ID]; m != nil {
		out.Partitions, out.Rate = m.partitions, m.rate
		out.Messages, out.Size = 0, 0 // the partitions' may be younger than the list of topics
		for _, p := range m.partitions {
			out.Messages += p.Messages()
			out.Size += p.Size
		}
	}
	return out
}
