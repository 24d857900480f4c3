// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"time"
)

// Append is one Kafka batch on its way into one partition. The caller fills the fields, hands it to Bridge.Append,
// and waits on it.
type Append struct {
	Session *Session
	// Messages in Iggy's wire form, every one with an id of its own. They belong to the lane until it calls Release.
	Messages []byte
	Count    int
	// Deadline: when nobody waits for the outcome any more. A batch that has not been sent by then is dropped.
	Deadline time.Time
	// MaxTimestamp is the largest record timestamp, in ms, and MaxTimestampIndex the first record that has it.
	MaxTimestamp      int64
	MaxTimestampIndex int
	// Release is called once, when the lane reads Messages no more: perhaps after Wait has given up.
	Release func()

	firstID [16]byte
	done    chan struct{}
	result  Appended
	err     error
}

// Appended is where a batch was written.
type Appended struct {
	BaseOffset int64
	LogStart   int64 // the first offset that the partition keeps
}

// finish completes the append; the lane calls it once.
func (a *Append) finish(r Appended, err error) {
	a.result, a.err = r, err
	close(a.done)
	if a.Release != nil {
		a.Release()
	}
}

// Wait returns where the batch was written once Iggy has confirmed it. Errors: ErrUnavailable or ErrClosed (nothing was
// written), ErrUnknownOutcome, a *StatusError when Iggy refused the batch, a deadline's error when it was dropped
// because its own had passed, or ctx's error, after which the batch may still be written.
func (a *Append) Wait(ctx context.Context) (Appended, error) {
	select {
	case <-a.done:
		return a.result, a.err
	case <-ctx.Done():
		return Appended{}, fmt.Errorf("bridge: waiting for the append: %w", context.Cause(ctx))
	}
}

// Append queues a batch for a partition of t and returns at once. Batches of one partition are written in the order of
// the calls. When it returns an error (ErrBusy, ErrClosed, a topic or partition that is not there) nothing is queued, and
// Release will not be called.
func (b *Bridge) Append(t *Topic, partition int32, a *Append) error {
	if partition < 0 || partition >= t.Partitions {
		return fmt.Errorf("bridge: topic %q partition %d: %w", t.Name, partition, ErrPartitionNotFound)
	}
	a.done = make(chan struct{})
	st := b.states.of(t)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.gone {
		return fmt.Errorf("bridge: topic %q: %w", t.Name, ErrTopicNotFound)
	}
	p := st.part(partition)
	if p.lane == nil {
		l := newLane(st, partition)
		if !b.owner.spawn(l.run) {
			return ErrClosed
		}
		p.lane = l
	}
	return p.lane.enqueue(a)
}

// NewestTimestamp is the largest record timestamp (ms) that this gateway has written to a partition since its lane
// began, and the offset of that record. ok is false when there is none.
func (b *Bridge) NewestTimestamp(t *Topic, partition int32) (timestamp, offset int64, ok bool) {
	st := b.states.of(t)
	st.mu.Lock()
	defer st.mu.Unlock()
	l := st.part(partition).lane
	if l == nil {
		return 0, 0, false
	}
	return l.newestTimestamp()
}
