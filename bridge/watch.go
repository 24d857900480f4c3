// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"time"
)

// The prober looks at a watched topic this often: what native producers write is noticed within the interval.
const (
	probeMin = 50 * time.Millisecond
	probeMax = 500 * time.Millisecond
)

// Watch is woken when the end of a partition of its topics may have moved: at once by this gateway's own writes,
// within the prober's interval by those of others. It says that there is news, not which.
type Watch struct {
	c      chan struct{}
	states []*topicState
}

// Watch begins to watch topics; Close ends it. Look at the bounds after calling it, not before, so that nothing
// written in between is missed.
func (b *Bridge) Watch(topics []*Topic) *Watch {
	w := &Watch{c: make(chan struct{}, 1)}
	for _, t := range topics {
		st := b.states.of(t)
		w.states = append(w.states, st)
		st.mu.Lock()
		st.watches[w] = struct{}{}
		if !st.probing {
			st.probing = b.owner.spawn(st.probe)
		}
		st.mu.Unlock()
	}
	return w
}

// News receives when something may have changed.
func (w *Watch) News() <-chan struct{} { return w.c }

// Gone reports that a watched topic was found to be deleted. News comes when that is noticed.
func (w *Watch) Gone(t *Topic) bool {
	for _, st := range w.states {
		if st.topic.ID == t.ID {
			st.mu.Lock()
			defer st.mu.Unlock()
			return st.gone
		}
	}
	return false
}

// Close ends the watch.
func (w *Watch) Close() {
	for _, st := range w.states {
		st.mu.Lock()
		delete(st.watches, w)
		st.mu.Unlock()
	}
}

// probe asks for the topic's ends while somebody watches. Its pause grows while nothing happens, and is remembered
// over the moments between two fetches of one consumer.
func (st *topicState) probe() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		st.mu.Lock()
		if len(st.watches) == 0 || st.gone {
			st.probing = false
			st.mu.Unlock()
			return
		}
		st.pause = min(max(st.pause, probeMin), probeMax)
		pause, before := st.pause, st.total()
		st.mu.Unlock()

		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-st.b.owner.life.Done():
			return
		}
		ctx, cancel := context.WithTimeout(st.b.owner.life, st.b.cfg.CallTimeout)
		_, err := st.ends.do(ctx)
		cancel()

		st.mu.Lock()
		if err == nil && st.total() != before {
			st.pause = probeMin
		} else {
			st.pause = pause + pause/2
		}
		st.mu.Unlock()
	}
}

// total is the sum of all known ends: it moves when any of them does. mu is held.
func (st *topicState) total() int64 {
	var n int64
	for i := range st.parts {
		n += st.parts[i].next
	}
	return n
}
