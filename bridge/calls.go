// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Calls are the requests to Iggy of one kind that were answered, whatever the answer.
type Calls struct {
	Count uint64
	Took  time.Duration // in all, each from when it was sent
}

// callTimes counts calls: those that carry records, and all others.
type callTimes struct{ sends, polls, others callTime }

type callTime struct {
	count atomic.Uint64
	took  atomic.Int64 // ns
}

func (c *callTime) read() Calls { return Calls{c.count.Load(), time.Duration(c.took.Load())} }

// answered counts a call. Nobody counts on a nil one.
func (t *callTimes) answered(cl *call) {
	if t == nil {
		return
	}
	c := &t.others
	switch cl.code {
	case iggywire.CodeSendMessages:
		c = &t.sends
	case iggywire.CodePollMessages:
		c = &t.polls
	}
	c.count.Add(1)
	c.took.Add(int64(time.Since(cl.sent)))
}
