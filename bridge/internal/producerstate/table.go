// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import (
	"sync"
	"time"
)

// Table holds the producers of all partitions, at most so many pairs of producer and partition, and forgets those that are not
// used: the least recently used one when there are too many, each when it has not written for the expiry. While the least
// recently used one has a batch that is pending, none is forgotten, and there may be more.
type Table struct {
	max    int
	expiry time.Duration

	mu             sync.Mutex
	n              int
	evicted        int64
	oldest, newest *entry
}

// New returns an empty table for at most limit pairs, at least 1.
func New(limit int, expiry time.Duration) *Table { return &Table{max: max(limit, 1), expiry: expiry} }

// Partition returns the state of one more partition, without producers. Drop ends it.
func (t *Table) Partition() *Partition { return &Partition{table: t, gathering: 1} }

// Evicted is how many pairs were forgotten because there were too many.
func (t *Table) Evicted() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evicted
}

// Len is how many pairs there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// touch makes e the most recently used. mu is held, here and below.
func (t *Table) touch(e *entry, now time.Time) {
	e.used = now
	if t.newest == e {
		return
	}
	t.unlink(e)
	t.link(e)
}

func (t *Table) link(e *entry) {
	e.older, e.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = e
	} else {
		t.oldest = e
	}
	t.newest = e
}

func (t *Table) unlink(e *entry) {
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		t.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		t.newest = e.older
	}
	e.older, e.newer = nil, nil
}

func (t *Table) forget(e *entry) {
	t.unlink(e)
	delete(e.partition.producers, e.producer)
	t.n--
}

// mayForget says whether the least recently used entry, if any, may go.
func (t *Table) mayForget() bool { return t.oldest != nil && !t.oldest.isPending() }

// get returns the entry of a producer, a new one if need be, and makes it the most recently used.
func (t *Table) get(p *Partition, producer int64, now time.Time) *entry {
	for t.mayForget() && now.Sub(t.oldest.used) >= t.expiry {
		t.forget(t.oldest)
	}
	e := p.producers[producer]
	if e != nil {
		t.touch(e, now)
		return e
	}
	for t.mayForget() && t.n >= t.max {
		t.forget(t.oldest)
		t.evicted++
	}
	e = &entry{partition: p, producer: producer, epoch: noEpoch, used: now}
	if p.producers == nil {
		p.producers = map[int64]*entry{}
	}
	p.producers[producer] = e
	t.link(e)
	t.n++
	return e
}
