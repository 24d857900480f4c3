// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"context"
	"maps"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// Groups returns the store for a coordinator.Driver. Its Load waits until the log is loaded.
func (l *Log) Groups() coordinator.Store { return groupStore{l} }

type groupStore struct{ log *Log }

// Load implements coordinator.Store. Groups come partition by partition, sorted by id, a group's offsets sorted by partition.
func (s groupStore) Load(ctx context.Context, fn func(string, coordinator.Change) error) error {
	if err := s.log.await(ctx); err != nil {
		return err
	}
	for _, p := range s.log.partitions {
		p.state.RLock()
		err := p.fold.view.eachChange(ctx, fn)
		p.state.RUnlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// eachChange calls fn with the newest change of each thing in each group.
func (v *view) eachChange(ctx context.Context, fn func(string, coordinator.Change) error) error {
	for _, id := range slices.Sorted(maps.Keys(v.groups)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		g := v.groups[id]
		if g.snapshot != "" {
			if err := fn(id, coordinator.GroupSaved{Snapshot: decodeSnapshot(g.snapshot)}); err != nil {
				return err
			}
		}
		for _, topic := range slices.Sorted(maps.Keys(g.topics)) {
			for _, o := range g.topics[topic] {
				err := fn(id, coordinator.OffsetCommitted{
					TopicPartition: coordinator.TopicPartition{Topic: topic, Partition: o.partition},
					Offset:         decodeOffset(o.id, o.value),
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Append implements coordinator.Store.
func (s groupStore) Append(group string, changes []coordinator.Change, done func(error)) {
	if err := s.log.ready(); err != nil {
		done(err)
		return
	}
	s.log.home(group).enqueue(done, recordsOf(group, changes)...)
}

// recordsOf gathers changes of the same kind that follow each other.
func recordsOf(group string, changes []coordinator.Change) []record {
	var records []record
	for len(changes) > 0 {
		n := 1
		switch c := changes[0].(type) {
		case coordinator.OffsetCommitted:
			var r offsetsCommitted
			r, n = commitsOf(group, changes)
			records = append(records, r)
		case coordinator.OffsetRemoved:
			var r offsetsRemoved
			r, n = removalsOf(group, changes)
			records = append(records, r)
		case coordinator.GroupSaved:
			records = append(records, groupSaved{group, string(appendSnapshot(nil, &c.Snapshot))})
		case coordinator.GroupRemoved:
			records = append(records, groupRemoved{group})
		}
		changes = changes[n:]
	}
	return records
}

// commitsOf gathers the commits at the head of changes, and says how many that are.
func commitsOf(group string, changes []coordinator.Change) (offsetsCommitted, int) {
	r := offsetsCommitted{group: group}
	for n, change := range changes {
		c, ok := change.(coordinator.OffsetCommitted)
		if !ok {
			return r, n
		}
		if last := len(r.topics) - 1; last < 0 || r.topics[last].name != c.Topic || r.topics[last].id != c.TopicID {
			r.topics = append(r.topics, committedTopic{name: c.Topic, id: c.TopicID})
		}
		t := &r.topics[len(r.topics)-1]
		t.partitions = append(t.partitions, committedPartition{c.Partition, string(appendOffset(nil, &c.Offset))})
	}
	return r, len(changes)
}

func removalsOf(group string, changes []coordinator.Change) (offsetsRemoved, int) {
	r := offsetsRemoved{group: group}
	for n, change := range changes {
		c, ok := change.(coordinator.OffsetRemoved)
		if !ok {
			return r, n
		}
		if last := len(r.topics) - 1; last < 0 || r.topics[last].name != c.Topic {
			r.topics = append(r.topics, removedTopic{name: c.Topic})
		}
		t := &r.topics[len(r.topics)-1]
		t.partitions = append(t.partitions, c.Partition)
	}
	return r, len(changes)
}

// ReadGroups calls fn for the newest change of each thing in each group, as a Log that starts now would find it, without
// taking the log over: for tools and tests. Of a log that others write to it shows each partition at a moment of its own.
func ReadGroups(ctx context.Context, storage Storage, fn func(group string, change coordinator.Change) error) error {
	cfg := Config{Storage: storage}.withDefaults()
	r := newReader(&cfg)
	for i := range storage.Partitions() {
		l, err := r.load(ctx, i, newView)
		if err != nil {
			return err
		}
		if err := l.view.eachChange(ctx, fn); err != nil {
			return err
		}
	}
	return nil
}
