// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import "sync/atomic"

// extras bounds the connections that pools have beyond their first one, of all those pools together. Who gets none does with what
// there is: nobody waits, as everybody has one. A nil *extras bounds nothing.
type extras struct{ free atomic.Int64 }

func newExtras(n int) *extras {
	e := new(extras)
	e.free.Store(int64(n))
	return e
}

// any reports that there seems to be one left.
func (e *extras) any() bool { return e == nil || e.free.Load() > 0 }

func (e *extras) tryTake() bool {
	if e == nil {
		return true
	}
	if e.free.Add(-1) >= 0 {
		return true
	}
	e.free.Add(1)
	return false
}

func (e *extras) release() {
	if e != nil {
		e.free.Add(1)
	}
}
