// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync/atomic"
	"time"

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
	id, last := req.Header.ClientID, a.clientID.Load()
	if id != nil && (last == nil || *last != *id) {
		a.clientID.Store(id)
	}
}

// finished takes in a request that is over.
func (a *activity) finished(w *stopwatch) {
	a.in.Add(int64(w.In))
	a.out.Add(int64(w.Out))
	if w.Code != 0 && w.Answered {
		a.failure.Store(&failure{w.Key, w.Code, w.last})
	}
}
