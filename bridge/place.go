// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// sendTries bounds how often a group that was not written is sent again.
const sendTries = 3

// maxVerify is how large a message, in bytes, the poll may bring back that verifies a send: it comes on a connection for writes,
// of which there are many. A larger one is read on one of the few for polls.
const maxVerify = 64 << 10

// errNotWritten: Iggy has not executed the send, or lost what it wrote. It may be repeated.
var errNotWritten = errors.New("bridge: send was not executed")

// place writes those of the batches that are worth it and can go together, u.group then, or finds that they were written. It
// returns the offset of the group's first message; an error is the group's. The others before u.waiting it has finished.
func (l *lane) place(ctx context.Context, u *underway) (base int64, err error) {
	for try := 1; ; try++ {
		base, err := l.placeOnce(ctx, u)
		if !errors.Is(err, errNotWritten) || try == sendTries || ctx.Err() != nil {
			return base, err
		}
		l.next = -1
		u.putBack()
	}
}

// placeOnce is one try at that. It has its connection before it looks at the partition: what it judges the batches by is then
// known of the server that they go to, or of one that is no more.
func (l *lane) placeOnce(ctx context.Context, u *underway) (base int64, err error) {
	if err := l.settleOpen(ctx); err != nil {
		u.takeAll()
		return 0, l.unsent(err)
	}
	writes := u.waiting[0].Session.writes
	m, missing := writes.get(ctx)
	if missing == nil && m.number > l.dials { // its server may have lost what the lane knows, and no older connection have noticed
		l.next = -1
	}
	err = l.choose(ctx, u)
	switch {
	case err == nil && missing == nil && len(u.group) > 0:
		return l.sendOnce(ctx, writes, m, u.group)
	case missing == nil:
		writes.put(m)
	}
	if err != nil {
		u.takeAll()
		return 0, l.unsent(err)
	}
	return 0, missing // what was written before is answered all the same
}

// choose makes the group by what the partition holds.
func (l *lane) choose(ctx context.Context, u *underway) error {
	err := l.resolve(ctx)
	if err == nil && u.anyIdempotent() {
		err = l.catchUp(ctx)
	}
	l.dropExpired(u)
	if err != nil {
		return err
	}
	return l.admit(ctx, u)
}

// unsent gives an error that stopped the lane before it sent anything its class.
func (l *lane) unsent(err error) error {
	if err == nil || IsNotFound(err) || IsUnauthorized(err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// settleOpen decides an earlier send: to send something else before it is over could turn the order of the partition's batches
// around.
func (l *lane) settleOpen(ctx context.Context) error {
	if !l.open {
		return nil
	}
	if _, err := l.settle(ctx); err != nil && !errors.Is(err, errNotWritten) {
		return fmt.Errorf("%w: an earlier send is still undecided: %w", ErrUnavailable, err)
	}
	return nil
}

// resolve makes l.next the partition's next offset, asking Iggy when it is not known for sure.
func (l *lane) resolve(ctx context.Context) error {
	if l.next >= 0 && l.epoch == l.st.b.epoch.Load() {
		l.refreshStart()
		return nil
	}
	return l.askEnd(ctx)
}

// askEnd asks Iggy where the partition ends.
func (l *lane) askEnd(ctx context.Context) error {
	epoch, dials := l.st.b.epoch.Load(), l.st.b.dials.Load()
	bounds, err := l.st.ends.do(ctx)
	switch {
	case err != nil:
		return err
	case int(l.partition) >= len(bounds):
		return fmt.Errorf("bridge: topic %q partition %d: %w", l.st.topic.Name, l.partition, ErrPartitionNotFound)
	}
	if dials != l.dials && l.tail.at > 0 { // the tail was looked at before some of them
		l.tail.doubt = true
	}
	l.next, l.epoch, l.dials = bounds[l.partition].Next, epoch, dials
	return nil
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

// sendOnce sends a group on m, which it puts back, and returns the offset of its first message.
func (l *lane) sendOnce(ctx context.Context, writes *connPool, m *member, group []*Append) (int64, error) {
	header, err := l.appendHeader(group)
	if err != nil {
		writes.put(m)
		return 0, err
	}
	send := frame{code: iggywire.CodeSendMessages, parts: make([][]byte, 0, 1+len(group))}
	send.parts = append(send.parts, header)
	for _, a := range group {
		send.parts = append(send.parts, a.Messages)
	}
	c := m.conn
	stamped := anyStamped(group)
	verified := !l.exclusive || stamped
	if stamped {
		l.sent.smallest, l.sent.smallestSize = smallestMessage(header[len(header)-int(l.sent.count)*iggywire.IndexSize:])
	}
	frames := []frame{send}
	if verified && group[0].Session == l.st.b.self { // then the poll rides in the same write
		l.verify = l.verifyingPoll(stamped && l.sent.smallestSize <= maxVerify).AppendTo(l.verify[:0])
		frames = append(frames, frame{code: iggywire.CodePollMessages, parts: [][]byte{l.verify}})
	}
	calls, err := c.send(ctx, frames...)
	if err != nil {
		writes.put(m)
		return 0, fmt.Errorf("%w: %w", errNotWritten, l.unsent(err))
	}
	l.sent.call = calls[0]
	l.st.b.counts.sent(len(group), &l.sent)
	ans, err := c.result(ctx, calls[0])
	writes.put(m) // what is still under way comes even if the connection has to go
	ans.release()
	var refused *StatusError
	switch {
	case err == nil && !verified && l.epoch == l.st.b.epoch.Load():
		return l.placed(ctx, l.next, l.next+l.sent.count)
	case err == nil:
		return l.locate(ctx, c, calls[1:])
	case hasStatus(err, iggywire.StatusUnauthenticated):
		return 0, fmt.Errorf("%w: %w: %w", errNotWritten, ErrUnavailable, writes.class(err))
	case errors.As(err, &refused) && !errors.Is(err, ErrMalformed) && refused.Status != iggywire.StatusInvalidCommand:
		return 0, err
	}
	// Its fate is unknown, also when the connection was out of step: the messages tell.
	return l.decide(ctx, err)
}

// verifyingPoll asks where the partition ends, and for the send's smallest message if its time is wanted.
func (l *lane) verifyingPoll(stamped bool) iggywire.Poll {
	at, count := l.next, uint32(0)
	if stamped {
		at, count = at+l.sent.smallest, 1
	}
	return pollRequest(l.st.topic.Iggy, l.partition, iggywire.PollOffset, uint64(at), count)
}

// locate says where a confirmed send went: verifying holds the poll that was sent behind it, if any.
func (l *lane) locate(ctx context.Context, c *conn, verifying []*call) (int64, error) {
	m, err := l.verified(ctx, c, verifying)
	if err == nil {
		next, base := m.Current+1, l.next
		l.sent.stamp = stampIn(&m, base+l.sent.smallest)
		m.Release()
		if next == base+l.sent.count {
			return l.placed(ctx, base, next)
		}
		// Another writer, or the partition went back.
		l.sent.stamp = -1
		var found bool
		if base, found, err = l.find(ctx, next); found {
			return l.placed(ctx, base, next)
		}
	}
	if err == nil {
		return 0, fmt.Errorf("%w: %w: confirmed messages are gone", l.notWritten(), ErrUnavailable)
	}
	// Confirmed, but its place could not be asked for on this connection.
	return l.decide(ctx, err)
}

func (l *lane) verified(ctx context.Context, c *conn, verifying []*call) (Messages, error) {
	if len(verifying) == 0 {
		return l.st.b.poll(ctx, l.st.b.self, l.verifyingPoll(false))
	}
	ans, err := c.result(ctx, verifying[0])
	if err != nil {
		return Messages{}, err
	}
	return openPoll(ans)
}

// placed takes in where the last send was written, and that the partition ends at next.
func (l *lane) placed(ctx context.Context, base, next int64) (int64, error) {
	l.next, l.open = next, false
	l.st.wrote(l.partition, base, l.sent.count, next, l.sent.bytes, l.sent.asked)
	if err := l.st.reveal(ctx, l.partition, base); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return base, nil
}

// appendHeader builds the front of a send's body in the lane's scratch, and notes the send.
func (l *lane) appendHeader(group []*Append) ([]byte, error) {
	total := 0
	for _, a := range group {
		total += a.Count
	}
	name := l.st.topic.Iggy
	buf := iggywire.AppendSendHeader(l.header[:0], iggywire.NamedID(name.Stream), iggywire.NamedID(name.Topic),
		iggywire.ToPartition(uint32(l.partition)), total)
	indexes := len(buf)
	var base uint32
	for _, a := range group {
		var n int
		var err error
		if buf, n, err = iggywire.AppendIndexes(buf, a.Messages, base); err != nil {
			return nil, fmt.Errorf("bridge: append: %w", err)
		}
		if n != a.Count || n == 0 {
			return nil, fmt.Errorf("bridge: append: %d messages, %d announced: %w", n, a.Count, iggywire.ErrMalformed)
		}
		base += uint32(len(a.Messages))
	}
	final := group[len(group)-1].Messages
	l.sent = sent{
		first: iggywire.MessageID(group[0].Messages), last: iggywire.MessageID(final[lastMessage(buf[indexes:], base, len(final)):]),
		count: int64(total), bytes: int64(base), from: l.next, asked: time.Now(), stamp: -1,
	}
	if l.header = buf; cap(buf) > maxScratch {
		l.header = nil // one batch of very many records is no reason to keep so much for each partition
	}
	return buf, nil
}

// lastMessage is where the last message of a send begins in its last batch: where the index before it ends, counted from the
// send's first message, of which there are size bytes, final of them in that batch.
func lastMessage(indexes []byte, size uint32, final int) int {
	if len(indexes) == iggywire.IndexSize {
		return 0
	}
	end := binary.LittleEndian.Uint32(indexes[len(indexes)-2*iggywire.IndexSize+4:])
	return int(end) - (int(size) - final)
}

// smallestMessage finds the smallest message of a send: its place there, and its size.
func smallestMessage(indexes []byte) (place int64, size uint32) {
	before := uint32(0)
	for i := int64(0); len(indexes) > 0; i++ {
		end := binary.LittleEndian.Uint32(indexes[4:])
		if i == 0 || end-before < size {
			place, size = i, end-before
		}
		before, indexes = end, indexes[iggywire.IndexSize:]
	}
	return place, size
}
