// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// tail is how far a lane's knowledge of its partition's producers goes: all messages before at are taken in, from where reading
// began. The zero value has taken in nothing.
type tail struct {
	at    int64
	last  [16]byte // the id of the message at at-1
	known bool     // whether last is set
	epoch uint64   // of the bridge when the message at at-1 was last seen to be that one
	doubt bool     // the partition may have gone back since
	// chosen is where the partition ended when it was last chosen where to begin reading.
	chosen int64
}

// catchUp takes in what the lane does not know of the partition's producers, up to where it ends now: at first the tail that the
// settings describe, later what others wrote. First it makes sure that the message up to which it knows is still there, since
// a killed server may have lost it and given its offset to another. What it has read stays read when ctx ends in between.
func (l *lane) catchUp(ctx context.Context) error {
	_, err := l.catchUpUntil(ctx, func() bool { return false })
	return err
}

// catchUpUntil is catchUp that pauses between two polls when stop says so; it reports whether it came to the end.
func (l *lane) catchUpUntil(ctx context.Context, stop func() bool) (done bool, err error) {
	t := &l.tail
	if !t.doubt && t.at == l.next && t.epoch == l.epoch {
		return true, nil
	}
	if err := l.checkTail(ctx); err != nil {
		return false, err
	}
	if least, _ := l.tailMessages(); l.next-max(t.at, t.chosen) > least {
		start, err := l.tailStart(ctx)
		if err != nil {
			return false, err
		}
		if t.chosen = l.next; start > t.at {
			t.at, t.known = start, false
		}
	}
	t.epoch, t.doubt = l.epoch, false
	// What this gateway has written lies before the end as it is now. What others write meanwhile can wait: they may be faster.
	for end := l.next; t.at < end; {
		if err := l.readTail(ctx); err != nil {
			return false, err
		}
		if t.at < end && stop() {
			return false, nil
		}
	}
	return true, nil
}

// refresh looks whether the partition holds something that the lane does not know, and takes it in.
func (l *lane) refresh(ctx context.Context) (news bool, err error) {
	t := &l.tail
	was := *t
	t.doubt = true
	if t.at == 0 { // there is no message to begin with
		if err := l.readTail(ctx); err != nil {
			return false, err
		}
	}
	err = l.catchUp(ctx)
	return t.at != was.at || t.last != was.last, err
}

// checkTail looks for the message before t.at, and takes in what lies behind it in the same answer.
func (l *lane) checkTail(ctx context.Context) error {
	t := &l.tail
	if t.at == 0 || !t.known {
		if t.at > l.next {
			return l.rewind(ctx)
		}
		return nil
	}
	m, err := l.readFrom(ctx, t.at-1)
	if err != nil {
		return err
	}
	defer m.Release()
	if m.Count == 0 {
		// Offset 0 is current in an empty partition, too.
		if m.Current != 0 && m.Current+1 >= t.at {
			return nil // retention has taken all away
		}
		if err := l.askEnd(ctx); err != nil {
			return err
		}
		return l.rewind(ctx)
	}
	l.next = m.Current + 1
	first, rest, err := iggywire.NextMessage(m.Messages)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	case int64(iggywire.MessageOffset(first)) > t.at-1: // retention has taken it away
		return t.takeIn(m.Messages, l.producers, time.Now())
	case int64(iggywire.MessageOffset(first)) != t.at-1:
		return fmt.Errorf("%w: offset %d where %d was asked for", ErrMalformed, iggywire.MessageOffset(first), t.at-1)
	case iggywire.MessageID(first) != t.last:
		return l.rewind(ctx)
	}
	return t.takeIn(rest, l.producers, time.Now())
}

// rewind is called when the partition is not the one that the lane knew: it went back, and perhaps forward again. What it
// still has in common with that one ends somewhere between two of the messages that the table remembers, and a message
// is there if all remembered before it are: halving finds the place. What is behind is void, and read anew.
func (l *lane) rewind(ctx context.Context) error {
	samples := l.producers.Samples()
	there, gone := 0, len(samples) // samples[:there] are there, samples[gone:] are not
	for there < gone {
		mid := (there + gone) / 2
		ok, err := l.holds(ctx, samples[mid])
		if err != nil {
			return err
		}
		if ok {
			there = mid + 1
		} else {
			gone = mid
		}
	}
	t := &l.tail
	t.at, t.known, t.chosen = 0, false, 0
	if there > 0 {
		s := samples[there-1]
		t.at, t.known, t.last = s.Offset+1, true, sampleID(s)
	}
	l.producers.Void(t.at)
	return nil
}

func sampleID(s producerstate.Sample) [16]byte {
	ids := mapping.IDs{ProducerID: s.Producer, Epoch: s.Epoch, BaseSequence: s.Sequence}
	return ids.ID(0)
}

// holds reports that the partition holds a message that it held. One that retention took away counts as held.
func (l *lane) holds(ctx context.Context, s producerstate.Sample) (bool, error) {
	m, err := l.st.b.Read(ctx, l.st.b.self, l.st.topic, l.partition, s.Offset, 1)
	if err != nil {
		return false, err
	}
	defer m.Release()
	if len(m.Messages) < iggywire.MessageHeaderSize {
		return false, nil
	}
	at := int64(iggywire.MessageOffset(m.Messages))
	return at > s.Offset || at == s.Offset && iggywire.MessageID(m.Messages) == sampleID(s), nil
}

// tailMessages is how many messages of the tail are read at least, and at most: of large ones as many as TailBytes allows.
func (l *lane) tailMessages() (least, most int64) {
	cfg := &l.st.b.cfg
	known, _ := l.st.b.KnownBounds(l.st.topic, l.partition)
	affordable := cfg.TailBytes/max(known.MessageSize, 1) + 1
	return min(int64(cfg.TailMin), affordable), min(int64(cfg.TailMax), affordable)
}

// tailStart is where reading the tail begins: at the first message that is at most TailAge older than the newest, by Iggy's
// clock, but within the bounds of tailMessages.
func (l *lane) tailStart(ctx context.Context) (int64, error) {
	b := l.st.b
	atLeast, atMost := l.tailMessages()
	most, least := max(l.next-atMost, 0), max(l.next-atLeast, 0)
	newest, err := b.Read(ctx, b.self, l.st.topic, l.partition, l.next-1, 1)
	if err != nil {
		return 0, err
	}
	defer newest.Release()
	if newest.Count == 0 || len(newest.Messages) < iggywire.MessageHeaderSize {
		return least, nil
	}
	age := uint64(max(b.cfg.TailAge.Microseconds(), 0))
	since := iggywire.MessageTimestamp(newest.Messages)
	since -= min(age, since)
	first, err := b.poll(ctx, b.self, pollRequest(l.st.topic.Iggy, l.partition, iggywire.PollTimestamp, since, 1))
	if err != nil {
		return 0, err
	}
	defer first.Release()
	if first.Count == 0 || len(first.Messages) < iggywire.MessageHeaderSize {
		return least, nil
	}
	return min(max(int64(iggywire.MessageOffset(first.Messages)), most), least), nil
}

// readTail takes in the next messages. Where the partition has grown meanwhile, l.next is raised.
func (l *lane) readTail(ctx context.Context) error {
	t := &l.tail
	m, err := l.readFrom(ctx, t.at)
	if err != nil {
		return err
	}
	defer m.Release()
	if m.Count > 0 {
		l.next = max(l.next, m.Current+1)
		return t.takeIn(m.Messages, l.producers, time.Now())
	}
	if m.Current+1 < l.next || m.Current == 0 && t.at == 0 && l.next > 0 {
		l.next, t.doubt = -1, true
		return fmt.Errorf("%w: topic %q partition %d went back while it was read", ErrUnavailable, l.st.topic.Name, l.partition)
	}
	t.at, t.known = l.next, t.known && t.at == l.next // what is missing there, retention has taken away
	return nil
}

// learnForeign takes in what a search has passed: others' messages, of msgs those before offset end, or all if it is negative.
// It does so only right behind what the lane knows.
func (l *lane) learnForeign(msgs []byte, end int64) error {
	t := &l.tail
	if len(msgs) < iggywire.MessageHeaderSize || t.doubt || t.epoch != l.epoch || int64(iggywire.MessageOffset(msgs)) != t.at {
		return nil
	}
	rest := msgs
	for len(rest) > 0 && (end < 0 || int64(iggywire.MessageOffset(rest)) < end) {
		var err error
		if _, rest, err = iggywire.NextMessage(rest); err != nil {
			return err
		}
	}
	return t.takeIn(msgs[:len(msgs)-len(rest)], l.producers, time.Now())
}

// takeIn tells p whose messages these are, which lie at t.at or, where retention took some away, behind. Consecutive ones
// of one producer are one run. Ids that are not an idempotent producer's say nothing.
func (t *tail) takeIn(msgs []byte, p *producerstate.Partition, now time.Time) error {
	var run producerstate.Batch
	var base, newest int64
	length := int64(0)
	flush := func() {
		if length > 0 {
			p.Seen(run, base, newest, now)
		}
		length = 0
	}
	defer flush()
	for len(msgs) > 0 {
		msg, n, err := mapping.ParseMessage(msgs)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		msgs = msgs[n:]
		offset := int64(msg.Offset)
		if offset < t.at {
			return fmt.Errorf("%w: offset %d where %d is due", ErrMalformed, offset, t.at)
		}
		gap := offset > t.at
		t.at, t.last, t.known = offset+1, msg.ID, true
		id := mapping.ParseID(msg.ID)
		if id.Kind != mapping.IDIdempotent {
			flush()
			continue
		}
		next := producerstate.Batch{Producer: id.ProducerID, Epoch: id.Epoch, First: id.Sequence, Last: id.Sequence}
		if length == 0 || gap || !run.Extend(next) {
			flush()
			run, base, newest = next, offset, -1
		}
		length++
		newest = max(newest, mapping.RecordTimestamp(&msg))
	}
	return nil
}
