// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// LogStarts keeps where clients see partitions begin: Iggy cannot cut one at an offset, so what is deleted before one is
// hidden. A statelog.Log does it.
type LogStarts interface {
	// Loaded is closed when LogStarts may be asked.
	Loaded() <-chan struct{}
	// LogStarts returns those of a topic by partition, nil if it has none. It does not wait.
	LogStarts(topicID string) map[int32]statelog.LogStart
	// SetLogStart returns when the change is durable: statelog.ErrFenced, and others that are worth another try.
	SetLogStart(ctx context.Context, topicID, name string, partition int32, start statelog.LogStart) error
}

// ErrOffsetOutOfRange: a partition has no such offset.
var ErrOffsetOutOfRange = errors.New("bridge: offset out of range")

// UseLogStarts lets partitions begin where s says. It is called before the first topic is asked about for a client: from
// then on nothing is told of a partition before s is loaded, lest something deleted be shown. Internal topics have no log
// starts, as s may be kept in one.
func (b *Bridge) UseLogStarts(s LogStarts) { b.states.logStarts.Store(&s) }

// logStarts is nil where there are none.
func (st *topicState) logStarts() LogStarts {
	s := st.b.states.logStarts.Load()
	if s == nil || st.topic.Internal {
		return nil
	}
	return *s
}

func (st *topicState) awaitLogStarts(ctx context.Context) error {
	starts := st.logStarts()
	if starts == nil {
		return nil
	}
	select {
	case <-starts.Loaded():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: topic %q: log starts are not loaded: %w", ErrUnavailable, st.topic.Name, context.Cause(ctx))
	}
}

// hidden is what a log start hides of a partition.
//
// It says up to which offset, and until when Iggy had stamped that: a server that was killed may have lost a partition's
// end, or somebody purged it, and then offsets are given out again. What is written there is newer, and must be seen. No
// answer of Iggy tells that a partition went back and grew again in between, so after each loss of a connection the last
// message that is hidden is looked at; so it is when the partition ends before it, and when this gateway's own write went
// before it, which is not acknowledged until it can be seen.
type hidden struct {
	statelog.LogStart
	seen  bool   // it was seen to hold,
	epoch uint64 // in this epoch of the bridge
}

// set takes in what is kept.
func (h *hidden) set(start statelog.LogStart) {
	if h.LogStart != start {
		*h = hidden{LogStart: start}
	}
}

// isSure says whether the partition begins where it seems to.
func (p *partitionState) isSure(epoch uint64) bool {
	return p.hidden.Offset <= p.start || p.hidden.seen && p.hidden.epoch == epoch && p.hidden.Offset <= p.next
}

// logStart is where clients see the partition begin.
func (p *partitionState) logStart() int64 { return max(p.start, p.hidden.Offset) }

// keptStarts returns the log starts of the topic.
func (st *topicState) keptStarts() map[int32]statelog.LogStart {
	starts := st.logStarts()
	if starts == nil {
		return nil
	}
	return starts.LogStarts(st.topic.ID.String())
}

// sureStarts fills in where partitions begin.
func (st *topicState) sureStarts(ctx context.Context, bounds []Bounds, epoch uint64) error {
	st.mu.Lock()
	var unsure []int32
	for i := range bounds {
		if !st.part(int32(i)).isSure(epoch) {
			unsure = append(unsure, int32(i))
		}
	}
	st.mu.Unlock()
	if err := together(unsure, func(i int32) error { return st.makeSure(ctx, i, epoch) }); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range bounds {
		bounds[i].Start = st.part(int32(i)).logStart()
	}
	return nil
}

// makeSure finds out whether all that is hidden of a partition is what was deleted, and shows what is newer.
func (st *topicState) makeSure(ctx context.Context, partition int32, epoch uint64) error {
	for {
		st.mu.Lock()
		p := st.part(partition)
		start, next := p.hidden.LogStart, p.next
		st.mu.Unlock()
		first, err := st.firstShown(ctx, partition, start, next)
		if err == nil && first < start.Offset {
			start, err = st.lower(ctx, partition, start, first)
		}
		if err != nil {
			return err
		}
		st.mu.Lock()
		p = st.part(partition)
		same := p.hidden.LogStart == start
		if same {
			p.hidden.seen, p.hidden.epoch = true, epoch
			st.wake()
		}
		st.mu.Unlock()
		if same { // else more was deleted meanwhile
			return nil
		}
	}
}

// firstShown finds the first message that a log start does not hide, of a partition that ends at next.
func (st *topicState) firstShown(ctx context.Context, partition int32, start statelog.LogStart, next int64) (int64, error) {
	if start.Offset <= next {
		offset, stamp, found, err := st.pollOne(ctx, partition, iggywire.PollOffset, uint64(start.Offset-1))
		if err != nil {
			return 0, err
		}
		if found && (stamp <= start.Until || offset >= start.Offset) { // retention may have taken it
			return start.Offset, nil
		}
	}
	offset, _, found, err := st.pollOne(ctx, partition, iggywire.PollTimestamp, start.Until+1)
	if err != nil {
		return 0, err
	}
	if !found {
		offset = next
	}
	return min(offset, start.Offset), nil
}

// pollOne returns the place of the first message that a poll finds, and when Iggy got it.
func (st *topicState) pollOne(
	ctx context.Context, partition int32, strategy iggywire.PollStrategy, value uint64,
) (offset int64, stamp uint64, found bool, err error) {
	m, err := st.b.poll(ctx, st.b.self, pollRequest(st.topic.Iggy, partition, strategy, value, 1))
	if err != nil {
		return 0, 0, false, err
	}
	defer m.Release()
	if m.Count == 0 {
		return 0, 0, false, nil
	}
	return int64(iggywire.MessageOffset(m.Messages)), iggywire.MessageTimestamp(m.Messages), true, nil
}

// lower moves a partition's log start back, if it is still the one given. It returns what it is then, or was.
func (st *topicState) lower(
	ctx context.Context, partition int32, from statelog.LogStart, first int64,
) (statelog.LogStart, error) {
	release, err := st.beginMove(ctx)
	if err != nil {
		return from, err
	}
	defer release()
	to := st.keptStarts()[partition]
	if to == from {
		to = statelog.LogStart{Offset: first, Until: from.Until}
		if first == 0 {
			to = statelog.LogStart{}
		}
		err := st.keepStart(ctx, partition, to)
		// Another gateway that has taken over finds it out by itself.
		if err != nil && !errors.Is(err, statelog.ErrFenced) {
			return from, err
		}
	}
	st.moved(partition, to)
	return to, nil
}

// beginMove waits until nobody else moves a log start of the topic.
func (st *topicState) beginMove(ctx context.Context) (release func(), err error) {
	select {
	case st.moving <- struct{}{}:
		return func() { <-st.moving }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("bridge: topic %q: waiting to move a log start: %w", st.topic.Name, context.Cause(ctx))
	}
}

func (st *topicState) keepStart(ctx context.Context, partition int32, start statelog.LogStart) error {
	err := st.logStarts().SetLogStart(ctx, st.topic.ID.String(), st.topic.Name, partition, start)
	if err == nil || IsTimeout(err) {
		return err
	}
	return fmt.Errorf("%w: topic %q partition %d: log start not kept: %w", ErrUnavailable, st.topic.Name, partition, err)
}

// moved takes in a log start that was kept. The moving of the topic's is the caller's.
func (st *topicState) moved(partition int32, start statelog.LogStart) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.part(partition).hidden.set(start)
	st.wake()
}

// reveal returns when clients can see what this gateway has just written to a partition at offset. Where that went before
// what was the end, it looks whether this is the topic still: Iggy is told names, and somebody may have deleted the topic and
// made another one of its name. ErrTopicNotFound says so; the messages are in the other one then.
func (st *topicState) reveal(ctx context.Context, partition int32, offset int64) error {
	st.mu.Lock()
	p := st.part(partition)
	isHidden, back := offset < p.hidden.Offset, p.back
	if isHidden {
		p.hidden.seen = false
	}
	st.mu.Unlock()
	if !isHidden && !back {
		return nil
	}
	_, err := st.ends.do(ctx)
	if err == nil {
		st.mu.Lock()
		st.part(partition).back = false
		st.mu.Unlock()
	}
	if isHidden || IsNotFound(err) {
		return err
	}
	return nil // it can wait until the next send
}

// Deletion asks that clients see nothing more of a partition before an offset, and says what came of it.
type Deletion struct {
	Partition int32
	Before    int64 // -1: where the partition ends now

	LogStart int64 // where the partition begins then, if Err is nil
	// Err: ErrPartitionNotFound, ErrOffsetOutOfRange, a deadline's, after which it may still be done, or one of those that
	// are worth another try.
	Err error
}

// DeleteRecords hides from clients what lies before an offset, in some partitions of t. When it returns, whoever asks sees
// that, and it is durable.
func (b *Bridge) DeleteRecords(ctx context.Context, t *Topic, deletions []Deletion) {
	st := b.states.of(t)
	var move []*Deletion
	bounds, err := st.ends.do(ctx)
	if err == nil && st.logStarts() == nil {
		err = fmt.Errorf("%w: topic %q: log starts are kept nowhere", ErrUnavailable, t.Name)
	}
	for i := range deletions {
		d := &deletions[i]
		d.Err = err
		if err == nil && d.check(t, bounds) {
			move = append(move, d)
		}
	}
	if len(move) == 0 {
		return
	}
	st.moveStarts(ctx, move)
	bounds, err = st.ends.do(ctx)
	for _, d := range move {
		switch {
		case d.Err != nil:
		case err != nil:
			d.Err = err
		default:
			d.answer(t, bounds)
		}
	}
}

// answer tells where the partition begins.
func (d *Deletion) answer(t *Topic, bounds []Bounds) {
	if d.Partition < 0 || int(d.Partition) >= len(bounds) {
		d.Err = fmt.Errorf("bridge: topic %q partition %d: %w", t.Name, d.Partition, ErrPartitionNotFound)
		return
	}
	d.LogStart = bounds[d.Partition].Start
}

// check answers a deletion, and reports that the log start has to move for it.
func (d *Deletion) check(t *Topic, bounds []Bounds) bool {
	if d.answer(t, bounds); d.Err != nil {
		return false
	}
	known := bounds[d.Partition]
	if d.Before == -1 {
		d.Before = known.Next
	}
	if d.Before < 0 || d.Before > known.Next {
		d.Err = fmt.Errorf("bridge: topic %q partition %d: delete before %d of %d: %w",
			t.Name, d.Partition, d.Before, known.Next, ErrOffsetOutOfRange)
		return false
	}
	return d.Before > known.Start
}

func (st *topicState) moveStarts(ctx context.Context, deletions []*Deletion) {
	release, err := st.beginMove(ctx)
	if err != nil {
		for _, d := range deletions {
			d.Err = err
		}
		return
	}
	defer release()
	_ = together(deletions, func(d *Deletion) error {
		d.Err = st.raise(ctx, d.Partition, d.Before)
		return nil
	})
}

// raise moves a partition's log start forward. It is not sure yet that it hides no more than was deleted: the partition may
// go back meanwhile.
func (st *topicState) raise(ctx context.Context, partition int32, before int64) error {
	offset, stamp, found, err := st.pollOne(ctx, partition, iggywire.PollOffset, uint64(before-1))
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%w: topic %q partition %d went back", ErrUnavailable, st.topic.Name, partition)
	case offset >= before || st.keptStarts()[partition].Offset >= before:
		return nil // retention was faster, or another request
	}
	start := statelog.LogStart{Offset: before, Until: stamp}
	if err := st.keepStart(ctx, partition, start); err != nil {
		return err
	}
	st.moved(partition, start)
	return nil
}
