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

// admit makes the next group: it answers those of the batches that are not to be written, duplicates and what is out of order, up
// to the first whose verdict depends on whether an earlier one gets written. That one, and those behind it, wait until it is
// known.
func (l *lane) admit(ctx context.Context, u *underway) error {
	if !u.anyIdempotent() {
		u.takeAll()
		return nil
	}
	n, err := l.judge(ctx, u.waiting)
	if err != nil {
		return err
	}
	for _, a := range u.waiting[:n] {
		switch a.verdict {
		case producerstate.Write:
		case producerstate.Duplicate:
			l.finishDuplicate(ctx, a)
		case producerstate.InvalidEpoch:
			l.refuse(a, ErrInvalidProducerEpoch)
		default:
			l.refuse(a, ErrOutOfOrderSequence)
		}
	}
	u.take(n)
	return nil
}

// judge gives the first n batches their verdicts. What the lane knows is as old as its last look at the partition, and somebody
// else may have written the missing batches since. So before it calls the first one out of order it looks again, and when
// there was something new all are judged anew.
func (l *lane) judge(ctx context.Context, batches []*Append) (n int, err error) {
	now := time.Now()
	for fresh := false; ; fresh = true {
		n, outOfOrder := l.judgeNow(batches, now)
		if !outOfOrder || fresh {
			return n, nil
		}
		if news, err := l.refresh(ctx); err != nil || !news {
			return n, err
		}
	}
}

// judgeNow judges by what is known.
func (l *lane) judgeNow(batches []*Append, now time.Time) (n int, outOfOrder bool) {
	l.producers.Gather()
	defer l.producers.Gathered()
	for i, a := range batches {
		if !a.Producer.Idempotent {
			continue // to be written, by the zero verdict
		}
		a.verdict, a.old = l.producers.Judge(a.Producer.batch(), now)
		switch a.verdict {
		case producerstate.Wait:
			return i, outOfOrder
		case producerstate.OutOfOrder:
			outOfOrder = true
		}
	}
	return len(batches), outOfOrder
}

func (l *lane) finishDuplicate(ctx context.Context, a *Append) {
	done := Appended{BaseOffset: a.old.Offset, LogStart: l.logStart(), Duplicate: true, Timestamp: a.old.MaxTimestamp}
	if a.StampTime {
		done.Timestamp = l.stampAt(ctx, a.old.Offset)
	}
	l.st.b.counts.duplicates.Add(1)
	a.finish(done, nil)
}

func (l *lane) refuse(a *Append, err error) {
	p := &a.Producer
	l.fail(a, fmt.Errorf("%w: topic %q partition %d: producer %d epoch %d sequence numbers %d to %d",
		err, l.st.topic.Name, l.partition, p.ID, p.Epoch, p.FirstSequence, p.LastSequence))
}

// remember takes in a group that was written at base. When the lane does not know all that lies before, the group is read back
// with that before the next verdict, see catchUp.
func (l *lane) remember(group []*Append, base int64) {
	t := &l.tail
	t.doubt = t.doubt || base < t.at
	next := !t.doubt && t.at == base && t.epoch == l.epoch
	now := time.Now()
	for _, a := range group {
		switch {
		case !a.Producer.Idempotent:
		case next:
			l.producers.Written(a.Producer.batch(), base, a.MaxTimestamp, now)
		default:
			l.producers.Acknowledged(a.Producer.batch(), now)
		}
		base += int64(a.Count)
	}
	if next {
		t.at, t.last, t.known = base, l.sent.last, true
	}
}

// stampAt is when Iggy got the message at an offset, in ms, or -1 when that cannot be learnt: what is written is no reason
// to fail.
func (l *lane) stampAt(ctx context.Context, offset int64) int64 {
	m, err := l.st.b.poll(ctx, l.st.b.self, pollRequest(l.st.topic.Iggy, l.partition, iggywire.PollOffset, uint64(offset), 1))
	if err != nil {
		return -1
	}
	defer m.Release()
	return stampIn(&m, offset)
}

// stampIn is the same for the message that an answer begins with.
func stampIn(m *Messages, offset int64) int64 {
	if len(m.Messages) < iggywire.MessageHeaderSize || int64(iggywire.MessageOffset(m.Messages)) != offset {
		return -1
	}
	return int64(iggywire.MessageTimestamp(m.Messages) / 1000)
}
