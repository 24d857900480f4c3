// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	// busyCalls in flight on every connection make the pool dial one more, while its bound allows; at maxCalls on
	// every one callers are turned away.
	busyCalls = 4
	maxCalls  = 1 << 16
	// redialMin to redialMax: how long after a failed dial nobody tries again. Callers in between fail at once.
	redialMin = 50 * time.Millisecond
	redialMax = time.Second
)

// connPool is a bounded set of signed-in connections of one Iggy user, each shared by many callers. At most one
// connection is being dialled at a time: a sign-in costs a real server tens of milliseconds of CPU.
type connPool struct {
	cfg     *Config
	buffers *bufferPool
	max     int
	answer  int         // bytes of the largest answer
	lost    func(error) // a connection in use went away; not called for those the pool closed itself

	ctx    context.Context // ends dials when the pool closes
	cancel context.CancelFunc
	wg     sync.WaitGroup // the dial in the background

	mu      sync.Mutex
	conns   []*conn
	dialled chan struct{} // closed when the dial that is under way ends; nil when there is none
	failure error         // of the last dial, nil after a good one
	backoff time.Duration
	retryAt time.Time
	closed  bool
}

func newConnPool(cfg *Config, buffers *bufferPool, maxConns, maxAnswer int, lost func(error)) *connPool {
	p := &connPool{cfg: cfg, buffers: buffers, max: max(maxConns, 1), answer: maxAnswer, lost: lost}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// get returns the least busy connection. It waits for a dial only when there is no connection at all; when all are
// busy, one more is dialled for those who come later. After a failed dial callers fail at once until the next is due.
func (p *connPool) get(ctx context.Context) (*conn, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		best := p.leastBusy()
		if best != nil {
			best.lastUsed.Store(time.Now().UnixNano()) // it must not be reaped before the caller has sent
		}
		if best != nil && best.load.Load() < busyCalls {
			p.mu.Unlock()
			return best, nil
		}
		due := p.failure == nil || !time.Now().Before(p.retryAt)
		if p.dialled == nil && len(p.conns) < p.max && due {
			p.dialled = make(chan struct{})
			p.wg.Go(p.dial)
		}
		dialled, failure := p.dialled, p.failure
		p.mu.Unlock()
		switch {
		case best != nil && best.load.Load() >= maxCalls:
			return nil, fmt.Errorf("%w: %d calls in flight on every connection", ErrBusy, maxCalls)
		case best != nil:
			return best, nil
		case dialled == nil:
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, failure)
		}
		select {
		case <-dialled:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: dialling: %w", ErrUnavailable, context.Cause(ctx))
		}
	}
}

// leastBusy drops dead connections on the way. mu is held.
func (p *connPool) leastBusy() *conn {
	var best *conn
	live := p.conns[:0]
	for _, c := range p.conns {
		if !c.alive() {
			continue
		}
		live = append(live, c)
		if best == nil || c.load.Load() < best.load.Load() {
			best = c
		}
	}
	clear(p.conns[len(live):])
	p.conns = live
	return best
}

// dial adds one signed-in connection, or notes why there is none.
func (p *connPool) dial() {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.DialTimeout)
	defer cancel()
	c, err := p.connect(ctx)

	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dialled)
	p.dialled = nil
	if err != nil {
		p.backoff = min(max(2*p.backoff, redialMin), redialMax)
		p.retryAt = time.Now().Add(p.backoff)
		p.failure = err
		return
	}
	p.failure, p.backoff = nil, 0
	p.conns = append(p.conns, c)
}

func (p *connPool) connect(ctx context.Context) (*conn, error) {
	nc, err := p.cfg.Dial(ctx, "tcp", p.cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("bridge: dial iggy: %w", err)
	}
	tcp, ok := nc.(*net.TCPConn)
	if ok {
		_ = tcp.SetNoDelay(true)
	}
	if p.cfg.TLS != nil {
		t := tls.Client(nc, p.cfg.tlsFor())
		if err := t.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, fmt.Errorf("bridge: tls handshake with iggy: %w", err)
		}
		nc = t
	}
	c := newConn(nc, tcp, p.buffers, p.cfg.CallTimeout, p.answer, p.connLost)
	login := iggywire.LoginUser{Username: p.cfg.Username, Password: p.cfg.Password, Version: clientVersion}
	a, err := c.do(ctx, iggywire.CodeLoginUser, login.AppendTo(nil))
	if err != nil {
		c.fail(errSignedOut)
		<-c.readDone
		return nil, fmt.Errorf("bridge: sign in to iggy: %w", err)
	}
	a.release()
	c.signedIn.Store(true)
	return c, nil
}

// clientVersion names the protocol version that iggywire speaks.
const clientVersion = "0.8.0"

// connLost passes on the loss of a connection that was in use and that we did not end ourselves.
func (p *connPool) connLost(c *conn, err error) {
	if c.signedIn.Load() && !errors.Is(err, errSignedOut) && !errors.Is(err, errOversized) {
		p.lost(err)
	}
}

// reap closes connections that have carried nothing for idle, but the last one.
func (p *connPool) reap(ctx context.Context, idle time.Duration) {
	limit := time.Now().Add(-idle).UnixNano()
	p.mu.Lock()
	p.leastBusy()
	var old []*conn
	kept := p.conns[:0]
	for i, c := range p.conns {
		last := len(kept) == 0 && i == len(p.conns)-1
		if !last && c.load.Load() == 0 && c.lastUsed.Load() < limit {
			old = append(old, c)
			continue
		}
		kept = append(kept, c)
	}
	clear(p.conns[len(kept):])
	p.conns = kept
	p.mu.Unlock()
	for _, c := range old {
		c.close(ctx)
	}
}

// abort fails every connection at once.
func (p *connPool) abort() {
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range conns {
		c.fail(errSignedOut)
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
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { c.close(ctx) })
	}
	wg.Wait()
}
