// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// activity is what a client has asked last, and the last error that it was told, for who looks at its connection. Times are the
// connection's clock.
type activity struct {
	key      atomic.Int32 // API key; it counts once at is set
	at       atomic.Int64 // ns; 0: nothing was asked yet
	clientID atomic.Pointer[string]
	failure  atomic.Pointer[failure]
	in, out  atomic.Int64 // bytes of requests and answers, before TLS
}

// failure is an answer with an error code.
type failure struct {
	key, code int16
	at        time.Duration
}

// begun takes in a request.
func (a *activity) begun(req *wire.Request, now time.Duration) {
	a.key.Store(int32(req.Header.Key))
	a.at.Store(int64(now))
	if id := req.Header.ClientID; id != nil {
		a.noteClientID(*id)
	}
}

// noteClientID takes in how the client calls itself, which it seldom changes.
func (a *activity) noteClientID(id string) {
	id = excerpt.Of(id, maxKept)
	if last := a.clientID.Load(); last == nil || *last != id {
		kept := id
		a.clientID.Store(&kept)
	}
}

// maxKept is how many bytes of a client's id, or of the name or version of its software, are kept for as long as its connection is
// open. Anybody who connects may say up to a MiB.
const maxKept = 128

// finished takes in a request that is over.
func (a *activity) finished(w *stopwatch) {
	a.in.Add(int64(w.In))
	a.out.Add(int64(w.Out))
	if w.Code != 0 && w.Answered {
		a.failure.Store(&failure{w.Key, w.Code, w.last})
	}
}
