// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Bounds on the answers of one connection that wait to be written. A reader that
// is ahead by more waits.
const (
	maxWaitingAnswers = 256
	maxWaitingBytes   = 16 << 20
	maxWriteBytes     = 4 << 20
)

// besideBytes is from how many bytes on answers are written beside the reader's work.
const besideBytes = 64 << 10

// answer is one answer on its way out. It belongs to the reader until pushed,
// then to the queue.
type answer struct {
	head     []byte  // frame header, and the body or its beginning
	messages excerpt // rest of the body, written from where it lies
	weight   int     // bytes to write, or held by the request until it is done
	ready    bool    // guarded by the queue once pushed; false: the request is not done yet

	memory [iggywire.HeaderSize + iggywire.PollResultHeaderSize]byte // for head, where it fits
}

// answerQueue is the answers of one connection in the order of the requests, which
// may finish in any order. They are written by one goroutine at a time: by the reader,
// as long as it has not got anything else to do, or by one made for it.
type answerQueue struct {
	write func(net.Buffers) error // is not called again after an error

	mu      sync.Mutex
	changed sync.Cond // for the reader: an answer is ready, or written
	list    []*answer
	bytes   int
	unready int
	writing bool // somebody is
	reading bool // the reader has a request at hand; it flushes before it waits for another one
	broken  bool // a write failed

	writer sync.WaitGroup

	// Memory of whoever writes.
	batch []*answer
	out   net.Buffers
	heads []byte
}

func newAnswerQueue(write func(net.Buffers) error) *answerQueue {
	q := &answerQueue{write: write}
	q.changed.L = &q.mu
	return q
}

// push adds an answer; it waits while too much is queued and reports false when
// the answer cannot be written any more. more says that the reader has further
// requests at hand: a lot of bytes are then written while it works on them.
func (q *answerQueue) push(a *answer, more bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.broken && len(q.list) > 0 && (len(q.list) >= maxWaitingAnswers || q.bytes+a.weight > maxWaitingBytes) {
		q.writeBeside()
		q.changed.Wait()
	}
	if q.broken {
		return false
	}
	q.list = append(q.list, a)
	q.bytes += a.weight
	if !a.ready {
		q.unready++
	} else if more && q.bytes >= besideBytes {
		q.writeBeside()
	}
	return true
}

// finish makes a pushed answer ready. Anybody may call it, who never waits for the
// peer by that.
func (q *answerQueue) finish(a *answer, status iggywire.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	iggywire.AppendResponseHeader(a.head[:0], status, 0)
	a.ready = true
	q.unready--
	if !q.reading {
		q.writeBeside()
	}
	q.changed.Signal()
}

// settle waits until every pushed answer is ready: the next request may see what
// the ones before it did.
func (q *answerQueue) settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.unready > 0 {
		q.changed.Wait()
	}
}

// resume says that the reader has got a request, or more of one.
func (q *answerQueue) resume() {
	q.mu.Lock()
	q.reading = true
	q.mu.Unlock()
}

// flush writes what is ready, or leaves it to whoever is writing. What becomes ready
// until resume, is written at once. It reports false when nothing can be written any more.
func (q *answerQueue) flush() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reading = false
	if q.due() {
		q.writing = true
		q.writeReady()
	}
	return !q.broken
}

// close waits until everything is written, or cannot be.
func (q *answerQueue) close() {
	q.flush()
	q.mu.Lock()
	for len(q.list) > 0 && !q.broken {
		q.changed.Wait()
	}
	q.mu.Unlock()
	q.writer.Wait()
}

// due tells whether there is something to write and nobody who does. mu is held.
func (q *answerQueue) due() bool {
	return !q.writing && !q.broken && len(q.list) > 0 && q.list[0].ready
}

// writeBeside makes a goroutine write what is due. mu is held.
func (q *answerQueue) writeBeside() {
	if !q.due() {
		return
	}
	q.writing = true
	q.writer.Go(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.writeReady()
	})
}

// writeReady writes answers as long as the front of the queue is ready. mu is held, but not
// during the write; the caller has set writing.
func (q *answerQueue) writeReady() {
	for q.take(); len(q.batch) > 0; q.take() {
		q.mu.Unlock()
		q.out, q.heads = gather(q.batch, q.out[:0], q.heads[:0])
		err := q.write(q.out)
		for _, a := range q.batch {
			if a.messages.release != nil {
				a.messages.release()
			}
		}
		clear(q.batch)
		q.mu.Lock()
		q.broken = err != nil
		q.changed.Signal()
	}
	q.writing = false
}

// take moves answers that are ready from the front of the queue into batch, up to
// maxWriteBytes but at least one. mu is held.
func (q *answerQueue) take() {
	q.batch = q.batch[:0]
	size, n := 0, 0
	for !q.broken && n < len(q.list) && q.list[n].ready && (n == 0 || size+q.list[n].weight <= maxWriteBytes) {
		size += q.list[n].weight
		n++
	}
	q.batch = append(q.batch, q.list[:n]...)
	rest := copy(q.list, q.list[n:])
	clear(q.list[rest:])
	q.list = q.list[:rest]
	q.bytes -= size
}

// gather lines up the bytes of a batch: heads that follow each other are copied
// together, everything else is written from where it lies.
func gather(batch []*answer, out net.Buffers, heads []byte) (net.Buffers, []byte) {
	start := 0
	for _, a := range batch {
		heads = append(heads, a.head...)
		if len(a.messages.parts) > 0 {
			out = append(out, heads[start:])
			out = append(out, a.messages.parts...)
			start = len(heads)
		}
	}
	if start < len(heads) {
		out = append(out, heads[start:])
	}
	return out, heads
}
