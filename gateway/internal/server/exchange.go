// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// exchange is one request and, once complete, its answer.
type exchange struct {
	req   *wire.Request // nil once complete; from add on it changes under pipeline.mu
	frame *wire.Buffer
	// rawToken: the frame was a token without a request header, and the answer has no header either.
	rawToken bool
	// secret: there may be a password in the frame.
	secret bool
	// What the request holds of the budgets, in bytes.
	frameCharge, decodeCharge int64
	watch                     stopwatch

	complete bool     // guarded by pipeline.mu
	out      outgoing // the writer's once complete
}

// outgoing is an answer ready to be written, or why there is none. The zero outgoing is the answer to acks=0.
type outgoing struct {
	size    int          // bytes to write in all
	head    *wire.Buffer // length, header, and the body unless it is in raw
	raw     net.Buffers
	charge  int64 // of the response budget
	release func()
	closing closing // set: the connection closes in place of this answer
	last    closing // set: the connection closes behind it
}

// start calls the handler and contains its panics.
func (c *Conn) start(req *wire.Request) (pending Pending) {
	defer func() {
		if v := recover(); v != nil {
			err := c.panicked(req, v)
			pending = func(context.Context) (Reply, error) { return Reply{}, err }
		}
	}()
	return c.server.handler.Start(c.ctx, c, req)
}

// await calls the Pending and contains its panics.
func (c *Conn) await(req *wire.Request, pending Pending) (reply Reply, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = c.panicked(req, v)
		}
	}()
	reply, err = pending(c.ctx)
	reply.findCode()
	return reply, err
}

// panicError is a handler's panic, already logged.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("server: handler panicked: %v", e.value) }

func (c *Conn) panicked(req *wire.Request, value any) error {
	c.server.cfg.Logger.Error("handler panicked", keyConn, c.id, keyAPI, req.Header.Key,
		keyVersion, req.Header.Version, keyError, fmt.Sprint(value), keyStack, string(debug.Stack()))
	return &panicError{value}
}

// answer waits for a request's answer, encodes it, gives back what the request held, and writes it when its turn has come,
// with those behind it.
func (c *Conn) answer(ex *exchange, pending Pending) {
	reply, err := c.await(ex.req, pending)
	ex.watch.handled(c, &reply)
	var out outgoing
	switch {
	case err != nil:
		out.closing, out.release = handlerFailure(err), reply.release
	case ex.rawToken:
		out = c.encodeRawToken(reply)
	default:
		out = c.encode(ex.req, reply)
	}
	if reply.last.cause != 0 {
		last := reply.last
		out.last = last
		c.farewell.Store(&last)
	}
	c.giveBack(ex)
	ex.watch.lap(c, &ex.watch.Stages.Encode)
	if c.pipeline.complete(ex, out) {
		c.writeReady()
	}
}

// encode turns a reply into bytes and takes their size from the response budget, unless the handler has.
func (c *Conn) encode(req *wire.Request, reply Reply) (out outgoing) {
	if reply.kind == noReply {
		return outgoing{}
	}
	defer func() {
		if v := recover(); v != nil {
			out.closing = handlerFailure(c.panicked(req, v))
		}
	}()
	out = outgoing{head: c.server.pool.Get(0), raw: reply.raw, release: reply.release}
	if reply.kind == rawReply {
		out.head.B = req.AppendResponsePrefix(out.head.B, reply.rawSize)
	} else {
		out.head.B = wire.AppendResponse(out.head.B, req.Header.CorrelationID, reply.resp)
	}
	out.size = len(out.head.B) + reply.rawSize
	if size, limit := int64(out.size), c.server.cfg.MaxResponseSize; size > limit {
		out.closing = closing{ResponseTooLarge, fmt.Errorf("server: answer of %d bytes, at most %d", size, limit)}
		return out
	}
	if reply.kind == message {
		deadline := time.Now().Add(c.server.cfg.WriteTimeout)
		if err := c.acquire(c.server.cfg.ResponseBudget, int64(out.size), deadline); err != nil {
			out.closing = closing{ResponseBudget, err}
			return out
		}
		out.charge = int64(out.size)
	}
	return out
}

// GiveBack returns what a request holds of the memory that all connections share. It is for a Pending that is going to
// wait long, for other clients perhaps: it has copied what it still needs, as the bytes of req.Body are not its own
// any more. Only the Pending of req may call it.
func (c *Conn) GiveBack(req *wire.Request) {
	if ex := c.pipeline.find(req); ex != nil {
		req.Body = nil
		c.giveBack(ex)
	}
}

// giveBack returns what a request held, unless its handler has; its frame must no longer be used.
func (c *Conn) giveBack(ex *exchange) {
	if ex.frame == nil {
		return
	}
	if ex.secret {
		clear(ex.frame.B)
	}
	ex.frame.Release()
	ex.frame = nil
	if ex.frameCharge > 0 {
		c.server.cfg.FrameBudget.Release(ex.frameCharge)
	}
	c.server.cfg.DecodeBudget.Release(ex.decodeCharge)
}

// discard returns what an answer held, written or not.
func (c *Conn) discard(out *outgoing) {
	if out.head != nil {
		out.head.Release()
	}
	if out.charge > 0 {
		c.server.cfg.ResponseBudget.Release(out.charge)
	}
	if out.release != nil {
		out.release()
	}
	*out = outgoing{}
}

// acquire takes n bytes of a budget, waiting until deadline or until the connection closes.
func (c *Conn) acquire(b *budget.Budget, n int64, deadline time.Time) error {
	if b.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithDeadline(c.ctx, deadline)
	defer cancel()
	return b.Acquire(ctx, n)
}
