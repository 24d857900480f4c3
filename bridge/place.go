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
	// settleTime: after a connection was lost with a send in flight, the server may still be reading it. Only when
	// the messages have not appeared for this long does the lane give up, saying that it does not know.
	settleTime  = time.Second
	settlePause = 100 * time.Millisecond
	// These bound how far before the expected place messages are looked for when the partition has gone back.
	lookBackMessages = 10_000
	lookBackBytes    = 4 << 20
	// lookBytes is what one poll of a search should bring, lookMessages how many it asks for at most.
	lookBytes    = 1 << 20
	lookMessages = 1000
	// sendTries bounds how often a group that was surely not written is sent again.
	sendTries = 3
)

// errNotWritten: Iggy surely has not executed the send, which may be repeated.
var errNotWritten = errors.New("bridge: send was not executed")

// place writes a group, or finds that it was written. It returns those of its batches that were still worth writing,
// and the offset of the first one's first message.
func (l *lane) place(ctx context.Context, group []*Append) (live []*Append, base int64, err error) {
	for try := 1; ; try++ {
		err := l.resolve(ctx)
		if group = l.dropExpired(group); err != nil || len(group) == 0 {
			return group, 0, l.unsent(err)
		}
		base, err = l.sendOnce(ctx, group)
		if !errors.Is(err, errNotWritten) || try == sendTries || ctx.Err() != nil {
			return group, base, err
		}
		l.next = -1
	}
}

// unsent gives an error that stopped the lane before it sent anything its class.
func (l *lane) unsent(err error) error {
	if err == nil || IsNotFound(err) || IsUnauthorized(err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (l *lane) sendOnce(ctx context.Context, group []*Append) (int64, error) {
	header, count, err := l.appendHeader(group)
	if err != nil {
		return 0, err
	}
	send := frame{code: iggywire.CodeSendMessages, parts: make([][]byte, 0, 1+len(group))}
	send.parts = append(send.parts, header)
	for _, a := range group {
		send.parts = append(send.parts, a.Messages)
	}
	asked := time.Now()
	c, err := group[0].Session.writes.get(ctx)
	if err != nil {
		return 0, err
	}
	// The verifying poll rides in the same write as the send when both run as the same user.
	frames := []frame{send}
	own := group[0].Session == l.st.b.self
	if own {
		frames = append(frames, frame{code: iggywire.CodePollMessages, parts: [][]byte{l.verify}})
	}
	calls, err := c.send(ctx, frames...)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotWritten, l.unsent(err))
	}
	ans, err := c.result(ctx, calls[0])
	ans.release()
	if err == nil {
		return l.locate(ctx, c, calls[1:], group, count, asked)
	}
	if IsTimeout(err) {
		l.open = calls[0]
	}
	var refused *StatusError
	switch {
	case hasStatus(err, iggywire.StatusUnauthenticated):
		return 0, fmt.Errorf("%w: %w: %w", errNotWritten, ErrUnavailable, err)
	case errors.As(err, &refused) && !errors.Is(err, ErrMalformed) && refused.Status != iggywire.StatusInvalidCommand:
		return 0, err
	}
	// Its fate is unknown, also when the connection was out of step: the messages tell.
	return l.settle(ctx, group, count, err)
}

// locate says where a confirmed send went: verifying holds the poll that was sent behind it, if any.
func (l *lane) locate(ctx context.Context, c *conn, verifying []*call, group []*Append, count int, asked time.Time) (int64, error) {
	current, err := l.current(ctx, c, verifying)
	if err == nil {
		next := current + 1
		base := l.next
		if next != l.next+int64(count) {
			// Another writer, or the partition went back.
			var found bool
			if base, found, err = l.find(ctx, group[0].firstID, count, next); err == nil && !found {
				err = fmt.Errorf("%w: confirmed messages not found in topic %q partition %d", ErrUnknownOutcome, l.st.topic.Name, l.partition)
			}
		}
		if err == nil {
			l.next = next
			l.st.wrote(l.partition, base, int64(count), next, groupBytes(group), asked)
			return base, nil
		}
	}
	if errors.Is(err, ErrUnknownOutcome) {
		return 0, err
	}
	// Confirmed, but its place could not be asked for on this connection.
	return l.settle(ctx, group, count, err)
}

func groupBytes(group []*Append) int64 {
	n := 0
	for _, a := range group {
		n += len(a.Messages)
	}
	return int64(n)
}

func (l *lane) current(ctx context.Context, c *conn, verifying []*call) (int64, error) {
	if len(verifying) == 0 {
		m, err := l.st.b.poll(ctx, l.st.b.self, pollRequest(l.st.topic.Iggy, l.partition, iggywire.PollOffset, 0, 0))
		m.Release()
		return m.Current, err
	}
	ans, err := c.result(ctx, verifying[0])
	if err != nil {
		return 0, err
	}
	m, err := openPoll(ans)
	if err != nil {
		return 0, err
	}
	m.Release()
	return m.Current, nil
}

// settle finds out what became of a group whose send was not answered, by the ids of its messages. Before it has
// looked, nothing else is sent: the order of the partition's batches would be open.
func (l *lane) settle(ctx context.Context, group []*Append, count int, cause error) (int64, error) {
	unknown := func(err error) error {
		return fmt.Errorf("%w: topic %q partition %d: %w: %w", ErrUnknownOutcome, l.st.topic.Name, l.partition, cause, err)
	}
	var since time.Time // the first time that Iggy said it is not there
	for {
		asked, epoch := time.Now(), l.st.b.epoch.Load()
		bounds, err := l.st.ends.do(ctx)
		if err == nil && int(l.partition) < len(bounds) {
			next := bounds[l.partition].Next
			base, found, ferr := l.find(ctx, group[0].firstID, count, next)
			if found {
				l.next, l.epoch, l.open = next, epoch, nil
				l.st.wrote(l.partition, base, int64(count), next, groupBytes(group), asked)
				return base, nil
			}
			if ferr == nil {
				if since.IsZero() {
					since = asked
				} else if asked.Sub(since) >= settleTime {
					return 0, unknown(errors.New("not found so far"))
				}
			}
			err = ferr
		}
		if IsNotFound(err) {
			return 0, err
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return 0, unknown(context.Cause(ctx))
		}
	}
}

// find looks for the message id that begins count messages in a partition that ends at next: first from where the
// lane expected it, then, in case the partition went back, in what lies before.
func (l *lane) find(ctx context.Context, id [16]byte, count int, next int64) (base int64, found bool, err error) {
	last := next - int64(count) // the last place where it can begin
	expected := min(max(l.next, 0), last+1)
	if base, found, err = l.scan(ctx, id, expected, last+1); found || err != nil {
		return base, found, err
	}
	return l.scan(ctx, id, max(expected-l.lookBack(), 0), expected)
}

// lookBack is how many messages before the expected place are looked at.
func (l *lane) lookBack() int64 {
	known, _ := l.st.b.KnownBounds(l.st.topic, l.partition)
	return min(lookBackBytes/max(known.MessageSize, 1)+1, lookBackMessages)
}

// scan polls from up to limit for a message with that id.
func (l *lane) scan(ctx context.Context, id [16]byte, from, limit int64) (int64, bool, error) {
	ask := int64(lookMessages)
	if known, ok := l.st.b.KnownBounds(l.st.topic, l.partition); ok && known.MessageSize > 0 {
		ask = min(max(lookBytes/known.MessageSize, 1), lookMessages)
	}
	for from < limit {
		m, err := l.st.b.Read(ctx, l.st.b.self, l.st.topic, l.partition, from, int(min(ask, limit-from)))
		if err != nil {
			return 0, false, err
		}
		offset, n, err := lookFor(m.Messages, id)
		m.Release()
		switch {
		case err != nil:
			return 0, false, fmt.Errorf("%w: %w", ErrMalformed, err)
		case offset >= 0:
			return offset, true, nil
		case n == 0:
			return 0, false, nil
		}
		from = n
	}
	return 0, false, nil
}

// lookFor returns the offset of the message with that id, or -1, and the offset behind the last message, or 0.
func lookFor(msgs []byte, id [16]byte) (offset, next int64, err error) {
	for len(msgs) > 0 {
		var msg []byte
		if msg, msgs, err = iggywire.NextMessage(msgs); err != nil {
			return -1, next, err
		}
		next = int64(iggywire.MessageOffset(msg)) + 1
		if iggywire.MessageID(msg) == id {
			return next - 1, next, nil
		}
	}
	return -1, next, nil
}
