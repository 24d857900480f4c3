// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Bounds is what is known of one partition.
type Bounds struct {
	Start int64 // the first offset kept
	Next  int64 // the offset that the next record gets: Kafka's high watermark
	// MessageSize is the size in Iggy's form, header included, in bytes, that messages have: on average in the whole
	// partition, or of those that this gateway read or wrote last, whichever is larger; 0 when nothing is known.
	MessageSize int64
	// Bytes grows by the sizes of the messages written, so that the difference of two Bounds says how much came in
	// between. Exact for this gateway's own writes and in Iggy's answers, in between them an estimate.
	Bytes int64
}

// stateTable holds a topicState for each topic in use.
type stateTable struct {
	b         *Bridge
	logStarts atomic.Pointer[LogStarts]

	mu sync.Mutex
	m  map[TopicID]*topicState
}

func (s *stateTable) init(b *Bridge) {
	s.b = b
	s.m = map[TopicID]*topicState{}
}

func (s *stateTable) of(t *Topic) *topicState {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.m[t.ID]
	if st == nil {
		st = &topicState{b: s.b, topic: t, made: time.Now(), watches: map[*Watch]struct{}{}, moving: make(chan struct{}, 1)}
		st.ends = sharedCall[[]Bounds]{owner: s.b.owner, load: st.loadEnds}
		s.m[t.ID] = st
	}
	return st
}

// keepOnly forgets the states of topics that are gone; their lanes end. asked is when the view was asked for: a
// younger state may belong to a topic that the view is too old to show.
func (s *stateTable) keepOnly(view *TopicView, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, st := range s.m {
		if _, there := view.byID[id]; !there && st.made.Before(asked) {
			delete(s.m, id)
			st.retire()
		}
	}
}

// forget ends the state of a topic that is gone.
func (s *stateTable) forget(id TopicID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.m[id]; st != nil {
		delete(s.m, id)
		st.retire()
	}
}

// topicState is what this gateway knows of the partitions of one topic, its lanes for them, and who waits for news.
type topicState struct {
	b     *Bridge
	topic *Topic
	made  time.Time
	ends  sharedCall[[]Bounds]
	// moving holds a token for the one who moves log starts of the topic. It is not waited for with mu held, or by who loads
	// the ends for the one who has it.
	moving chan struct{}

	mu      sync.Mutex
	parts   []partitionState
	asOf    time.Time // when Iggy was last asked about all partitions
	gone    bool
	watches map[*Watch]struct{}
	probing bool
	pause   time.Duration // between the prober's looks
}

// partitionState: knowledge may come out of order (a lane's confirmation and an answer that was on its way before
// it), so it carries the time after which it was true.
type partitionState struct {
	lane    *lane
	next    int64
	known   bool
	back    bool      // a send went before what was the end already; nobody has looked since
	asOf    time.Time // next was the truth at this moment
	start   int64     // the first offset that Iggy keeps
	hidden  hidden
	removed int64 // next - messages kept, when start was learnt; -1: not yet
	average int64 // message size in the whole partition
	recent  int64 // message size where this gateway last read or wrote; 0: it has not
	bytes   int64 // of all messages before next, those that retention took away not counted
}

func (p *partitionState) boundsNow() Bounds {
	return Bounds{Start: p.logStart(), Next: p.next, MessageSize: p.messageSize(), Bytes: p.bytes}
}

// messageSize errs on the large side: too small a guess makes a poll bring more than it should.
func (p *partitionState) messageSize() int64 { return max(p.recent, p.average) }

// end is where a partition ends, and how many bytes lie before it; -1: not known.
type end struct{ next, bytes int64 }

// part returns the state of a partition, growing the table. mu is held.
func (st *topicState) part(p int32) *partitionState {
	for int(p) >= len(st.parts) {
		st.parts = append(st.parts, partitionState{removed: -1})
	}
	return &st.parts[p]
}

// learn takes in that the partition's end was e at some moment between asked and answered. Knowledge asked for after
// the last we have replaces it, also downwards: a killed server may have lost messages, a purge removes them.
// Knowledge that overlaps it may be the older one, so the higher end counts. It reports a change. mu is held.
func (p *partitionState) learn(e end, asked, answered time.Time) bool {
	before, knew := p.next, p.known
	if !p.known || asked.After(p.asOf) || e.next > p.next {
		if e.bytes < 0 {
			e.bytes = p.bytes + max(e.next-p.next, 0)*p.messageSize()
		}
		p.next, p.bytes = e.next, e.bytes
	}
	p.known = true
	if answered.After(p.asOf) {
		p.asOf = answered
	}
	return !knew || p.next != before
}

// read takes in what a poll told: where the partition ends, and how large its messages were on average, 0 if it brought
// none. It wakes who waits.
func (st *topicState) read(p int32, next, size int64, asked time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	part := st.part(p)
	part.recent = cmp.Or(size, part.recent)
	if part.learn(end{next, -1}, asked, time.Now()) {
		st.wake()
	}
}

// wrote takes in a send of this gateway's own: messages of so many bytes lie from base on, and the partition ends at
// next. It wakes who waits.
func (st *topicState) wrote(p int32, base, count, next, bytes int64, asked time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	part := st.part(p)
	e := end{next, -1}
	if part.known && part.next == base {
		e.bytes = part.bytes + bytes
	}
	part.back = part.back || part.known && base < part.next && !part.asOf.After(asked)
	part.recent = bytes / count
	if part.learn(e, asked, time.Now()) {
		st.wake()
	}
}

// wake tells every watch that something changed. mu is held.
func (st *topicState) wake() {
	for w := range st.watches {
		select {
		case w.c <- struct{}{}:
		default: // it has not taken the last one yet
		}
	}
}

// loadEnds asks Iggy for the ends of all partitions.
func (st *topicState) loadEnds(ctx context.Context) ([]Bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, st.b.cfg.CallTimeout)
	defer cancel()
	if err := st.awaitLogStarts(ctx); err != nil {
		return nil, err
	}
	asked, epoch := time.Now(), st.b.epoch.Load()
	details, found, err := st.b.getTopic(ctx, st.topic.Iggy)
	if err != nil {
		return nil, err
	}
	if !found || !st.topic.is(&details.Topic) {
		st.b.view.drop() // deleted, and perhaps made again
		st.b.states.forget(st.topic.ID)
		return nil, fmt.Errorf("bridge: topic %q: %w", st.topic.Name, ErrTopicNotFound)
	}
	answered := time.Now()

	st.mu.Lock()
	changed := false
	bounds := make([]Bounds, len(details.PartitionList))
	hides := st.keptStarts()
	var moved []int32
	for i := range details.PartitionList {
		d := &details.PartitionList[i]
		if d.ID != uint32(i) {
			st.mu.Unlock()
			return nil, fmt.Errorf("%w: topic %q lists partition %d at place %d", ErrMalformed, st.topic.Name, d.ID, i)
		}
		p := st.part(int32(i))
		next, kept := endOf(d)
		if p.learn(end{next, int64(d.Size)}, asked, answered) {
			changed = true
		}
		if d.Messages > 0 {
			p.average = int64(d.Size / d.Messages)
		}
		switch removed := next - kept; {
		case removed <= 0:
			p.start, p.removed = 0, 0
		case removed != p.removed:
			moved = append(moved, int32(i))
		}
		p.hidden.set(hides[int32(i)])
		bounds[i] = p.boundsNow()
	}
	st.asOf = asked
	if changed {
		st.wake()
	}
	st.mu.Unlock()

	err = together(moved, func(i int32) error { return st.learnStart(ctx, i, &details.PartitionList[i]) })
	if err != nil {
		return nil, err
	}
	if err := st.sureStarts(ctx, bounds, epoch); err != nil {
		return nil, err
	}
	return bounds, nil
}

// askTogether bounds how many partitions of one topic Iggy is asked about at a time.
const askTogether = 16

// together calls a function for all of a list, some at a time, and returns the first error.
func together[T any](list []T, do func(T) error) error {
	var all errgroup.Group
	all.SetLimit(askTogether)
	for _, one := range list {
		all.Go(func() error { return do(one) })
	}
	return all.Wait()
}

// endOf reads a partition's end: current offset 0 with no messages is the empty partition, whose next offset is 0.
func endOf(d *iggywire.Partition) (next, kept int64) {
	if d.CurrentOffset == 0 && d.Messages == 0 {
		return 0, 0
	}
	return int64(d.CurrentOffset) + 1, int64(d.Messages)
}

// learnStart asks for the first message kept: retention took some away since start was last known.
func (st *topicState) learnStart(ctx context.Context, partition int32, d *iggywire.Partition) error {
	res, err := st.b.poll(ctx, st.b.self, pollRequest(st.topic.Iggy, partition, iggywire.PollFirst, 0, 1))
	if err != nil {
		return err
	}
	defer res.Release()
	next, kept := endOf(d)
	start := next
	if len(res.Messages) > 0 {
		start = int64(iggywire.MessageOffset(res.Messages))
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	p := st.part(partition)
	if p.start != start || p.removed < 0 {
		st.wake()
	}
	p.start, p.removed = start, next-kept
	return nil
}

// Bounds asks Iggy for the bounds of all partitions of t, by partition. Whatever was acknowledged before the call is
// in the answer. The slice is shared with others who asked at the same time: it must not be changed.
func (b *Bridge) Bounds(ctx context.Context, t *Topic) ([]Bounds, error) {
	return b.states.of(t).ends.do(ctx)
}

// BoundsAge is how long ago Iggy was last asked about all partitions of t.
func (b *Bridge) BoundsAge(t *Topic) time.Duration {
	st := b.states.of(t)
	st.mu.Lock()
	defer st.mu.Unlock()
	return time.Since(st.asOf)
}

// KnownBounds returns what is known of a partition without asking: from its lane, from records read, from the last
// answers. ok is false when that is not enough. Native producers may have written since, and retention may have moved the
// start: when Iggy was not asked for boundsAge, it is meanwhile.
func (b *Bridge) KnownBounds(t *Topic, partition int32) (bounds Bounds, ok bool) {
	b.LookAtBounds(t, func(known func(int32) (Bounds, bool)) { bounds, ok = known(partition) })
	return bounds, ok
}

// LookAtBounds is KnownBounds of any number of partitions of a topic, at one moment. look must be quick, and use nothing
// else of the Bridge: it holds the topic's writers up.
func (b *Bridge) LookAtBounds(t *Topic, look func(known func(partition int32) (bounds Bounds, ok bool))) {
	st := b.states.of(t)
	st.mu.Lock()
	defer st.mu.Unlock()
	epoch, served := b.epoch.Load(), false
	look(func(partition int32) (Bounds, bool) {
		p := st.part(partition)
		ok := p.known && p.removed >= 0 && p.isSure(epoch)
		served = served || ok
		return p.boundsNow(), ok
	})
	if served && time.Since(st.asOf) > boundsAge {
		st.ends.start()
	}
}

// retire ends the lanes of a topic that is gone and wakes its watches, who will see that it is.
func (st *topicState) retire() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.gone = true
	for i := range st.parts {
		if l := st.parts[i].lane; l != nil {
			l.retire()
		}
	}
	st.wake()
}
