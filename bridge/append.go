// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
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
	// Producer is who wrote the batch, for deduplication. Its messages' ids are made of the same numbers.
	Producer ProducerBatch
	// StampTime asks for Appended.Timestamp: the topic's message.timestamp.type is LogAppendTime.
	StampTime bool
	// Release is called once, when the lane reads Messages no more: perhaps after Wait has given up.
	Release func()

	verdict producerstate.Verdict
	old     producerstate.Place // of a duplicate
	done    chan struct{}
	result  Appended
	err     error
}

// ProducerBatch names the batch of an idempotent producer (KIP-98): its producer's id and epoch, and the sequence numbers
// of its first and last record, which wrap from 2147483647 to 0. The zero value is a batch of no such producer.
type ProducerBatch struct {
	Idempotent                  bool
	ID                          int64
	Epoch                       int16
	FirstSequence, LastSequence int32
}

func (p *ProducerBatch) batch() producerstate.Batch {
	return producerstate.Batch{Producer: p.ID, Epoch: p.Epoch, First: p.FirstSequence, Last: p.LastSequence}
}

// Appended is where a batch was written.
type Appended struct {
	BaseOffset int64
	LogStart   int64 // the first offset that the partition keeps
	// Duplicate: the batch had been written before, at BaseOffset; nothing was written now.
	Duplicate bool
	// Timestamp, in ms: with StampTime the time at which Iggy got the batch; else, of a duplicate, the largest record
	// timestamp of the old batch, as Kafka answers it; else, or when it could not be learnt, -1.
	Timestamp int64
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
// the calls. When it returns an error (ErrBusy, ErrClosed, a topic or partition that is not there, sequence numbers that are not
// Count) nothing is queued, and Release will not be called.
func (b *Bridge) Append(t *Topic, partition int32, a *Append) error {
	if partition < 0 || partition >= t.Partitions {
		return fmt.Errorf("bridge: topic %q partition %d: %w", t.Name, partition, ErrPartitionNotFound)
	}
	if p := &a.Producer; p.Idempotent && p.batch().Count() != int64(a.Count) {
		return fmt.Errorf("bridge: append: %d messages, sequence numbers %d to %d: %w",
			a.Count, p.FirstSequence, p.LastSequence, iggywire.ErrMalformed)
	}
	a.done = make(chan struct{})
	return b.states.of(t).withLane(partition, func(l *lane) error { return l.enqueue(a) })
}

// Refused notes that a batch of t was refused, before Append, with an error upon which its producer may send it again: until it
// does, those that it had sent behind it are not taken for the beginning of a producer of whom nothing is known.
func (b *Bridge) Refused(t *Topic, partition int32, batch ProducerBatch) {
	if batch.Idempotent && partition >= 0 && partition < t.Partitions {
		_ = b.states.of(t).withLane(partition, func(l *lane) error { l.noteFailed(&batch); return nil })
	}
}

// withLane hands the lane of a partition, a new one if need be, to do, which must not wait: the lane cannot leave meanwhile.
func (st *topicState) withLane(partition int32, do func(*lane) error) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.gone {
		return fmt.Errorf("bridge: topic %q: %w", st.topic.Name, ErrTopicNotFound)
	}
	p := st.part(partition)
	if p.lane == nil {
		l := newLane(st, partition)
		if !st.b.owner.spawn(l.run) {
			return ErrClosed
		}
		p.lane = l
	}
	return do(p.lane)
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
