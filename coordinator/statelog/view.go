// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"maps"
	"slices"
	"strings"
)

// view is what the records of one partition come to: the newest of each key, in encoded form where there are many. It is
// not safe for concurrent use.
type view struct {
	groups    map[string]*groupState
	topics    map[string]*topicState
	producers map[int32]int64
	quotas    map[string]map[string]string
	// offsets counts those of all groups.
	offsets int
	// settingsChanges counts the records that may have changed topics' settings.
	settingsChanges uint64
	// quotaChanges counts the records that may have changed quotas.
	quotaChanges uint64
}

// groupState is a group. Snapshot is empty if only offsets are known of it.
type groupState struct {
	snapshot string
	topics   map[string][]storedOffset
}

// storedOffset is the offset of one partition. A topic's are in a slice, sorted by partition: maps take twice the memory.
type storedOffset struct {
	// id is shared between the partitions of a topic.
	id, value string
	partition int32
}

type topicState struct {
	name      string
	settings  map[string]string
	logStarts map[int32]LogStart
}

func newView() *view {
	return &view{
		groups: map[string]*groupState{}, topics: map[string]*topicState{},
		producers: map[int32]int64{}, quotas: map[string]map[string]string{},
	}
}

// entries is how many records a checkpoint would have if each held one thing.
func (v *view) entries() int {
	return v.offsets + len(v.groups) + len(v.topics) + len(v.producers) + len(v.quotas)
}

// apply takes in a record. It keeps nothing that points into the record.
func (v *view) apply(r record) {
	switch r := r.(type) {
	case offsetsCommitted:
		v.commit(&r)
	case offsetsRemoved:
		v.remove(&r)
	case groupSaved:
		v.group(r.group).snapshot = strings.Clone(r.snapshot)
	case groupRemoved:
		if g := v.groups[r.group]; g != nil {
			for _, list := range g.topics {
				v.offsets -= len(list)
			}
			delete(v.groups, r.group)
		}
	case producerIDs:
		v.producers[r.instance] = max(v.producers[r.instance], r.next)
	case logStart:
		v.applyLogStart(&r)
	case topicSettings:
		v.applySettings(&r)
		v.settingsChanges++
	case topicRemoved:
		delete(v.topics, r.topicID)
		v.settingsChanges++
	case quota:
		v.quotaChanges++
		if len(r.values) == 0 {
			delete(v.quotas, r.key)
		} else {
			v.quotas[strings.Clone(r.key)] = cloneStrings(r.values)
		}
	}
}

func (v *view) group(id string) *groupState {
	g := v.groups[id]
	if g == nil {
		g = &groupState{topics: map[string][]storedOffset{}}
		v.groups[strings.Clone(id)] = g
	}
	return g
}

func (v *view) commit(r *offsetsCommitted) {
	g := v.group(r.group)
	for i := range r.topics {
		t := &r.topics[i]
		list, known := g.topics[t.name]
		if !known && len(list) == 0 {
			list = slices.Grow(list, len(t.partitions))
		}
		for _, p := range t.partitions {
			at, found := find(list, p.partition)
			if !found {
				list = slices.Insert(list, at, storedOffset{partition: p.partition})
				v.offsets++
			}
			list[at].value = strings.Clone(p.value)
			list[at].id = sharedID(list, at, t.id)
		}
		if known {
			g.topics[t.name] = list
		} else {
			g.topics[strings.Clone(t.name)] = list
		}
	}
}

func find(list []storedOffset, partition int32) (int, bool) {
	return slices.BinarySearchFunc(list, partition, func(o storedOffset, p int32) int { return int(o.partition) - int(p) })
}

// sharedID returns id, as the string that the entry or a neighbour has if it is the same.
func sharedID(list []storedOffset, at int, id string) string {
	for i := max(at-1, 0); i < min(at+2, len(list)); i++ {
		if list[i].id == id {
			return list[i].id
		}
	}
	return strings.Clone(id)
}

func (v *view) remove(r *offsetsRemoved) {
	g := v.groups[r.group]
	if g == nil {
		return
	}
	for _, t := range r.topics {
		list := g.topics[t.name]
		for _, partition := range t.partitions {
			if at, found := find(list, partition); found {
				list = slices.Delete(list, at, at+1)
				v.offsets--
			}
		}
		if len(list) == 0 {
			delete(g.topics, t.name)
		} else {
			g.topics[t.name] = list
		}
	}
	if g.snapshot == "" && len(g.topics) == 0 {
		delete(v.groups, r.group)
	}
}

func (v *view) topic(id string) *topicState {
	t := v.topics[id]
	if t == nil {
		t = &topicState{logStarts: map[int32]LogStart{}}
		v.topics[strings.Clone(id)] = t
	}
	return t
}

func (v *view) applySettings(r *topicSettings) {
	t := v.topic(r.topicID)
	t.name, t.settings = strings.Clone(r.name), cloneStrings(r.settings)
	v.dropEmpty(r.topicID)
}

func (v *view) applyLogStart(r *logStart) {
	t := v.topic(r.topicID)
	t.name = strings.Clone(r.name)
	t.logStarts[r.partition] = r.start
	if r.start.Offset == 0 {
		delete(t.logStarts, r.partition)
	}
	v.dropEmpty(r.topicID)
}

func (v *view) dropEmpty(topicID string) {
	if t := v.topics[topicID]; len(t.settings) == 0 && len(t.logStarts) == 0 {
		delete(v.topics, topicID)
	}
}

func cloneStrings(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[strings.Clone(k)] = strings.Clone(v)
	}
	return c
}

// others returns records for all but the groups, sorted.
func (v *view) others() []record {
	var records []record
	for _, instance := range slices.Sorted(maps.Keys(v.producers)) {
		records = append(records, producerIDs{instance, v.producers[instance]})
	}
	for _, id := range slices.Sorted(maps.Keys(v.topics)) {
		t := v.topics[id]
		if len(t.settings) > 0 {
			records = append(records, topicSettings{id, t.name, t.settings})
		}
		for _, partition := range slices.Sorted(maps.Keys(t.logStarts)) {
			records = append(records, logStart{id, t.name, partition, t.logStarts[partition]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.quotas)) {
		records = append(records, quota{key, v.quotas[key]})
	}
	return records
}

// current returns the record for what key is about, as it is now; nil if there is nothing.
func (v *view) current(key record) record {
	switch k := key.(type) {
	case producerIDs:
		return producerIDs{k.instance, v.producers[k.instance]}
	case topicSettings:
		if t := v.topics[k.topicID]; t != nil && len(t.settings) > 0 {
			return topicSettings{k.topicID, t.name, t.settings}
		}
	case logStart:
		if t := v.topics[k.topicID]; t != nil {
			if start, ok := t.logStarts[k.partition]; ok {
				return logStart{k.topicID, t.name, k.partition, start}
			}
		}
	case quota:
		if values := v.quotas[k.key]; values != nil {
			return quota{k.key, values}
		}
	}
	return nil
}

// committed returns offsets of a topic, from a partition on: those that have the same topic id and take at most size bytes,
// or one partition if that takes more. If there are more, rest is the first of them.
func (g *groupState) committed(topic string, from int32, size int) (t committedTopic, rest int32, more bool) {
	t.name = topic
	list := g.topics[topic]
	at, _ := find(list, from)
	for taken := 0; at < len(list); at++ {
		o := &list[at]
		if len(t.partitions) == 0 {
			t.id = o.id
		} else if taken+len(o.value) > size || o.id != t.id {
			return t, o.partition, true
		}
		taken += len(o.value) + maxVarint32
		t.partitions = append(t.partitions, committedPartition{o.partition, o.value})
	}
	return t, 0, false
}

const maxVarint32 = 5
