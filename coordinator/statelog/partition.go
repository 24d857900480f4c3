// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// partition is one partition of the log: a queue, and a goroutine that alone writes from it, one append at a time, while
// the next gather. DESIGN.md of the module says what it does when the log is not what it should be.
type partition struct {
	reader
	cfg    *Config
	number int
	self   owner
	writer writerID

	// The goroutine's own. next is the offset behind the last message known, last the mark of that message.
	next int64
	last mark
	// sequence is that of the last message sent.
	sequence uint64
	// unsure is set when the end of an append could not be looked for: the tail must be read before the next one.
	unsure bool
	// disagrees says that the log does not come to what is in memory, and until a checkpoint has mended that nothing else is
	// written. wentBack says that messages are gone, so that next and last mean nothing.
	disagrees, wentBack bool
	// checkpoint is the one being written, if any. checkedAt is when the newest whole one began.
	checkpoint *checkpointer
	checkedAt  time.Time
	// failing says that the last thing tried failed, and that somebody was told.
	failing bool

	// state guards fold, which the goroutine alone changes.
	state sync.RWMutex
	fold  *fold
	// quotas rises when those in fold may have changed.
	quotas atomic.Uint64

	wake chan struct{} // capacity 1

	mu     sync.Mutex
	queue  []*pending
	queued int // bytes
	// closed is why nothing is taken any more.
	closed error
}

// pending is what one caller wants appended.
type pending struct {
	payloads [][]byte
	size     int
	done     func(error)
}

func newPartition(cfg *Config, number int) *partition {
	return &partition{
		reader: newReader(cfg),
		cfg:    cfg,
		number: number,
		writer: writerOf(cfg.BootID),
		wake:   make(chan struct{}, 1),
	}
}

// errDisagrees: what was to be appended may be in the log, but the log must be mended first.
var errDisagrees = errors.New("statelog: the log and the state in memory disagree")

// enqueue takes records to append and calls done when that has ended, at once if it is refused.
func (p *partition) enqueue(done func(error), records ...record) {
	item := &pending{done: done}
	err := p.encode(item, records)
	if err == nil {
		err = p.put(item)
	}
	if err != nil {
		done(err)
	}
}

func (p *partition) put(item *pending) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed != nil:
		return p.closed
	case p.queued+item.size > p.cfg.MaxQueued:
		return fmt.Errorf("%w: %d bytes wait for partition %d", ErrQueueFull, p.queued, p.number)
	}
	p.queue = append(p.queue, item)
	p.queued += item.size
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// take returns what goes out in the next append: at least one item, if any waits.
func (p *partition) take() []*pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes, messages, n := 0, 0, 0
	for _, item := range p.queue {
		if n > 0 && (bytes+item.size > p.cfg.MaxBatch || messages+len(item.payloads) > p.cfg.MaxBatchMessages) {
			break
		}
		bytes, messages, n = bytes+item.size, messages+len(item.payloads), n+1
	}
	taken := append([]*pending(nil), p.queue[:n]...)
	rest := copy(p.queue, p.queue[n:])
	clear(p.queue[rest:])
	p.queue = p.queue[:rest]
	p.queued -= bytes
	return taken
}

// takeAll returns everything that waits.
func (p *partition) takeAll() []*pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.queue
	p.queue, p.queued = nil, 0
	return waiting
}

// reason is why the partition is closed, nil if it is not.
func (p *partition) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close refuses what waits, and what comes.
func (p *partition) close(err error) {
	p.mu.Lock()
	p.closed = err
	p.mu.Unlock()
	end(p.takeAll(), err)
}

func end(items []*pending, err error) {
	for _, item := range items {
		item.done(err)
	}
}

// run appends what is queued until ctx ends, or something is wrong that does not mend: then it returns that.
func (p *partition) run(ctx context.Context) error {
	tick := time.NewTicker(p.cfg.TailInterval)
	defer tick.Stop()
	busy := make(chan struct{})
	close(busy)
	for more := false; ; {
		next := p.wake
		if more {
			next = busy
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C: // comes to its turn also when there is always more to do
			err = p.tick(ctx)
		case <-next:
		}
		if err == nil {
			more, err = p.work(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// tick looks at the tail, and begins a checkpoint if one is due.
func (p *partition) tick(ctx context.Context) error {
	err := p.look(ctx)
	if err == nil {
		err = p.mend(ctx)
	}
	if err != nil {
		return p.failed(ctx, err)
	}
	p.failing = false
	if p.checkpoint == nil && p.checkpointDue(time.Now()) {
		p.checkpoint = &checkpointer{}
	}
	return nil
}

// work appends one batch and one piece of the checkpoint. It reports whether there may be more to do.
func (p *partition) work(ctx context.Context) (more bool, err error) {
	batch := p.take()
	if len(batch) == 0 && p.checkpoint == nil {
		return false, nil
	}
	if len(batch) > 0 {
		err := p.write(ctx, batch)
		if err != nil {
			// Nothing that waits fares better: the storage would be asked in vain once for each batch. What comes once a caller
			// has been told does not wait yet: to try again is not in vain.
			batch = append(batch, p.takeAll()...)
		}
		end(batch, err)
		if err != nil {
			return false, p.failed(ctx, err)
		}
	}
	if p.checkpoint != nil {
		if err := p.continueCheckpoint(ctx); err != nil {
			p.checkpoint = nil
			return true, p.failed(ctx, err)
		}
	}
	return true, nil
}

// write appends a batch.
func (p *partition) write(ctx context.Context, batch []*pending) error {
	var payloads [][]byte
	for _, item := range batch {
		payloads = append(payloads, item.payloads...)
	}
	err := p.mend(ctx)
	if err == nil {
		err = p.append(ctx, payloads)
	}
	// A checkpoint replaces what the log says, the batch included if that got in: then it goes in once more.
	for try := 1; errors.Is(err, errDisagrees) && try < appendTries; try++ {
		if err = p.mend(ctx); err == nil {
			err = p.append(ctx, payloads)
		}
	}
	return err
}

const appendTries = 3

// failed tells of an error. It returns those that do not mend.
func (p *partition) failed(ctx context.Context, err error) error {
	if permanent(err) {
		return err
	}
	if ctx.Err() == nil && !p.failing {
		p.failing = true
		p.cfg.Observe(Failed{p.number, err})
	}
	return nil
}
