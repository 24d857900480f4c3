// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Observer is told of every request that was begun, once: when its answer has been written, or when there will be none. Calls
// come from many goroutines and hold the connection up: they must be quick.
type Observer interface {
	Finished(Exchange)
}

// Exchange is a request with its answer, as a metric sees it.
type Exchange struct {
	Key, Version int16
	// AboveMax says that the version is above all that are served: an ApiVersions request (KIP-511).
	AboveMax bool
	// Answered says that the client was given an answer, or that it wants none and the connection stays. Else the connection
	// has closed before, or in place of it.
	Answered bool
	// Code is the first error code in the answer; 0: there is none.
	Code int16
	// In and Out are the bytes of the request and of the answer, with their lengths, before TLS.
	In, Out int
	Stages  Stages
}

// Stages are the parts of the time between the first bytes of a request and the last of its answer. They follow each other and
// leave nothing out.
type Stages struct {
	// Queue is the wait for the answers to earlier requests, and for the end of throttling.
	Queue time.Duration
	// Decode is reading the rest, when there is memory for it, checking and decoding: of Produce the records as well.
	Decode time.Duration
	// Parked is the wait for what is up to other clients: new records, the other members of a group.
	Parked time.Duration
	// Iggy is finding the answer: mostly, Iggy's own.
	Iggy time.Duration
	// Encode is turning the answer into bytes; of Fetch the records as well.
	Encode time.Duration
	// Write is the wait for the answers to earlier requests, which go first, and for the client to take the bytes.
	Write time.Duration
}

// Total is the time from a request's first bytes to its answer's last.
func (s *Stages) Total() time.Duration {
	return s.Queue + s.Decode + s.Parked + s.Iggy + s.Encode + s.Write
}

// stopwatch times an exchange, by the connection's clock.
type stopwatch struct {
	Exchange
	last time.Duration // when the last stage ended
}

// clock is the time since the connection was opened.
func (c *Conn) clock() time.Duration { return time.Since(c.opened) }

// lap ends a stage now.
func (w *stopwatch) lap(c *Conn, stage *time.Duration) {
	now := c.clock()
	*stage += now - w.last
	w.last = now
}

// identify notes which request it is.
func (w *stopwatch) identify(req *wire.Request, size int) {
	w.Key, w.Version, w.AboveMax, w.In = req.Header.Key, req.Header.Version, req.AboveMax, size
}

// handled notes what the handler says of its answer, which it has just returned.
func (w *stopwatch) handled(c *Conn, reply *Reply) {
	w.lap(c, &w.Stages.Iggy)
	w.Code = reply.code
	parked := min(reply.parked, w.Stages.Iggy)
	encode := min(reply.encoded, w.Stages.Iggy-parked)
	w.Stages.Parked, w.Stages.Encode = parked, encode
	w.Stages.Iggy -= parked + encode
}

// finish tells of an exchange that is over: its answer was written, or dropped.
func (c *Conn) finish(ex *exchange, written bool) {
	w := &ex.watch
	w.lap(c, &w.Stages.Write)
	w.Answered = written
	if written {
		w.Out = ex.out.size
	}
	c.activity.finished(w)
	if o := c.server.cfg.Observer; o != nil {
		o.Finished(w.Exchange)
	}
}
