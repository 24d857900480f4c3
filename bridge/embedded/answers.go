// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Bounds on the answers of one connection that wait to be written. A reader that
// is ahead by more waits for the writer.
const (
	maxWaitingAnswers = 256
	maxWaitingBytes   = 16 << 20
	maxWriteBytes     = 4 << 20
)

// answer is one answer on its way out. It belongs to the reader until pushed,
// then to the queue.
type answer struct {
	head   []byte   // frame header, and the body or its beginning
	parts  [][]byte // rest of the body, written from where it lies
	weight int      // bytes to write, or held by the request until it is done
	ready  bool     // guarded by the queue once pushed; false: the request is not done yet
}

// answerQueue hands the answers of one connection from the reader, in the order
// of the requests, to the writer. Requests may finish in any order.
type answerQueue struct {
	mu      sync.Mutex
	changed sync.Cond // anything below changed
	list    []*answer
	bytes   int
	unready int
	closed  bool // the reader pushes no more
	broken  bool // the writer writes no more
}

func newAnswerQueue() *answerQueue {
	q := &answerQueue{}
	q.changed.L = &q.mu
	return q
}

// push adds an answer; it waits while too much is queued and reports false when
// the answer cannot be written any more.
func (q *answerQueue) push(a *answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.broken && len(q.list) > 0 && (len(q.list) >= maxWaitingAnswers || q.bytes+a.weight > maxWaitingBytes) {
		q.changed.Wait()
	}
	if q.broken {
		return false
	}
	q.list = append(q.list, a)
	q.bytes += a.weight
	if !a.ready {
		q.unready++
	}
	q.changed.Broadcast()
	return true
}

// finish makes a pushed answer ready.
func (q *answerQueue) finish(a *answer, status iggywire.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	iggywire.AppendResponseHeader(a.head[:0], status, 0)
	a.ready = true
	q.unready--
	q.changed.Broadcast()
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

// take waits for answers that are ready and removes them from the front of the
// queue, up to maxWriteBytes but at least one. None are left when it returns nil.
func (q *answerQueue) take(batch []*answer) []*answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.closed || len(q.list) > 0 && !q.list[0].ready {
		q.changed.Wait()
	}
	batch = batch[:0]
	size, n := 0, 0
	for n < len(q.list) && q.list[n].ready && (n == 0 || size+q.list[n].weight <= maxWriteBytes) {
		size += q.list[n].weight
		batch = append(batch, q.list[n])
		n++
	}
	rest := copy(q.list, q.list[n:])
	clear(q.list[rest:])
	q.list = q.list[:rest]
	q.bytes -= size
	q.changed.Broadcast()
	return batch
}

// close says that no more answers will be pushed.
func (q *answerQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// breakOff says that no more answers will be written.
func (q *answerQueue) breakOff() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.broken = true
	q.changed.Broadcast()
}

// write writes answers until the queue is closed and empty, or until w fails.
func (q *answerQueue) write(w func(net.Buffers) error) {
	var (
		batch []*answer
		out   net.Buffers
		heads []byte
	)
	for {
		batch = q.take(batch)
		if len(batch) == 0 {
			return
		}
		out, heads = gather(batch, out[:0], heads[:0])
		if w(out) != nil {
			q.breakOff()
			return
		}
		clear(batch)
	}
}

// gather lines up the bytes of a batch: heads that follow each other are copied
// together, everything else is written from where it lies.
func gather(batch []*answer, out net.Buffers, heads []byte) (net.Buffers, []byte) {
	start := 0
	for _, a := range batch {
		heads = append(heads, a.head...)
		if len(a.parts) > 0 {
			out = append(out, heads[start:])
			out = append(out, a.parts...)
			start = len(heads)
		}
	}
	if start < len(heads) {
		out = append(out, heads[start:])
	}
	return out, heads
}
