// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	// settleTime is how long, without a break, an Iggy that answers has to say that the messages of a send are not there before
	// they count as never written, once the send is over: see settle. settlePause is between two looks, settleLooks how many of
	// them in a row do as well.
	settleTime  = time.Second
	settlePause = 100 * time.Millisecond
	settleLooks = 15
	// These bound how far before the expected place messages are looked for when the partition has gone back.
	lookBackMessages = 10_000
	lookBackBytes    = 4 << 20
	// lookBytes is what one poll of a search should bring, lookMessages how many messages it asks for at most, and lookFew how
	// many while their size is not known.
	lookBytes    = 1 << 20
	lookMessages = 8192
	lookFew      = 100
)

// sent is a send, as far as it takes to find it again.
type sent struct {
	first, last  [16]byte // ids of its first and last message
	count, bytes int64
	from         int64 // where it was expected
	asked        time.Time
	stamp        int64 // when Iggy got it, in ms; -1: not known
	// smallest is the place in the send of its smallest message, of smallestSize bytes, if the time is wanted: Iggy stamps all
	// messages of a send alike.
	smallest     int64
	smallestSize uint32
	call         *call
	// absent is for how long Iggy has been saying, without a break, that it is not there, though it is over; lookedAt when
	// it last said so.
	absent   time.Duration
	looks    int // as often
	lookedAt time.Time
}

// fate is what the connection told of a send.
type fate int

const (
	fateOpen      fate = iota // no answer yet
	fateConfirmed             // executed: what is not there was lost
	fateRefused               // not executed
	fateLost                  // the connection ended before the answer
)

func (s *sent) fate() fate {
	select {
	case <-s.call.done:
	default:
		return fateOpen
	}
	switch a := s.call.ans; {
	// Out of step, it may answer something else.
	case s.call.err != nil, !a.status.Known(), a.status == iggywire.StatusInvalidCommand:
		return fateLost
	case a.status == iggywire.StatusOK:
		return fateConfirmed
	default:
		return fateRefused
	}
}

// noteAbsent takes in that a look begun at asked has just not found it, and reports that none has for long enough: a pause that a
// stopped server could have made begins the time anew. An Iggy that is always so slow is believed after settleLooks.
func (s *sent) noteAbsent(asked, now time.Time) bool {
	pause := now.Sub(s.lookedAt)
	if s.lookedAt.IsZero() || asked.Sub(s.lookedAt) > 2*settlePause { // nobody looked meanwhile
		s.absent, s.looks = 0, 0
	} else if s.looks++; pause > settleTime/2 {
		s.absent = 0
	} else {
		s.absent += min(pause, 2*settlePause) // of which the server may have been stopped the rest
	}
	s.lookedAt = now
	return s.absent >= settleTime || s.looks >= settleLooks
}

// decide finds out what became of a send whose answer did not come.
func (l *lane) decide(ctx context.Context, cause error) (int64, error) {
	l.open = true
	base, err := l.settle(ctx)
	switch {
	case err == nil:
		return base, nil
	case errors.Is(err, errNotWritten):
		return 0, fmt.Errorf("%w: %w: %w", err, ErrUnavailable, cause)
	case IsNotFound(err):
		return 0, err
	default:
		return 0, fmt.Errorf("%w: topic %q partition %d: %w: %w", ErrUnknownOutcome, l.st.topic.Name, l.partition, cause, err)
	}
}

// settle finds out what became of the open send, by the ids of its messages: where they are, or errNotWritten. Until it knows,
// nothing else is sent: the order of the partition's batches would be open.
//
// When is a send surely not executed that is not to be seen? Never while it waits for its answer. When its connection is
// lost, the bytes of the request may still be somewhere:
//
//   - in this kernel, which would go on delivering them for minutes: conn.fail resets the connection instead;
//   - on the way, or in a proxy: they arrive within a moment, or find the connection reset;
//   - in the server's kernel, whole. A server that hangs, or was stopped, reads and executes them when it goes on, reset or
//     not. But then it also answers again, and what lay in its sockets is read within milliseconds of that.
//
// So settle waits until Iggy has answered throughout settleTime that the messages are not there. An answer that fails to come, or
// comes long after the one before, begins the wait anew: the server may have been stopped in between. What this does not exclude
// is a network, or a server, that holds one connection's bytes back for longer than that while it serves another: then a send
// may be executed late, behind others, and double one that was repeated.
func (l *lane) settle(ctx context.Context) (int64, error) {
	for {
		over := l.sent.fate() // before the look: what comes to be later would be missed
		asked := time.Now()
		base, next, found, err := l.look(ctx)
		switch {
		case found:
			return l.placed(ctx, base, next)
		case IsNotFound(err):
			l.open = false
			return 0, err
		case over == fateRefused:
			return 0, l.notWritten()
		case err != nil:
			l.sent.lookedAt = time.Time{}
		case over == fateConfirmed: // and lost again
			return 0, l.notWritten()
		case over == fateLost && l.sent.noteAbsent(asked, time.Now()):
			return 0, l.notWritten()
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (l *lane) notWritten() error {
	l.next, l.open = -1, false
	return errNotWritten
}

// look asks for the partition's end, and looks for the open send in it.
func (l *lane) look(ctx context.Context) (base, next int64, found bool, err error) {
	if err := l.askEnd(ctx); err != nil {
		return 0, 0, false, err
	}
	next = l.next
	base, found, err = l.find(ctx, next)
	return base, next, found, err
}

// find looks for the last send in a partition that ends at next: first from where it was expected, then, in case the
// partition went back, in what lies before.
func (l *lane) find(ctx context.Context, next int64) (base int64, found bool, err error) {
	last := next - l.sent.count // the last place where it can begin
	expected := min(max(l.sent.from, 0), last+1)
	if base, found, err = l.scan(ctx, expected, last+1, true); found || err != nil {
		return base, found, err
	}
	return l.scan(ctx, max(expected-l.lookBack(), 0), expected, false)
}

// lookBack is how many messages before the expected place are looked at.
func (l *lane) lookBack() int64 {
	known, _ := l.st.b.KnownBounds(l.st.topic, l.partition)
	return min(lookBackBytes/max(known.MessageSize, 1)+1, lookBackMessages)
}

// readFrom polls messages from an offset on, about as many as make up lookBytes.
func (l *lane) readFrom(ctx context.Context, from int64) (Messages, error) {
	count := int64(lookFew)
	if known, _ := l.st.b.KnownBounds(l.st.topic, l.partition); known.MessageSize > 0 {
		count = min(max(lookBytes/known.MessageSize, 1), lookMessages)
	}
	return l.st.b.Read(ctx, l.st.b.self, l.st.topic, l.partition, from, int(count))
}

// scan looks for the last send from one offset on; it has to begin before limit. Both ends are compared: where the
// partition went back, others may have written a part of it anew. Messages of others that it passes, right behind those that
// the lane knows, are taken in.
func (l *lane) scan(ctx context.Context, from, limit int64, learn bool) (base int64, found bool, err error) {
	base = -1
	for from < limit || base >= 0 {
		m, err := l.readFrom(ctx, from)
		if err != nil {
			return 0, false, err
		}
		before := from
		base, from, found, err = l.sent.search(m.Messages, base, from)
		if err == nil && learn {
			err = l.learnForeign(m.Messages, base)
		}
		m.Release()
		switch {
		case err != nil:
			return 0, false, fmt.Errorf("%w: %w", ErrMalformed, err)
		case found || from == before:
			return base, found, nil
		}
	}
	return 0, false, nil
}

// search goes through messages that follow those before offset next. base is where the send may begin, or -1.
func (s *sent) search(msgs []byte, base, next int64) (newBase, newNext int64, found bool, err error) {
	for len(msgs) > 0 {
		var msg []byte
		if msg, msgs, err = iggywire.NextMessage(msgs); err != nil {
			return base, next, false, err
		}
		offset := int64(iggywire.MessageOffset(msg))
		if offset < next {
			return base, next, false, fmt.Errorf("offset %d where %d is due", offset, next)
		}
		next = offset + 1
		id := iggywire.MessageID(msg)
		if base < 0 && id == s.first {
			base = offset
		}
		switch {
		case base < 0 || next < base+s.count:
		case next == base+s.count && id == s.last:
			return base, next, true, nil
		default:
			base = -1
		}
	}
	return base, next, false, nil
}
