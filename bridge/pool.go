// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	// busyCalls in flight on every connection make the pool open one more, while its bounds allow; at maxCalls on
	// every one callers are turned away.
	busyCalls = 4
	maxCalls  = 1 << 16
	// redialMin to redialMax: how long after a failed dial nobody tries again. Callers in between fail at once.
	redialMin = 50 * time.Millisecond
	redialMax = time.Second
	// partingTime bounds the sign-out of a connection that is closed while the pool goes on.
	partingTime = time.Second
)

// opener opens one signed-in connection. One that is lent belongs to another pool, which will close it.
type opener func(ctx context.Context) (c *conn, lent bool, err error)

// connPool is a bounded set of signed-in connections of one Iggy user, each shared by many callers. At most one
// connection is being opened at a time: a sign-in costs a real server tens of milliseconds of CPU.
//
// Whoever learns that a connection has ended says so with forget.
type connPool struct {
	open        opener
	dialTimeout time.Duration
	slots       *slots  // which its connections take; nil: none
	extras      *extras // which those beyond the first take; nil: none
	others      bool    // they are not the gateway's own user's
	vital       bool    // the last connection stays, also when it is idle: to open another one is dear

	ctx    context.Context // ends what runs when the pool closes
	cancel context.CancelFunc
	wg     sync.WaitGroup // the dial in the background, and connections that sign out

	mu      sync.Mutex
	max     int
	members []*member
	extra   int           // taken for members
	dialled chan struct{} // closed when the dial that is under way ends; nil when there is none
	callers int           // who wait for it
	due     int           // who have waited and are about to come for what it brought
	queued  bool          // it waits for a slot
	failure error         // of the last dial, nil after a good one
	backoff time.Duration
	retryAt time.Time
	closed  bool
}

// member is a connection in a pool. The pool's mu guards it.
type member struct {
	*conn
	lent    bool
	users   int       // callers between get and put
	leaving bool      // nobody gets it any more; it goes when its last user has put it back
	since   time.Time // it is here
	used    time.Time
	needed  time.Time // when fewer connections would last have made the pool open one more
}

func newConnPool(open opener, dialTimeout time.Duration, maxConns int) *connPool {
	p := &connPool{open: open, dialTimeout: dialTimeout, max: max(maxConns, 1)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// get returns the least busy connection, which the caller puts back when it has its answers. It waits for a dial only when
// there is no connection at all; when all are busy, one more is dialled for those who come later. After a failed dial callers
// fail at once until the next is due.
func (p *connPool) get(ctx context.Context) (*member, error) {
	for waited := false; ; waited = true {
		m, dialled, err := p.choose(waited)
		if m != nil || err != nil {
			return m, err
		}
		select {
		case <-dialled:
		case <-ctx.Done():
			if err := p.giveUp(dialled, context.Cause(ctx)); err != nil {
				return nil, err
			}
		}
	}
}

// choose returns a connection, or the dial to wait for. waited: the caller has waited for one.
func (p *connPool) choose(waited bool) (m *member, dialled chan struct{}, err error) {
	if waited { // until now no connection could be taken away
		defer p.slots.makeRoom()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if waited {
		p.due--
	}
	if p.closed {
		return nil, nil, ErrClosed
	}
	now := time.Now()
	best, count, load := p.leastBusy()
	wanted := best == nil || best.load.Load() >= busyCalls && count < p.max && p.slots.any() && p.extras.any()
	if wanted && p.dialled == nil && (p.failure == nil || !now.Before(p.retryAt)) {
		p.dialled = make(chan struct{})
		p.wg.Go(func() { p.dial(best == nil) })
	}
	switch {
	case best == nil && p.dialled == nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, p.failure)
	case best == nil:
		p.callers++
		return nil, p.dialled, nil
	case best.load.Load() >= maxCalls:
		return nil, nil, fmt.Errorf("%w: %d calls in flight on every connection", ErrBusy, maxCalls)
	}
	best.users++
	best.used = now
	for _, m := range p.members[:min(load/busyCalls+1, len(p.members))] {
		m.needed = now
	}
	return best, nil, nil
}

// giveUp ends the waiting of a caller for a dial, and says for what it has waited in vain: a bound of ours is not Iggy's absence.
// It returns nil when the dial has just ended: what it brought is kept for the caller.
func (p *connPool) giveUp(dialled chan struct{}, cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dialled != dialled:
		return nil
	case p.queued:
		cause = fmt.Errorf("bridge: all connections that may carry writes are in use: %w", cause)
	default:
		cause = fmt.Errorf("%w: dialling: %w", ErrUnavailable, cause)
	}
	p.callers--
	return cause
}

// class is err, but that Iggy does not know who has signed in on a connection: of another user than the gateway's own this says
// that it was deleted.
func (p *connPool) class(err error) error {
	if p.others && hasStatus(err, iggywire.StatusUnauthenticated) {
		return fmt.Errorf("%w: %v", ErrRefused, err)
	}
	return err
}

// put gives back what get returned.
func (p *connPool) put(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.users--
	m.used = time.Now()
	if m.leaving && m.users == 0 {
		p.part(m)
	}
}

// leastBusy also counts the connections, and the calls in flight on them. mu is held.
func (p *connPool) leastBusy() (best *member, count, load int) {
	for _, m := range p.members {
		if m.leaving || !m.alive() {
			continue
		}
		count++
		load += int(m.load.Load())
		if best == nil || m.load.Load() < best.load.Load() {
			best = m
		}
	}
	return best, count, load
}

// dial adds one connection, or notes why there is none. Only for the first one others have to give up theirs.
func (p *connPool) dial(first bool) {
	c, lent, err := p.openOne(first)
	p.mu.Lock()
	close(p.dialled)
	p.dialled = nil
	p.due, p.callers = p.due+p.callers, 0
	switch {
	case err != nil:
		p.backoff = min(max(2*p.backoff, redialMin), redialMax)
		p.retryAt = time.Now().Add(p.backoff)
		p.failure = err
	case c != nil:
		p.take(c, lent, first)
	}
	p.mu.Unlock()
	if c != nil {
		p.settle(c)
	}
}

// openOne opens a connection; it returns none and no error when a further one would be beyond a bound.
func (p *connPool) openOne(first bool) (c *conn, lent bool, err error) {
	switch {
	case first:
		p.setQueued(true)
		err = p.slots.take(p.ctx)
		p.setQueued(false)
	case !p.extras.tryTake():
		return nil, false, nil
	case !p.slots.tryTake():
		p.extras.release()
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.dialTimeout)
	defer cancel()
	if c, lent, err = p.open(ctx); err != nil {
		p.slots.release()
		if !first {
			p.extras.release()
		}
		return nil, false, err
	}
	return c, lent, nil
}

func (p *connPool) setQueued(queued bool) {
	p.mu.Lock()
	p.queued = queued
	p.mu.Unlock()
}

// take makes c, which has its slot, and its extra if it is not the first, a member. mu is held; settle must follow without it.
func (p *connPool) take(c *conn, lent, first bool) {
	if !first {
		p.extra++
	}
	p.failure, p.backoff = nil, 0
	now := time.Now()
	p.members = append(p.members, &member{conn: c, lent: lent, since: now, used: now, needed: now})
}

// settle looks after a new member: it may have ended before anybody could forget it, and others may wait for its slot.
func (p *connPool) settle(c *conn) {
	if !c.alive() {
		p.forget(c)
	}
	p.slots.makeRoom()
}

// add makes a connection that somebody else has opened a member, of a pool without slots. It reports false when the pool has
// enough of them, or is closed.
func (p *connPool) add(c *conn) bool {
	p.mu.Lock()
	_, count, _ := p.leastBusy()
	fits := !p.closed && count < p.max && (count == 0 || p.extras.tryTake())
	if fits {
		p.take(c, false, count == 0)
	}
	p.mu.Unlock()
	if fits {
		p.settle(c)
	}
	return fits
}

// lend returns the least busy connection for use by another pool too, or nil.
func (p *connPool) lend() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, _, _ := p.leastBusy(); m != nil {
		return m.conn
	}
	return nil
}

// forget takes a connection that has ended, or is no longer lent, out of the pool.
func (p *connPool) forget(c *conn) {
	p.mu.Lock()
	i := slices.IndexFunc(p.members, func(m *member) bool { return m.conn == c })
	if i >= 0 {
		p.members = slices.Delete(p.members, i, i+1)
	}
	extra := p.extra > max(len(p.members)-1, 0) // whichever is the first now needs none
	if extra {
		p.extra--
	}
	p.mu.Unlock()
	if i >= 0 {
		p.slots.release()
	}
	if extra {
		p.extras.release()
	}
}

// part lets a member go that nobody uses. mu is held.
func (p *connPool) part(m *member) {
	if p.closed {
		return // close sees to it
	}
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, partingTime)
		defer cancel()
		p.dismiss(ctx, m)
	})
}

func (p *connPool) dismiss(ctx context.Context, m *member) {
	if !m.lent {
		m.close(ctx)
	}
	p.forget(m.conn)
}

// retry makes the next dial due: the last may have failed for want of what there is now.
func (p *connPool) retry() {
	p.mu.Lock()
	p.failure, p.backoff = nil, 0
	p.mu.Unlock()
}

// setMax changes how many connections the pool may open.
func (p *connPool) setMax(n int) {
	p.mu.Lock()
	p.max = n
	p.mu.Unlock()
}

// leave makes a member go as soon as nobody uses it. mu is held.
func (p *connPool) leave(m *member) {
	m.leaving = true
	if m.users == 0 {
		p.part(m)
	}
}

// reap closes connections without which the pool would have done for idle. That they carry something now and then does not keep
// them: few calls at a time are spread over all that there are.
func (p *connPool) reap(idle time.Duration) {
	limit := time.Now().Add(-idle)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, count, _ := p.leastBusy()
	for _, m := range slices.Backward(p.members) {
		old := !m.leaving && m.users == 0 && m.load.Load() == 0 && m.needed.Before(limit)
		if old && m.alive() && !(p.vital && count == 1) {
			p.leave(m)
			count--
		}
	}
}

// abort fails every connection at once.
func (p *connPool) abort() {
	p.mu.Lock()
	members := slices.Clone(p.members)
	p.mu.Unlock()
	for _, m := range members {
		m.fail(errSignedOut)
	}
}

// close signs every connection out within ctx; get fails from now on.
func (p *connPool) close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait() // no dial adds a connection from here on
	p.mu.Lock()
	members := slices.Clone(p.members)
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(func() { p.dismiss(ctx, m) })
	}
	wg.Wait()
	p.slots.leave(p)
}
