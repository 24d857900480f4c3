// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"
	"time"
)

// batchSize is how many bytes of ready answers the writer takes at once before it writes; one answer is always
// taken, however large.
const batchSize = 64 << 10

// pipeline holds a connection's requests, in their order, from the moment they are read until their answers are
// written. The reader adds, any goroutine completes, the writer takes.
type pipeline struct {
	// ready tells the writer that the first exchange is complete or that the pipeline has ended.
	ready chan struct{}
	// progress tells the reader that an exchange was completed or written.
	progress chan struct{}

	mu         sync.Mutex
	ring       []*exchange // as many as may be in flight
	head, size int
	unanswered int       // in the ring and not complete
	unwritten  int       // in the ring or taken by the writer
	quietSince time.Time // when unwritten last became 0
	end        closing   // set once the reader has stopped
}

func newPipeline(maxInFlight int, now time.Time) *pipeline {
	return &pipeline{
		ready:      make(chan struct{}, 1),
		progress:   make(chan struct{}, 1),
		ring:       make([]*exchange, maxInFlight),
		quietSince: now,
	}
}

// signal wakes whoever waits on ch, or lets its next wait return at once.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// awaitRoom waits until one more request may be in flight; false if done came first. For the reader.
func (p *pipeline) awaitRoom(done <-chan struct{}) bool {
	return p.await(done, func() bool { return p.unwritten < len(p.ring) })
}

// awaitAnswered waits until every request added so far is complete; false if done came first. For the reader.
func (p *pipeline) awaitAnswered(done <-chan struct{}) bool {
	return p.await(done, func() bool { return p.unanswered == 0 })
}

func (p *pipeline) await(done <-chan struct{}, reached func() bool) bool {
	for {
		p.mu.Lock()
		ok := reached()
		p.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-p.progress:
		case <-done:
			return false
		}
	}
}

// add puts a request at the end. The reader has waited for room.
func (p *pipeline) add(ex *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ring[(p.head+p.size)%len(p.ring)] = ex
	p.size++
	p.unanswered++
	p.unwritten++
}

// complete marks a request as answered by out.
func (p *pipeline) complete(ex *exchange, out outgoing) {
	p.mu.Lock()
	ex.out, ex.complete = out, true
	p.unanswered--
	first := p.ring[p.head] == ex
	p.mu.Unlock()
	if first {
		signal(p.ready)
	}
	signal(p.progress)
}

// finish says that no request will be added, and why.
func (p *pipeline) finish(end closing) {
	p.mu.Lock()
	p.end = end
	p.mu.Unlock()
	signal(p.ready)
}

// take moves the complete exchanges at the front to batch, waiting for one. When there will be none, it returns
// why; when done comes first, neither. For the writer.
func (p *pipeline) take(batch []*exchange, done <-chan struct{}) ([]*exchange, closing) {
	for {
		p.mu.Lock()
		for bytes := 0; p.size > 0 && p.ring[p.head].complete; p.size-- {
			ex := p.ring[p.head]
			if bytes += ex.out.size; len(batch) > 0 && bytes > batchSize {
				break
			}
			batch = append(batch, ex)
			p.ring[p.head] = nil
			p.head = (p.head + 1) % len(p.ring)
		}
		var end closing
		if len(batch) == 0 && p.size == 0 {
			end = p.end
		}
		p.mu.Unlock()
		if len(batch) > 0 || end.cause != 0 {
			return batch, end
		}
		select {
		case <-p.ready:
		case <-done:
			return nil, closing{}
		}
	}
}

// written says that n exchanges that were taken are dealt with.
func (p *pipeline) written(n int) {
	p.mu.Lock()
	p.unwritten -= n
	if p.unwritten == 0 {
		p.quietSince = time.Now()
	}
	p.mu.Unlock()
	signal(p.progress)
}

// quiet returns since when nothing has been in flight; false while something is.
func (p *pipeline) quiet() (since time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quietSince, p.unwritten == 0
}

// drop takes out what will never be written. All requests are complete and the writer has stopped.
func (p *pipeline) drop() []*exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []*exchange
	for ; p.size > 0; p.size-- {
		left = append(left, p.ring[p.head])
		p.head = (p.head + 1) % len(p.ring)
	}
	return left
}
