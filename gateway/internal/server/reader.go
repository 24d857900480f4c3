// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// budgetedFrame is the first frame size that is charged to the frame budget: "above 64 KiB".
const budgetedFrame = 64<<10 + 1

// preambleSize is how far wire.Table.ReadPreamble looks.
const preambleSize = 8

// sizeOfLength is the size of the length that stands before a frame.
const sizeOfLength = 4

const (
	produceKey          = 0
	fetchKey            = 1
	joinGroupKey        = 11
	syncGroupKey        = 14
	saslAuthenticateKey = 36
)

// mayOverlap says whether a request may begin while earlier ones of its kind are unanswered. Clients pipeline these two;
// everything else waits for what came before, and is waited for, as on Kafka, which serves one request of a connection at
// a time.
func mayOverlap(key int16) bool { return key == produceKey || key == fetchKey }

// mayPark says whether the answer to a request may wait for other clients. Then the client may give up meanwhile, so the
// reader goes on reading; any other request it answers itself, which spares a goroutine.
func mayPark(key int16) bool {
	return mayOverlap(key) || key == joinGroupKey || key == syncGroupKey || key == saslAuthenticateKey
}

// readLoop reads and begins requests until there is a reason to stop. Before it waits for answers it waits for the next
// request, so that it sees at once when the client of a parked one goes away.
func (c *Conn) readLoop() closing {
	alone := false // the last request does not overlap with others
	for {
		if !c.pipeline.awaitRoom(c.ctx.Done()) {
			return closing{} // closed elsewhere
		}
		if end := c.awaitFrame(); end.cause != 0 {
			return end
		}
		if end := c.refuseTLS(); end.cause != 0 {
			return end
		}
		// Who has not authenticated may be about to: what he may send depends on what comes of it.
		if c.unauthenticated() && !c.pipeline.awaitAnswered(c.ctx.Done()) {
			return closing{}
		}
		if c.sasl != nil && c.sasl.ExpectsRawToken() {
			ex, end := c.readRawToken()
			if end.cause != 0 {
				return end
			}
			alone = true
			c.begin(ex)
			continue
		}
		p, end := c.readPreamble()
		if end.cause != 0 {
			return end
		}
		came := c.clock()
		// The wait may be as long as a rebalance, so the request takes no memory before it.
		if (alone || !mayOverlap(p.Key)) && !c.pipeline.awaitAnswered(c.ctx.Done()) {
			return closing{}
		}
		if end := c.awaitUnmuted(); end.cause != 0 {
			return end
		}
		ex, end := c.readRequest(p, came)
		if end.cause != 0 {
			return end
		}
		alone = !mayOverlap(p.Key)
		c.begin(ex)
	}
}

// begin hands a request on. It returns when the request is answered, unless that may take long.
func (c *Conn) begin(ex *exchange) {
	c.requests.Add(1)
	c.activity.begun(ex.req, ex.watch.last)
	c.pipeline.add(ex)
	pending := c.start(ex.req)
	ex.watch.lap(c, &ex.watch.Stages.Decode)
	if mayPark(ex.req.Header.Key) {
		c.pending.Go(func() { c.answer(ex, pending) })
	} else {
		c.answer(ex, pending)
	}
}

// awaitFrame waits for the first byte of a frame. A connection is idle only while it waits for nothing: one whose
// fetch is parked is not, however long its client is silent.
func (c *Conn) awaitFrame() closing {
	if c.stopped.Load() {
		return closing{cause: Shutdown}
	}
	if c.reader.Buffered() > 0 {
		return closing{}
	}
	since, _ := c.quiet()
	timeout, _ := c.idleTimeout()
	deadline := since.Add(timeout)
	for {
		c.setReadDeadline(deadline)
		_, err := c.reader.Peek(1)
		if err == nil {
			return closing{}
		}
		if !isTimeout(err) {
			return peerClosed(err)
		}
		if c.stopped.Load() {
			return closing{cause: Shutdown}
		}
		now := time.Now()
		since, quiet := c.quiet()
		timeout, cause := c.idleTimeout()
		deadline = since.Add(timeout)
		if !quiet {
			deadline = now.Add(timeout)
		} else if !deadline.After(now) {
			return closing{cause: cause}
		}
	}
}

// quiet returns since when the connection could have been used and was not; false while something is in flight.
func (c *Conn) quiet() (since time.Time, ok bool) {
	since, ok = c.pipeline.quiet()
	if unmuted := c.mutedUntil(); unmuted.After(since) {
		since = unmuted
	}
	return since, ok
}

// readPreamble reads what says which request comes, and how large it is.
func (c *Conn) readPreamble() (wire.Preamble, closing) {
	if c.reader.Buffered() < preambleSize {
		c.setReadDeadline(time.Now().Add(c.server.cfg.ReadTimeout))
	}
	p, err := c.server.cfg.Table.ReadPreamble(c.reader, c.limits())
	if err != nil {
		c.noteClientID()
		return p, c.readFailure(err)
	}
	return p, closing{}
}

// noteClientID looks for the client id in a request that is not served and of which no more is read: it is what tells whose client
// is too old. All versions of the request header have it in the same place, behind the correlation id.
func (c *Conn) noteClientID() {
	if c.unauthenticated() { // it may be a password out of place
		return
	}
	const idAt = preambleSize + 4 + 2
	head, _ := c.reader.Peek(min(c.reader.Buffered(), idAt+maxKept))
	if len(head) < idAt || c.activity.clientID.Load() != nil {
		return
	}
	n := int(int16(binary.BigEndian.Uint16(head[idAt-2:])))
	if n > 0 && n <= len(head)-idAt && utf8.Valid(head[idAt:idAt+n]) {
		id := string(head[idAt : idAt+n])
		c.activity.clientID.Store(&id)
	}
}

// readRequest reads, checks and decodes the request behind a preamble, which was read when came. One deadline bounds all of it,
// waiting for memory included.
func (c *Conn) readRequest(p wire.Preamble, came time.Duration) (*exchange, closing) {
	deadline := time.Now().Add(c.server.cfg.ReadTimeout)
	ex := &exchange{watch: stopwatch{last: came}}
	ex.watch.lap(c, &ex.watch.Stages.Queue)
	var err error
	if p.Size >= budgetedFrame {
		// Some of the frame must be there before it takes a share of the budget: eight bytes that announce a large one
		// and nothing behind them would else keep others waiting.
		c.setReadDeadline(deadline)
		if _, err := c.reader.Peek(readBufferSize); err != nil {
			return nil, c.readFailure(err)
		}
		if err := c.acquire(c.server.cfg.FrameBudget, int64(p.Size), deadline); err != nil {
			return nil, closing{FrameBudget, err}
		}
		ex.frameCharge = int64(p.Size)
	}
	if c.reader.Buffered() < int(p.Size) {
		c.setReadDeadline(deadline)
	}
	if p.Key == saslAuthenticateKey {
		ex.secret = true
		ex.frame, err = c.readSecret(p)
	} else {
		ex.frame, err = p.ReadFrame(c.reader, &c.server.pool)
	}
	if err != nil {
		if ex.frameCharge > 0 {
			c.server.cfg.FrameBudget.Release(ex.frameCharge)
		}
		return nil, c.readFailure(err)
	}

	in, err := c.server.cfg.Table.Inspect(ex.frame.B)
	if err != nil {
		c.giveBack(ex)
		return nil, c.readFailure(err)
	}
	if err := c.acquire(c.server.cfg.DecodeBudget, in.Cost, deadline); err != nil {
		c.giveBack(ex)
		if errors.Is(err, budget.ErrTooLarge) {
			return nil, closing{RequestOverBudget, err}
		}
		return nil, closing{DecodeBudget, err}
	}
	ex.decodeCharge = in.Cost
	if ex.req, err = in.Decode(); err != nil {
		c.giveBack(ex)
		return nil, c.readFailure(err)
	}
	ex.watch.identify(ex.req, sizeOfLength+int(p.Size))
	return ex, closing{}
}

// readFailure sorts an error of reading; one that stopReading caused is no timeout.
func (c *Conn) readFailure(err error) closing {
	end := readFailure(err)
	if end.cause == ReadTimeout && c.stopped.Load() {
		return closing{cause: Shutdown}
	}
	return end
}

// setReadDeadline sets the deadline of the reads that follow, which is now once the reader is to stop.
func (c *Conn) setReadDeadline(t time.Time) {
	c.nc.SetReadDeadline(t)
	if c.stopped.Load() { // stopReading came between, and t has replaced its deadline
		c.nc.SetReadDeadline(time.Now())
	}
}

// stopReading makes the reader return before the next frame. A frame that is not wholly read is given up.
func (c *Conn) stopReading() {
	if c.stopped.CompareAndSwap(false, true) {
		close(c.stopping)
	}
	c.nc.SetReadDeadline(time.Now())
}
