// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// These bound what one send gathers. One Kafka batch is never split, whatever its size: a client computes its
// records' offsets from the first.
const (
	gatherBytes    = 1 << 20
	gatherMessages = 4096
)

// maxScratch bounds what a lane keeps of a send's header: room for the indexes of a full gathering.
const maxScratch = 128 << 10

// boundsAge is how old the lane's knowledge of the log start may grow before it asks again.
const boundsAge = 5 * time.Second

// lane is the only writer that this gateway has for one partition: a goroutine with a queue. While one send is in
// flight the next batches gather and go out together. Iggy answers a send with nothing, so the lane keeps the
// partition's next offset, sends, and asks where the partition ends now: if the end moved by as much as was sent,
// the batches are where it expected them; if not, somebody else wrote too, and it looks for the first message's id.
//
// Lock order: topicState.mu, then lane.mu.
type lane struct {
	st        *topicState
	partition int32

	// Owned by the goroutine.
	next   int64  // the partition's next offset; -1: must be asked for
	epoch  uint64 // of the bridge when next was learnt
	open   *call  // a send whose outcome was given up on and which Iggy may still execute
	header []byte // scratch for a send's header and indexes
	verify []byte // the body of the verifying poll

	mu      sync.Mutex
	queue   []*Append
	wake    chan struct{} // capacity 1
	retired bool          // its topic is gone

	newest struct {
		timestamp, offset int64
		known             bool
	}
}

func newLane(st *topicState, partition int32) *lane {
	return &lane{
		st: st, partition: partition, next: -1, wake: make(chan struct{}, 1),
		verify: pollRequest(st.topic.Iggy, partition, iggywire.PollOffset, 0, 0).AppendTo(nil),
	}
}

// enqueue adds a to the queue. The state's mu is held, so the lane cannot leave in between.
func (l *lane) enqueue(a *Append) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.st.b.owner.life.Err() != nil { // the goroutine may have drained the queue for the last time
		return ErrClosed
	}
	if len(l.queue) >= l.st.b.cfg.LaneQueue {
		return fmt.Errorf("%w: %d batches wait for topic %q partition %d", ErrBusy, len(l.queue), l.st.topic.Name, l.partition)
	}
	l.queue = append(l.queue, a)
	l.notify()
	return nil
}

func (l *lane) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// retire makes the lane fail what it holds and end.
func (l *lane) retire() {
	l.mu.Lock()
	l.retired = true
	l.notify()
	l.mu.Unlock()
}

func (l *lane) newestTimestamp() (timestamp, offset int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest.timestamp, l.newest.offset, l.newest.known
}

func (l *lane) run() {
	idle := time.NewTimer(l.st.b.cfg.LaneIdle)
	defer idle.Stop()
	for {
		if group, end := l.take(); end != nil {
			l.finishAll(group, end)
			return
		} else if len(group) > 0 {
			l.write(group)
			continue
		}
		idle.Reset(l.st.b.cfg.LaneIdle)
		select {
		case <-l.wake:
		case <-l.st.b.owner.life.Done():
		case <-idle.C:
			if l.leave() {
				return
			}
		}
	}
}

// take returns the batches of the next send: those at the head of the queue that run as the same user, within the
// bounds, but at least one. end is not nil when the lane must go; then it returns all that is left.
func (l *lane) take() (group []*Append, end error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.retired:
		end = fmt.Errorf("bridge: topic %q: %w", l.st.topic.Name, ErrTopicNotFound)
	case l.st.b.owner.life.Err() != nil:
		end = ErrClosed
	}
	if end != nil {
		group, l.queue = l.queue, nil
		return group, end
	}
	bytes, messages, n := 0, 0, 0
	for _, a := range l.queue {
		if n > 0 && (a.Session != l.queue[0].Session || bytes+len(a.Messages) > gatherBytes || messages+a.Count > gatherMessages) {
			break
		}
		bytes, messages, n = bytes+len(a.Messages), messages+a.Count, n+1
	}
	group = append(group, l.queue[:n]...)
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	return group, nil
}

// leave takes the lane out of its state, after which no batch can come; it refuses while some wait.
func (l *lane) leave() bool {
	l.st.mu.Lock()
	defer l.st.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		return false
	}
	if p := l.st.part(l.partition); p.lane == l {
		p.lane = nil
	}
	return true
}

func (l *lane) finishAll(group []*Append, err error) {
	for _, a := range group {
		a.finish(Appended{}, err)
	}
}

// write sends a group and finishes each of its batches.
func (l *lane) write(group []*Append) {
	var deadline time.Time
	for _, a := range group {
		if a.Deadline.After(deadline) {
			deadline = a.Deadline
		}
	}
	ctx, cancel := context.WithDeadline(l.st.b.owner.life, deadline)
	defer cancel()
	l.writeWithin(ctx, group)
}

func (l *lane) writeWithin(ctx context.Context, group []*Append) {
	group, base, err := l.place(ctx, group)
	if err == nil {
		l.confirm(group, base)
		return
	}
	l.next = -1
	var refused *StatusError
	if errors.As(err, &refused) && len(group) > 1 && !IsRetryable(err) && !IsUnknownOutcome(err) {
		// One bad batch must fail alone.
		for i := range group {
			l.writeWithin(ctx, group[i:i+1])
		}
		return
	}
	l.finishAll(group, err)
}

// dropExpired finishes the batches that nobody waits for any more, and returns the others. Their clients have been told
// that they timed out and may send them again, so to write them now could only make duplicates.
func (l *lane) dropExpired(group []*Append) []*Append {
	now := time.Now()
	live := group[:0]
	for _, a := range group {
		if a.Deadline.After(now) {
			live = append(live, a)
			continue
		}
		a.finish(Appended{}, fmt.Errorf("bridge: append was not sent in time: %w", context.DeadlineExceeded))
	}
	return live
}

// confirm finishes the batches of a group that was written at base.
func (l *lane) confirm(group []*Append, base int64) {
	start := l.logStart()
	for _, a := range group {
		l.mu.Lock()
		if !l.newest.known || a.MaxTimestamp > l.newest.timestamp {
			l.newest.timestamp, l.newest.offset, l.newest.known = a.MaxTimestamp, base+int64(a.MaxTimestampIndex), true
		}
		l.mu.Unlock()
		a.finish(Appended{BaseOffset: base, LogStart: start}, nil)
		base += int64(a.Count)
	}
}

func (l *lane) logStart() int64 {
	l.st.mu.Lock()
	defer l.st.mu.Unlock()
	return l.st.part(l.partition).start
}

// resolve makes l.next the partition's next offset, asking Iggy when it is not known for sure.
func (l *lane) resolve(ctx context.Context) error {
	if err := l.awaitOpen(ctx); err != nil {
		return err
	}
	epoch := l.st.b.epoch.Load()
	if l.next >= 0 && l.epoch == epoch {
		l.refreshStart()
		return nil
	}
	bounds, err := l.st.ends.do(ctx)
	switch {
	case err != nil:
		return err
	case int(l.partition) >= len(bounds):
		return fmt.Errorf("bridge: topic %q partition %d: %w", l.st.topic.Name, l.partition, ErrPartitionNotFound)
	}
	l.next, l.epoch = bounds[l.partition].Next, epoch
	return nil
}

// awaitOpen waits until a send that was given up on can change nothing any more: it was answered, or its connection is
// gone. To send something else before that could turn the order of the partition's batches around.
func (l *lane) awaitOpen(ctx context.Context) error {
	if l.open == nil {
		return nil
	}
	select {
	case <-l.open.done:
		l.open, l.next = nil, -1
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: an earlier send is still undecided: %w", ErrUnavailable, context.Cause(ctx))
	}
}

// refreshStart lets somebody ask for the log start when what is known of it is old. Writes do not wait for it.
func (l *lane) refreshStart() {
	l.st.mu.Lock()
	old := time.Since(l.st.asOf) > boundsAge
	l.st.mu.Unlock()
	if old {
		l.st.ends.start()
	}
}

// appendHeader builds the front of a send's body in the lane's scratch and returns it with the number of messages.
func (l *lane) appendHeader(group []*Append) ([]byte, int, error) {
	total := 0
	for _, a := range group {
		total += a.Count
	}
	name := l.st.topic.Iggy
	buf := iggywire.AppendSendHeader(l.header[:0], iggywire.NamedID(name.Stream), iggywire.NamedID(name.Topic),
		iggywire.ToPartition(uint32(l.partition)), total)
	var base uint32
	for _, a := range group {
		var n int
		var err error
		if buf, n, err = iggywire.AppendIndexes(buf, a.Messages, base); err != nil {
			return nil, 0, fmt.Errorf("bridge: append: %w", err)
		}
		if n != a.Count || n == 0 {
			return nil, 0, fmt.Errorf("bridge: append: %d messages, %d announced: %w", n, a.Count, iggywire.ErrMalformed)
		}
		a.firstID = iggywire.MessageID(a.Messages)
		base += uint32(len(a.Messages))
	}
	if l.header = buf; cap(buf) > maxScratch {
		l.header = nil // one batch of very many records is no reason to keep so much for each partition
	}
	return buf, total, nil
}
