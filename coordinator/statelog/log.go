// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// Log is the state of one gateway, kept in a Storage. Its methods are safe for concurrent use.
type Log struct {
	cfg        Config
	partitions []*partition
	// loaded is closed when all partitions are read and owned, fenced when somebody else owns one, stopped when Run returns.
	loaded, fenced, stopped chan struct{}
	// reserving holds a token for the one who reserves producer ids.
	reserving chan struct{}
}

// New returns a log that waits for Run, or the faults of its configuration.
func New(cfg Config) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Log{
		cfg:    cfg.withDefaults(),
		loaded: make(chan struct{}), fenced: make(chan struct{}), stopped: make(chan struct{}),
		reserving: make(chan struct{}, 1),
	}
	for i := range l.cfg.Storage.Partitions() {
		l.partitions = append(l.partitions, newPartition(&l.cfg, i))
	}
	return l, nil
}

// Loaded returns a channel that is closed when the state is loaded and this gateway owns it. It stays open if that fails.
func (l *Log) Loaded() <-chan struct{} { return l.loaded }

// Fenced returns a channel that is closed when another gateway has taken over: nothing that this one knows counts any more.
func (l *Log) Fenced() <-chan struct{} { return l.fenced }

// Run loads all partitions, takes them over, and serves until ctx ends. It is called once. It returns nil when ctx ends,
// ErrFenced, or why the log cannot be read: ErrStateLost, ErrCorrupt, ErrUnknownRecord or ErrPartitions. While the storage
// fails, it tries again.
func (l *Log) Run(ctx context.Context) error {
	defer close(l.stopped)
	err := l.run(ctx)
	if errors.Is(err, ErrFenced) {
		close(l.fenced)
	}
	reason := err
	if reason == nil {
		reason = ErrStopped
	}
	for _, p := range l.partitions {
		p.close(reason)
	}
	return err
}

func (l *Log) run(ctx context.Context) error {
	if err := l.each(ctx, (*partition).start); err != nil || ctx.Err() != nil {
		return err
	}
	// One after the other: of two gateways that start at the same time, one is likely to come second everywhere.
	for _, p := range l.partitions {
		if err := p.claim(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	close(l.loaded)
	return l.each(ctx, (*partition).run)
}

// each runs a function for all partitions at once. The first error ends the others and is returned.
func (l *Log) each(ctx context.Context, run func(*partition, context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for _, p := range l.partitions {
		all.Go(func() {
			if err := run(p, ctx); err != nil {
				once.Do(func() { first = err; cancel() })
			}
		})
	}
	all.Wait()
	return first
}

// Between two tries to start on a storage that fails.
const (
	retryMin = 250 * time.Millisecond
	retryMax = 5 * time.Second
)

// again runs a function until it succeeds, fails for good, or ctx ends.
func (p *partition) again(ctx context.Context, try func(context.Context) error) error {
	for wait := retryMin; ctx.Err() == nil; wait = min(2*wait, retryMax) {
		err := try(ctx)
		if err == nil {
			p.failing = false
			return nil
		}
		if err := p.failed(ctx, err); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// start reads the partition.
func (p *partition) start(ctx context.Context) error {
	return p.again(ctx, p.tryLoad)
}

func (p *partition) tryLoad(ctx context.Context) error {
	begin := time.Now()
	l, err := p.load(ctx, p.number, newView)
	if err != nil {
		return err
	}
	partitions := uint64(p.storage.Partitions())
	if l.owned && l.owner.partitions != partitions {
		return fmt.Errorf("%w: partition %d was written when there were %d, now there are %d", ErrPartitions, p.number, l.owner.partitions, partitions)
	}
	p.next, p.last = l.next, l.last
	p.unsure, p.disagrees, p.wentBack = false, false, false
	p.state.Lock()
	p.fold = l.fold
	p.state.Unlock()
	p.checkedAt = begin
	if l.checkpoint >= 0 && l.checkpointAt.Before(begin) {
		p.checkedAt = l.checkpointAt
	}
	p.self = owner{term: l.owner.term + 1, partitions: partitions, instance: p.cfg.InstanceID, bootID: p.cfg.BootID}
	p.cfg.Observe(Loaded{p.number, l.from, l.next - l.from, l.view.entries(), time.Since(begin)})
	return nil
}

// claim makes this gateway the owner of the partition.
func (p *partition) claim(ctx context.Context) error {
	reload := false
	return p.again(ctx, func(ctx context.Context) error {
		if reload {
			if err := p.tryLoad(ctx); err != nil {
				return err
			}
			reload = false
		}
		checkpoint := p.fold.checkpoint
		err := p.append(ctx, [][]byte{appendRecord(nil, p.writer, p.self)})
		if err == nil {
			err = p.look(ctx)
		}
		// What came between was folded into the state, unless it asks for another beginning or for a higher term.
		if err == nil && (p.disagrees || p.fold.checkpoint != checkpoint || p.fold.writer != p.writer) {
			err = errDisagrees
		}
		reload = errors.Is(err, errDisagrees)
		return err
	})
}

// home returns the partition of a group.
func (l *Log) home(group string) *partition {
	h := fnv.New64a()
	h.Write([]byte(group))
	return l.partitions[h.Sum64()%uint64(len(l.partitions))]
}

// ready says whether the state can be asked.
func (l *Log) ready() error {
	select {
	case <-l.fenced:
		return ErrFenced
	default:
	}
	select {
	case <-l.loaded:
		return nil
	default:
		return coordinator.ErrLoadInProgress
	}
}

// await waits for the state.
func (l *Log) await(ctx context.Context) error {
	select {
	case <-l.loaded:
		return l.ready()
	case <-l.stopped:
		return l.partitions[0].reason()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write appends records to a partition and waits until they are durable. If ctx ends first they may still become so.
func (l *Log) write(ctx context.Context, p *partition, records ...record) error {
	if err := l.ready(); err != nil {
		return err
	}
	done := make(chan error, 1)
	p.enqueue(func(err error) { done <- err }, records...)
	select {
	case err := <-done:
		if err == nil || errors.Is(err, coordinator.ErrNotCoordinator) {
			return err
		}
		return fmt.Errorf("%w: %w", coordinator.ErrNotAvailable, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
