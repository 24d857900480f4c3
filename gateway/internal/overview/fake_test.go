// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// fakeTopics are topics by name, in order, with what is asked of them counted.
type fakeTopics struct {
	mu     sync.Mutex
	topics []*bridge.Topic
	bounds map[string][]bridge.Bounds
	failed map[string]error // of Bounds, by name
	err    error            // of TopicsWithin
	views  int
	asked  []string // by Bounds
	wait   <-chan struct{}
}

func (f *fakeTopics) TopicsWithin(ctx context.Context, _ time.Duration) (*bridge.TopicView, error) {
	select {
	case <-f.wait:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.views++
	if f.err != nil {
		return nil, f.err
	}
	return &bridge.TopicView{Topics: slices.Clone(f.topics), Hidden: 1}, nil
}

func (f *fakeTopics) Bounds(_ context.Context, t *bridge.Topic) ([]bridge.Bounds, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, t.Name)
	if err := f.failed[t.Name]; err != nil {
		return nil, err
	}
	return f.bounds[t.Name], nil
}

// askedFor are the topics that were asked about since it was last called, sorted.
func (f *fakeTopics) askedFor() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	slices.Sort(asked)
	return asked
}

// newFakeTopics answers without waiting.
func newFakeTopics() *fakeTopics {
	open := make(chan struct{})
	close(open)
	return &fakeTopics{bounds: map[string][]bridge.Bounds{}, failed: map[string]error{}, wait: open}
}

// bounds of a partition whose messages have ten bytes.
func bounds(start, next int64) bridge.Bounds {
	return bridge.Bounds{Start: start, Next: next, Bytes: 10 * (next - start), MessageSize: 10}
}

func (f *fakeTopics) set(name string, bounds ...bridge.Bounds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var size, messages uint64
	for _, b := range bounds {
		size, messages = size+uint64(b.Bytes), messages+uint64(b.Next-b.Start)
	}
	t := &bridge.Topic{Name: name, ID: bridge.TopicID{0: byte(len(name)), 1: name[0]}, Partitions: int32(len(bounds)), Size: size, Messages: messages}
	f.bounds[name] = bounds
	for i := range f.topics {
		if f.topics[i].Name == name {
			f.topics[i] = t
			return
		}
	}
	f.topics = append(f.topics, t)
}

// fakeGroups are groups by id.
type fakeGroups struct {
	list    []coordinator.Listing
	members map[string]coordinator.Description
	offsets map[string][]coordinator.OffsetResult
	err     error
}

// List heeds the end of ctx, as the coordinator does.
func (f *fakeGroups) List(ctx context.Context, _ coordinator.Filter) ([]coordinator.Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.list, f.err
}

// Survey looks at two groups at a time.
func (f *fakeGroups) Survey(_ context.Context, groups []string) (some []coordinator.Surveyed, rest []string, err error) {
	n := min(2, len(groups))
	for _, id := range groups[:n] {
		if d, ok := f.members[id]; ok {
			some = append(some, coordinator.Surveyed{ID: id, Type: coordinator.TypeClassic, Description: d, Offsets: f.offsets[id]})
		}
	}
	return some, groups[n:], nil
}
