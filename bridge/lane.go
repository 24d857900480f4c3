// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
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
// the batches are where it expected them; if not, somebody else wrote too, and it looks for the messages' ids. Batches of
// idempotent producers are judged when they are about to be sent: dedup.go.
//
// Lock order: topicState.mu, then lane.mu.
type lane struct {
	st        *topicState
	partition int32

	// Owned by the goroutine.
	next   int64  // the partition's next offset; -1: must be asked for
	epoch  uint64 // of the bridge when next was learnt
	dials  uint64 // of the bridge when Iggy was last asked for next
	sent   sent   // the last send
	open   bool   // its outcome is not known, and Iggy may still execute it
	now    underway
	header []byte // scratch for a send's header and indexes
	verify []byte // the body of a verifying poll

	exclusive bool // nobody else writes here: Config.Exclusive
	producers *producerstate.Partition
	tail      tail

	mu        sync.Mutex
	queue     []*Append
	questions []*question
	wake      chan struct{} // capacity 1
	retired   bool          // its topic is gone

	newest struct {
		timestamp, offset int64
		known             bool
	}
}

func newLane(st *topicState, partition int32) *lane {
	return &lane{
		st: st, partition: partition, next: -1, wake: make(chan struct{}, 1),
		exclusive: !st.topic.Internal && st.b.cfg.Exclusive(st.topic.Name),
		producers: st.b.producers.Partition(),
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
		l.noteFailed(&a.Producer)
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
	defer l.producers.Drop()
	for {
		batches, questions, end := l.take()
		if end != nil {
			l.failQueued(end)
			return
		}
		if batches {
			l.write()
		}
		if questions { // one may take long: between two of its polls what waits is written
			l.goOnAnswering()
		}
		if batches || questions {
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

// failQueued fails all that waits for a lane that goes, and to which no more can come.
func (l *lane) failQueued(err error) {
	l.mu.Lock()
	batches, questions := l.queue, l.questions
	l.queue, l.questions = nil, nil
	l.mu.Unlock()
	l.failAll(batches, err)
	for _, q := range questions {
		q.answer(nil, err)
	}
}

// take brings the batches of the next send under way, those at the head of the queue that run as the same user, within the
// bounds, but at least one. It reports whether there are any, and any questions; or why the lane must go.
func (l *lane) take() (batches, questions bool, end error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.retired:
		return false, false, fmt.Errorf("bridge: topic %q: %w", l.st.topic.Name, ErrTopicNotFound)
	case l.st.b.owner.life.Err() != nil:
		return false, false, ErrClosed
	}
	bytes, messages, n := 0, 0, 0
	for _, a := range l.queue {
		if n > 0 && (a.Session != l.queue[0].Session || bytes+len(a.Messages) > gatherBytes || messages+a.Count > gatherMessages) {
			break
		}
		bytes, messages, n = bytes+len(a.Messages), messages+a.Count, n+1
	}
	l.now.waiting = append(l.now.waiting, l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	return n > 0, len(l.questions) > 0, nil
}

// batchesWait reports that there is something to write.
func (l *lane) batchesWait() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

// leave takes the lane out of its state, after which no batch can come; it refuses while some wait.
func (l *lane) leave() bool {
	l.st.mu.Lock()
	defer l.st.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue)+len(l.questions) > 0 {
		return false
	}
	if p := l.st.part(l.partition); p.lane == l {
		p.lane = nil
	}
	return true
}

func (l *lane) failAll(batches []*Append, err error) {
	for _, a := range batches {
		l.fail(a, err)
	}
}

// fail finishes a batch that was not written, or perhaps not.
func (l *lane) fail(a *Append, err error) {
	unknown := IsUnknownOutcome(err)
	if unknown {
		l.st.b.counts.unknownOutcomes.Add(1)
	}
	if unknown || IsRetryable(err) {
		l.noteFailed(&a.Producer)
	}
	a.finish(Appended{Timestamp: -1}, err)
}

// noteFailed: an idempotent producer will send the batch again, and those behind it must not take its place.
func (l *lane) noteFailed(p *ProducerBatch) {
	if p.Idempotent {
		l.producers.Failed(p.batch(), time.Now())
	}
}

// write sends the batches under way, with one send if they allow it, and finishes each.
func (l *lane) write() {
	ctx, cancel := context.WithDeadline(l.st.b.owner.life, l.now.deadline())
	defer cancel()
	for len(l.now.waiting) > 0 {
		l.writeSome(ctx, &l.now)
	}
}

// writeSome finishes some of the batches that wait, at least the first.
func (l *lane) writeSome(ctx context.Context, u *underway) {
	defer u.endGroup()
	base, err := l.place(ctx, u)
	switch {
	case len(u.group) == 0:
		return
	case err == nil:
		l.confirm(ctx, u.group, base)
		return
	}
	l.next = -1
	var refused *StatusError
	if errors.As(err, &refused) && len(u.group) > 1 && !IsRetryable(err) && !IsUnknownOutcome(err) {
		// One bad batch must fail alone.
		for _, a := range u.group {
			l.writeSome(ctx, &underway{waiting: []*Append{a}})
		}
		return
	}
	l.failAll(u.group, err)
}

// dropExpired finishes the batches that nobody waits for any more. Their clients have been told that they timed out and may
// send them again, so to write them now could only make duplicates.
func (l *lane) dropExpired(u *underway) {
	now := time.Now()
	u.waiting = slices.DeleteFunc(u.waiting, func(a *Append) bool {
		if a.Deadline.After(now) {
			return false
		}
		l.fail(a, fmt.Errorf("bridge: append was not sent in time: %w", context.DeadlineExceeded))
		return true
	})
}

// confirm finishes the batches of a group that was written at base.
func (l *lane) confirm(ctx context.Context, group []*Append, base int64) {
	l.remember(group, base)
	start, stamp := l.logStart(), int64(-1)
	if anyStamped(group) {
		if stamp = l.sent.stamp; stamp < 0 {
			stamp = l.stampAt(ctx, base+l.sent.smallest)
		}
	}
	for _, a := range group {
		done := Appended{BaseOffset: base, LogStart: start, Timestamp: -1}
		switch {
		case !a.StampTime:
			l.noteNewest(a.MaxTimestamp, base+int64(a.MaxTimestampIndex))
		case stamp >= 0:
			done.Timestamp = stamp
			l.noteNewest(stamp, base)
		}
		a.finish(done, nil)
		base += int64(a.Count)
	}
}

func anyStamped(group []*Append) bool {
	return slices.ContainsFunc(group, func(a *Append) bool { return a.StampTime })
}

func (l *lane) noteNewest(timestamp, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.newest.known || timestamp > l.newest.timestamp {
		l.newest.timestamp, l.newest.offset, l.newest.known = timestamp, offset, true
	}
}

func (l *lane) logStart() int64 {
	l.st.mu.Lock()
	defer l.st.mu.Unlock()
	return l.st.part(l.partition).logStart()
}
