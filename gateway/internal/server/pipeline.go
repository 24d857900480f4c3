// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// batchSize is how many bytes of ready answers are taken at once before they are written; one answer is always taken,
// however large.
const batchSize = 64 << 10

// pipeline holds a connection's requests, in their order, from the moment they are read until their answers are
// written. The reader adds and any goroutine completes. Who completes the first one is the writer: it takes and writes
// until the first one is not complete. So there is one writer at a time, and none while there is nothing to write.
type pipeline struct {
	// progress tells the reader that an exchange was completed or written.
	progress chan struct{}

	mu         sync.Mutex
	ring       []*exchange // as many as may be in flight
	head, size int
	unanswered int       // in the ring and not complete
	unwritten  int       // in the ring or taken by the writer
	quietSince time.Time // when unwritten last became 0
	end        closing   // set once the reader has stopped
	writing    bool      // somebody is the writer
}

func newPipeline(maxInFlight int, now time.Time) *pipeline {
	return &pipeline{
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

// find returns the exchange of a request that is not answered yet, nil if there is none.
func (p *pipeline) find(req *wire.Request) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.size {
		if ex := p.ring[(p.head+i)%len(p.ring)]; ex.req == req {
			return ex
		}
	}
	return nil
}

// complete marks a request as answered by out. When it returns true, its caller is the writer.
func (p *pipeline) complete(ex *exchange, out outgoing) (write bool) {
	p.mu.Lock()
	ex.out, ex.complete, ex.req = out, true, nil
	p.unanswered--
	write = p.startWriting()
	p.mu.Unlock()
	signal(p.progress)
	return write
}

// finish says that no request will be added, and why. When it returns true, its caller is the writer.
func (p *pipeline) finish(end closing) (write bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = end
	return p.startWriting()
}

// startWriting makes the caller the writer if there is something to do and nobody who does it. mu is held.
func (p *pipeline) startWriting() bool {
	if p.writing || p.size > 0 && !p.ring[p.head].complete || p.size == 0 && p.end.cause == 0 {
		return false
	}
	p.writing = true
	return true
}

// take moves the complete exchanges at the front to batch. When there are none, the caller is the writer no longer; when
// there will be none, take returns why. For the writer.
func (p *pipeline) take(batch []*exchange) ([]*exchange, closing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for bytes := 0; p.size > 0 && p.ring[p.head].complete; p.size-- {
		ex := p.ring[p.head]
		if bytes += ex.out.size; len(batch) > 0 && bytes > batchSize {
			break
		}
		batch = append(batch, ex)
		p.ring[p.head] = nil
		p.head = (p.head + 1) % len(p.ring)
	}
	if len(batch) > 0 {
		return batch, closing{}
	}
	p.writing = false
	if p.size == 0 {
		return batch, p.end
	}
	return batch, closing{}
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
		p.ring[p.head] = nil
		p.head = (p.head + 1) % len(p.ring)
	}
	return left
}
