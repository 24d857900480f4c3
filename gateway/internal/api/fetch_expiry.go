// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
)

// sessionExpiry ends the fetch sessions of clients that have gone without a word. Its timer runs while there are sessions, so they
// go when nobody has used them for fetchSessionIdle to twice that.
type sessionExpiry struct {
	sessions *fetchsession.Cache
	running  atomic.Bool
}

// begin is called when there is a session.
func (e *sessionExpiry) begin() {
	if e.running.CompareAndSwap(false, true) {
		time.AfterFunc(fetchSessionIdle, e.expire)
	}
}

func (e *sessionExpiry) expire() {
	e.running.Store(false) // first: a session that comes meanwhile begins it anew
	if e.sessions.Expire(time.Now().Add(-fetchSessionIdle)) > 0 {
		e.begin()
	}
}
