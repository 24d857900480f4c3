// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package mirror copies committed offsets to native consumer groups of Iggy, so that an application that is rewritten on
// Iggy's SDK resumes where its Kafka version stopped. It does its best and never delays or fails a commit: what it cannot
// copy, for instance because a native consumer is at work in the group, is left out.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

const (
	// Prefix begins the names of the native groups; the Kafka group's id follows.
	Prefix = "kafka.cg."
	// maxName is the longest name that Iggy allows, in bytes.
	maxName = 255
	// maxWaiting is how many offsets may wait; more are left out.
	maxWaiting = 10_000
	// interval is the time between two copies: of what is committed meanwhile only the newest is copied.
	interval = time.Second
	// storeTimeout bounds what Iggy may take for one group.
	storeTimeout = 10 * time.Second
	// logInterval is the time between two lines in the log about what is left out.
	logInterval = time.Minute
)

// Groups stores offsets of native groups: a *bridge.NativeGroups. Calls come one at a time.
type Groups interface {
	Store(ctx context.Context, t *bridge.Topic, group string, offsets []bridge.GroupOffset) error
}

// Mirror copies offsets in the background.
type Mirror struct {
	groups Groups
	logger *slog.Logger
	// news holds a token when there may be something to copy.
	news chan struct{}

	mu      sync.Mutex
	waiting map[target]map[int32]uint64 // guarded by mu: native offsets by partition
	count   int                         // guarded by mu: offsets in waiting
	left    int                         // guarded by mu: offsets that found no room since the last copy
	stats   Stats                       // guarded by mu: all but Waiting
}

// Stats are what a Mirror has to do, and its counts so far, in offsets.
type Stats struct {
	Waiting int
	// Copied were stored in native groups. Failed could not be, for instance because a native consumer is at work there; Dropped
	// found no room to wait.
	Copied, Failed, Dropped uint64
}

// Stats returns them.
func (m *Mirror) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Waiting = m.count
	return s
}

// target is a group of one topic. Topic is the newest that a commit has named.
type target struct {
	group string
	topic *bridge.Topic
}

// New returns a mirror that waits for Run.
func New(groups Groups, logger *slog.Logger) *Mirror {
	return &Mirror{groups: groups, logger: logger, news: make(chan struct{}, 1), waiting: map[target]map[int32]uint64{}}
}

// Committed notes that a Kafka group has committed an offset, the one to read next; it returns at once. Iggy stores the
// last one that was read, so there is nothing to store for 0.
func (m *Mirror) Committed(group string, t *bridge.Topic, partition int32, offset int64) {
	if offset <= 0 || t.Internal || len(Prefix)+len(group) > maxName {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.waiting[target{group, t}]
	if _, known := of[partition]; !known {
		if m.count == maxWaiting {
			m.left++
			m.stats.Dropped++
			return
		}
		m.count++
	}
	if of == nil {
		of = map[int32]uint64{}
		m.waiting[target{group, t}] = of
	}
	of[partition] = uint64(offset - 1)
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// Run copies until ctx ends, and then what is waiting, within a last interval.
func (m *Mirror) Run(ctx context.Context) {
	var quietUntil time.Time
	for {
		select {
		case <-m.news:
		case <-ctx.Done():
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		if err := m.copy(ctx); err != nil && time.Now().After(quietUntil) {
			quietUntil = time.Now().Add(logInterval)
			m.logger.Warn("committed offsets not copied to native consumer groups", "err", err)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), interval)
	defer cancel()
	_ = m.copy(last) // who stops does not wait for what is only a copy
}

// errNoRoom says that more offsets were committed than could be copied.
var errNoRoom = errors.New("mirror: too many offsets at once")

// copy stores what is waiting, group by group. It returns the first failure that an operator should know of.
func (m *Mirror) copy(ctx context.Context) error {
	waiting, left := m.take()
	var first error
	if left > 0 {
		first = errNoRoom
	}
	targets := make([]target, 0, len(waiting))
	for t := range waiting {
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.topic.Name, b.topic.Name))
	})
	for _, t := range targets {
		err := m.store(ctx, t, waiting[t])
		m.note(len(waiting[t]), err)
		if err != nil && !errors.Is(err, bridge.ErrGroupInUse) && !bridge.IsNotFound(err) {
			first = cmp.Or(first, err)
		}
	}
	return first
}

// note counts offsets of which err came.
func (m *Mirror) note(n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.stats.Failed += uint64(n)
	} else {
		m.stats.Copied += uint64(n)
	}
}

func (m *Mirror) store(ctx context.Context, t target, of map[int32]uint64) error {
	offsets := make([]bridge.GroupOffset, 0, len(of))
	for partition, offset := range of {
		offsets = append(offsets, bridge.GroupOffset{Partition: partition, Offset: offset})
	}
	slices.SortFunc(offsets, func(a, b bridge.GroupOffset) int { return cmp.Compare(a.Partition, b.Partition) })
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return m.groups.Store(ctx, t.topic, Prefix+t.group, offsets)
}

// take empties the waiting room.
func (m *Mirror) take() (waiting map[target]map[int32]uint64, left int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting, left = m.waiting, m.left
	m.waiting, m.count, m.left = map[target]map[int32]uint64{}, 0, 0
	return waiting, left
}
