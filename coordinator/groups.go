// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"
)

// Groups is all groups of a coordinator: it makes them when they are needed, drops them when they are Dead, bounds them
// together and knows which falls due first. Like Group it is without clock, goroutines and I/O, and not safe for concurrent
// use.
type Groups struct {
	cfg   Config
	usage usage
	byID  map[string]*entry
	due   dueQueue
}

// entry is a group and its place in the queue of deadlines, -1 for none.
type entry struct {
	*Group
	dueAt time.Time
	index int
}

// NewGroups returns a coordinator without groups. The configuration must be valid.
func NewGroups(cfg Config) *Groups {
	return &Groups{cfg: cfg, byID: map[string]*entry{}}
}

// Step applies an event to a group, also to one that is not there. See Group.Step.
func (gs *Groups) Step(now time.Time, group string, event Event) []Effect {
	e := gs.entry(group)
	effects := e.Step(now, event)
	gs.settle(e)
	return effects
}

// Tick applies what fell due until now, in all groups.
func (gs *Groups) Tick(now time.Time) []Effect {
	var effects []Effect
	for len(gs.due) > 0 && !gs.due[0].dueAt.After(now) {
		e := gs.due[0]
		effects = append(effects, e.Tick(now)...)
		gs.settle(e)
	}
	return effects
}

// NextDeadline returns the time at which Tick wants to be called, see Group.NextDeadline.
func (gs *Groups) NextDeadline() (at time.Time, ok bool) {
	if len(gs.due) == 0 {
		return time.Time{}, false
	}
	return gs.due[0].dueAt, true
}

// DropTopic applies the event to every group that has offsets of the topic.
func (gs *Groups) DropTopic(now time.Time, topic DropTopic) []Effect {
	var effects []Effect
	for _, id := range gs.readers(topic.Topic) {
		effects = append(effects, gs.Step(now, id, topic)...)
	}
	return effects
}

// Restore applies a change that was made durable earlier. All of them come before anything else, and Resume after the last.
func (gs *Groups) Restore(group string, change Change) {
	e := gs.entry(group)
	e.Restore(change)
	gs.settle(e)
}

// Resume starts the timers of restored groups.
func (gs *Groups) Resume(now time.Time) {
	for _, e := range gs.byID {
		e.Resume(now)
		gs.settle(e)
	}
}

// Describe describes a group. One that is not there is Dead, with ErrGroupIDNotFound for those who want to tell.
func (gs *Groups) Describe(group string) (Description, error) {
	if e := gs.byID[group]; e != nil && e.state != Dead {
		return e.Describe(), nil
	}
	return Description{State: Dead}, ErrGroupIDNotFound
}

// Offsets answers each query for a group's offsets, see Group.Offsets. A group that is not there has none.
func (gs *Groups) Offsets(group string, queries []OffsetQuery) []OffsetResult {
	e := gs.byID[group]
	if e == nil {
		return NewGroup(group, &gs.cfg).Offsets(queries)
	}
	return e.Offsets(queries)
}

// List returns the groups that the filter chooses, sorted by id.
func (gs *Groups) List(f Filter) []Listing {
	list := gs.listUnsorted(f)
	sortListings(list)
	return list
}

func (gs *Groups) listUnsorted(f Filter) []Listing {
	list := make([]Listing, 0, len(gs.byID))
	for id, e := range gs.byID {
		l := Listing{ID: id, ProtocolType: e.protocolType, State: e.state, Type: TypeClassic}
		if e.state != Dead && f.includes(l) {
			list = append(list, l)
		}
	}
	return list
}

func sortListings(list []Listing) {
	slices.SortFunc(list, func(a, b Listing) int { return strings.Compare(a.ID, b.ID) })
}

// readers returns the ids of the groups that have offsets of a topic, sorted.
func (gs *Groups) readers(topic string) []string {
	var ids []string
	for id, e := range gs.byID {
		if e.reads(topic) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// entry returns the group's entry; for one that is not there a new one, which settle will keep or not.
func (gs *Groups) entry(group string) *entry {
	if e := gs.byID[group]; e != nil {
		return e
	}
	return &entry{Group: newGroup(group, &gs.cfg, &gs.usage), index: -1}
}

// settle puts a group where it belongs after something happened to it.
func (gs *Groups) settle(e *entry) {
	if e.gone() {
		delete(gs.byID, e.id)
		if e.index >= 0 {
			heap.Remove(&gs.due, e.index)
		}
		return
	}
	gs.byID[e.id] = e
	at, ok := e.NextDeadline()
	e.dueAt = at
	switch {
	case ok && e.index < 0:
		heap.Push(&gs.due, e)
	case ok:
		heap.Fix(&gs.due, e.index)
	case e.index >= 0:
		heap.Remove(&gs.due, e.index)
	}
}

// dueQueue is a heap of groups, the first one due in front; ids decide among equals, so that nothing hangs on the order
// of maps.
type dueQueue []*entry

func (q dueQueue) Len() int { return len(q) }

func (q dueQueue) Less(i, j int) bool {
	return cmp.Or(q[i].dueAt.Compare(q[j].dueAt), strings.Compare(q[i].id, q[j].id)) < 0
}

func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *dueQueue) Push(x any) {
	e := x.(*entry)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.index = -1
	return e
}
