// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// MemoryStore is a Store that lasts as long as the process: for tests, and for coordinators that may forget. It is safe
// for concurrent use, and keeps what the changes come to, not their history.
type MemoryStore struct {
	mu     sync.Mutex
	groups map[string]*storedGroup // guarded by mu
}

type storedGroup struct {
	saved   *GroupSaved
	offsets map[TopicPartition]OffsetCommitted
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{groups: map[string]*storedGroup{}}
}

// Load implements Store. Groups come sorted by id, a group's offsets sorted by partition.
func (s *MemoryStore) Load(ctx context.Context, fn func(string, Change) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		for _, c := range s.groups[id].changes() {
			if err := cmp.Or(ctx.Err(), fn(id, c)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *storedGroup) changes() []Change {
	var changes []Change
	if g.saved != nil {
		changes = append(changes, *g.saved)
	}
	for _, tp := range slices.SortedFunc(maps.Keys(g.offsets), TopicPartition.Compare) {
		changes = append(changes, g.offsets[tp])
	}
	return changes
}

// Append implements Store. It calls done before it returns.
func (s *MemoryStore) Append(group string, changes []Change, done func(error)) {
	s.mu.Lock()
	for _, c := range changes {
		s.apply(group, c)
	}
	s.mu.Unlock()
	done(nil)
}

func (s *MemoryStore) apply(group string, change Change) {
	g := s.groups[group]
	if g == nil {
		g = &storedGroup{offsets: map[TopicPartition]OffsetCommitted{}}
		s.groups[group] = g
	}
	switch c := change.(type) {
	case OffsetCommitted:
		g.offsets[c.TopicPartition] = c
	case OffsetRemoved:
		delete(g.offsets, c.TopicPartition)
	case GroupSaved:
		g.saved = &c
	case GroupRemoved:
		g.saved = nil
		clear(g.offsets)
	}
	if g.saved == nil && len(g.offsets) == 0 {
		delete(s.groups, group)
	}
}
