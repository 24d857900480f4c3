// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
)

// ProducerState is what is known of one idempotent producer in one partition.
type ProducerState struct {
	ID            int64
	Epoch         int16
	LastSequence  int32
	LastTimestamp int64 // the largest record timestamp of its last batch, in ms; -1: none
}

// maxQuestions bounds how many lanes at once are asked for producers: each may have to read its partition's tail first.
const maxQuestions = 4

// Producers returns the idempotent producers that a partition remembers, by id. Its lane learns from the partition what it
// does not know yet, without holding writers up for longer than a poll takes. No more than a few partitions are asked about at
// a time. ctx bounds how long all that may take, and asking again goes on with it.
func (b *Bridge) Producers(ctx context.Context, t *Topic, partition int32) ([]ProducerState, error) {
	if partition < 0 || partition >= t.Partitions {
		return nil, fmt.Errorf("bridge: topic %q partition %d: %w", t.Name, partition, ErrPartitionNotFound)
	}
	select {
	case b.questions <- struct{}{}:
		defer func() { <-b.questions }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("bridge: asking for the producers: %w", context.Cause(ctx))
	}
	q := &question{ctx: ctx, done: make(chan struct{})}
	if err := b.states.of(t).withLane(partition, func(l *lane) error { return l.ask(q) }); err != nil {
		return nil, err
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("bridge: waiting for the producers: %w", context.Cause(ctx))
	}
	if q.err != nil {
		return nil, q.err
	}
	states := make([]ProducerState, len(q.states))
	for i, s := range q.states {
		states[i] = ProducerState{ID: s.Producer, Epoch: s.Epoch, LastSequence: s.LastSequence, LastTimestamp: s.MaxTimestamp}
	}
	return states, nil
}

// question asks a lane for the producers of its partition.
type question struct {
	ctx    context.Context
	done   chan struct{} // closed by the lane
	states []producerstate.State
	err    error
}

func (q *question) answer(states []producerstate.State, err error) {
	q.states, q.err = states, err
	close(q.done)
}

// ask queues a question. The state's mu is held, so the lane cannot leave in between.
func (l *lane) ask(q *question) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.st.b.owner.life.Err() != nil:
		return ErrClosed
	case len(l.questions) >= l.st.b.cfg.LaneQueue:
		return fmt.Errorf("%w: %d questions wait for topic %q partition %d", ErrBusy, len(l.questions), l.st.topic.Name, l.partition)
	}
	l.questions = append(l.questions, q)
	l.notify()
	return nil
}

// goOnAnswering goes on with the question that waits longest, and pauses when there is something to write.
func (l *lane) goOnAnswering() {
	l.mu.Lock()
	q := l.questions[0]
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	defer context.AfterFunc(l.st.b.owner.life, cancel)()
	done, err := false, l.settleOpen(ctx)
	if err == nil {
		err = l.resolve(ctx)
	}
	if err == nil {
		done, err = l.catchUpUntil(ctx, l.batchesWait)
	}
	switch {
	case err != nil:
		q.answer(nil, l.unsent(err))
	case done:
		q.answer(l.producers.States(), nil)
	default:
		return
	}
	l.mu.Lock()
	l.questions = slices.Delete(l.questions, 0, 1)
	l.mu.Unlock()
}
