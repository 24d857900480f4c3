// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// frame is one request before it is sent: its body is the concatenation of parts, which are written with one
// vectored write and never copied. The caller keeps parts unchanged until the call was answered or failed.
type frame struct {
	code  iggywire.Code
	parts [][]byte
}

func (f *frame) size() int {
	n := 0
	for _, p := range f.parts {
		n += len(p)
	}
	return n
}

// answer is what Iggy said to one request. body is pooled: its receiver calls release once.
type answer struct {
	status iggywire.Status
	body   *buffer
}

func (a answer) bytes() []byte {
	if a.body == nil {
		return nil
	}
	return a.body.b
}

func (a answer) release() { a.body.release() }

// call is one request in flight. Exactly one of the reader goroutine and fail completes it.
type call struct {
	code iggywire.Code
	sent time.Time     // or about to be
	done chan struct{} // closed once the call is decided, also when nobody waits any more
	ans  answer
	err  error
	// state is settled between who completes the call and who gives up waiting for it: an answer that nobody waits
	// for is released by the completer.
	state atomic.Int32
}

const (
	callPending int32 = iota
	callCompleted
	callAbandoned
)

func (c *call) complete(a answer, err error) {
	c.ans, c.err = a, err
	if !c.state.CompareAndSwap(callPending, callCompleted) {
		a.release()
	}
	close(c.done)
}

// wait returns the answer, or ctx's error once ctx is done; the answer that comes later is thrown away.
func (c *call) wait(ctx context.Context) (answer, error) {
	select {
	case <-c.done:
		return c.ans, c.err
	case <-ctx.Done():
		if c.state.CompareAndSwap(callPending, callAbandoned) {
			return answer{}, fmt.Errorf("bridge: waiting for iggy's answer to %v: %w", c.code, context.Cause(ctx))
		}
		<-c.done
		return c.ans, c.err
	}
}

// conn is one connection to Iggy: requests of many callers in flight, answered in order. A connection that breaks,
// hangs beyond callTimeout or answers nonsense fails every call in flight and is never used again.
//
// Why the caller's deadline does not close it: a Kafka client may ask for an answer within 10 ms; one slow answer
// must not cost the other callers their connection. Only an answer later than callTimeout does.
type conn struct {
	nc          net.Conn
	tcp         *net.TCPConn // under nc; nil when the network is another
	br          *bufio.Reader
	pool        *bufferPool
	times       *callTimes // may be nil
	callTimeout time.Duration
	maxAnswer   int

	// writing is a semaphore of one that a context can wait for: it orders the frames on the wire and in inflight.
	writing chan struct{}
	scratch []byte      // request headers of one write; owned by the holder of writing
	iov     net.Buffers // likewise

	mu       sync.Mutex
	inflight []*call // sent or being sent, oldest first
	dead     error   // why the connection ended; nil while it lives

	load     atomic.Int32 // calls in flight or waiting to be sent, for the pool's choice
	signedIn atomic.Bool
	number   uint64 // of the bridge's dials, with this one
	lost     func(*conn, error)
	readDone chan struct{}
}

func newConn(
	nc net.Conn, tcp *net.TCPConn, pool *bufferPool, times *callTimes, callTimeout time.Duration, maxAnswer int,
	lost func(*conn, error),
) *conn {
	c := &conn{
		nc: nc, tcp: tcp, pool: pool, times: times, callTimeout: callTimeout, maxAnswer: maxAnswer, lost: lost,
		br:       bufio.NewReaderSize(newQuickAckReader(nc), 64<<10),
		writing:  make(chan struct{}, 1),
		readDone: make(chan struct{}),
	}
	go c.readLoop()
	return c
}

// send writes frames back to back in one vectored write and returns their calls in order. An error that is
// ErrUnavailable or a context error means that no frame can have reached Iggy whole.
func (c *conn) send(ctx context.Context, frames ...frame) ([]*call, error) {
	c.load.Add(int32(len(frames))) // those who wait to write count as well
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		c.load.Add(-int32(len(frames)))
		return nil, fmt.Errorf("bridge: waiting to send to iggy: %w", context.Cause(ctx))
	}
	defer func() { <-c.writing }()

	now := time.Now()
	calls := make([]*call, len(frames))
	c.scratch = c.scratch[:0]
	for i := range frames {
		calls[i] = &call{code: frames[i].code, sent: now, done: make(chan struct{})}
		c.scratch = iggywire.AppendRequestHeader(c.scratch, frames[i].code, frames[i].size())
	}
	c.iov = c.iov[:0]
	for i := range frames {
		c.iov = append(c.iov, c.scratch[i*iggywire.HeaderSize:(i+1)*iggywire.HeaderSize])
		for _, p := range frames[i].parts {
			if len(p) > 0 {
				c.iov = append(c.iov, p)
			}
		}
	}
	if err := c.enqueue(calls); err != nil {
		c.load.Add(-int32(len(frames)))
		return nil, err
	}

	// The write has the connection's patience, not the caller's: a frame cut short would cost everybody the connection.
	_ = c.nc.SetWriteDeadline(now.Add(c.callTimeout))
	iov := c.iov // WriteTo consumes the slice it is called on
	if n, err := iov.WriteTo(c.nc); err != nil {
		c.fail(fmt.Errorf("%w: write: %w", ErrConnectionLost, err))
		if n < int64(iggywire.HeaderSize+frames[0].size()) { // not even the first frame is whole: nothing was executed
			return nil, fmt.Errorf("%w: write: %w", ErrUnavailable, err)
		}
	}
	return calls, nil
}

// enqueue makes calls wait for the next answers.
func (c *conn) enqueue(calls []*call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, c.dead)
	}
	if len(c.inflight) == 0 {
		_ = c.nc.SetReadDeadline(time.Now().Add(c.callTimeout))
	}
	c.inflight = append(c.inflight, calls...)
	return nil
}

// dequeue takes the oldest call. The next one gets its full time from here: what those ahead of it took is no sign that
// the connection hangs.
func (c *conn) dequeue() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inflight) == 0 {
		return nil
	}
	first := c.inflight[0]
	c.inflight = slices.Delete(c.inflight, 0, 1) // clears what was the last place: it would hold on to an answer
	c.load.Add(-1)
	if len(c.inflight) > 0 {
		_ = c.nc.SetReadDeadline(time.Now().Add(c.callTimeout))
	} else {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	return first
}

// do sends one request and waits for its answer; a status that is not OK becomes a *StatusError.
func (c *conn) do(ctx context.Context, code iggywire.Code, parts ...[]byte) (answer, error) {
	calls, err := c.send(ctx, frame{code: code, parts: parts})
	if err != nil {
		return answer{}, err
	}
	return c.result(ctx, calls[0])
}

// result waits for one call and turns a status into an error. 40 (not logged in) and 3 (invalid command) leave a
// real server's connection out of step or useless, so both drop it.
func (c *conn) result(ctx context.Context, cl *call) (answer, error) {
	a, err := cl.wait(ctx)
	if err != nil {
		return answer{}, err
	}
	if a.status == iggywire.StatusOK {
		return a, nil
	}
	a.release()
	se := &StatusError{Command: cl.code, Status: a.status}
	if !a.status.Known() { // garbled, and what follows it may be, too
		err := fmt.Errorf("%w: %w", ErrMalformed, se)
		c.fail(err)
		return answer{}, err
	}
	if a.status == iggywire.StatusUnauthenticated || a.status == iggywire.StatusInvalidCommand {
		c.fail(fmt.Errorf("%w: %w", ErrConnectionLost, se))
	}
	return answer{}, se
}

func (c *conn) readLoop() {
	defer close(c.readDone)
	var header [iggywire.HeaderSize]byte
	for {
		if _, err := io.ReadFull(c.br, header[:]); err != nil {
			c.fail(fmt.Errorf("%w: read: %w", ErrConnectionLost, err))
			return
		}
		status, n, err := iggywire.ParseResponseHeader(header[:])
		switch {
		case err != nil:
			c.fail(fmt.Errorf("%w: %w", ErrMalformed, err))
			return
		case status != iggywire.StatusOK && n != 0:
			c.fail(fmt.Errorf("%w: status %d with a body of %d bytes", ErrMalformed, status, n))
			return
		case n > c.maxAnswer:
			// Only who asked for so much is to ask for less.
			if cl := c.dequeue(); cl != nil {
				cl.complete(answer{}, fmt.Errorf("%w: %d bytes, at most %d", ErrAnswerTooLarge, n, c.maxAnswer))
			}
			c.fail(errOversized)
			return
		}
		var body *buffer
		if n > 0 {
			if body, err = c.pool.read(c.br, n); err != nil {
				c.fail(fmt.Errorf("%w: read: %w", ErrConnectionLost, err))
				return
			}
		}
		cl := c.dequeue()
		if cl == nil {
			body.release()
			c.fail(fmt.Errorf("%w: an answer without a request", ErrMalformed))
			return
		}
		c.times.answered(cl)
		cl.complete(answer{status: status, body: body}, nil)
	}
}

// fail ends the connection once; every call in flight fails with err. Calls that come later get ErrUnavailable.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	c.dead = err
	calls := c.inflight
	c.inflight = nil
	c.load.Add(-int32(len(calls)))
	c.mu.Unlock()
	if c.tcp != nil && len(calls) > 0 {
		// Reset, so that the kernel does not go on delivering, for minutes, requests whose callers act as if they were lost.
		// TLS would first say goodbye, and wait for a peer that hangs.
		_ = c.tcp.SetLinger(0)
		_ = c.tcp.Close()
	}
	_ = c.nc.Close()
	// The owner learns of the loss before any caller does, so that a lane which sees its call fail also sees that
	// what it knew of the partition's end is void.
	if c.lost != nil {
		c.lost(c, err)
	}
	for _, cl := range calls {
		cl.complete(answer{}, err)
	}
}

// Why we end a connection ourselves: neither says anything about the server.
var (
	errSignedOut = fmt.Errorf("%w: closed by its owner", ErrConnectionLost)
	errOversized = fmt.Errorf("%w: another caller's answer was too large", ErrConnectionLost)
)

// close signs out politely within ctx and closes; it waits for the reader goroutine.
func (c *conn) close(ctx context.Context) {
	if a, err := c.do(ctx, iggywire.CodeLogoutUser); err == nil {
		a.release()
	}
	c.end()
}

// end closes without a word; it waits for the reader goroutine.
func (c *conn) end() {
	c.fail(errSignedOut)
	<-c.readDone
}

// alive reports whether the connection can take requests.
func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead == nil
}
