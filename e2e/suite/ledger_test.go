// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// ledger keeps what the members of one group say, and checks each word: a member reads what is assigned to it and
// nothing else, in order and without a gap, no record is skipped, and none is delivered that was committed before.
//
// The members' words reach it in each one's order. What one says late about another's partitions makes the checks
// milder, not wrong: a commit that is not known yet allows to deliver again.
type ledger struct {
	mu         sync.Mutex
	partitions []partitionLedger
	members    map[string]*memberLedger
	library    string // its version, which members tell
	faults     []string
}

type partitionLedger struct {
	delivered []string // values by offset
	committed int64    // the next offset, the highest that was confirmed
}

type memberLedger struct {
	next    map[int]int64 // by partition that is assigned to it: the offset to read next, -1 before the first
	changes int           // how often its partitions were given or taken
	closed  bool
	errors  []string // that the member went on after
}

func newLedger(partitions int) *ledger {
	return &ledger{partitions: make([]partitionLedger, partitions), members: map[string]*memberLedger{}}
}

// join returns what to tell of a new member.
func (l *ledger) join(name string) func(group.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &memberLedger{next: map[int]int64{}}
	l.members[name] = m
	return func(e group.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told(name, m, e)
	}
}

func (l *ledger) told(name string, m *memberLedger, e group.Event) {
	switch e.Kind {
	case group.Started:
		l.library = e.Version
	case group.Assigned:
		m.changes++
		for _, p := range e.Partitions {
			m.next[p] = -1
		}
	case group.Revoked:
		m.changes++
		for _, p := range e.Partitions {
			delete(m.next, p)
		}
	case group.Record:
		l.record(name, m, e)
	case group.Committed:
		for p, offset := range e.Offsets {
			if offset > int64(len(l.partitions[p].delivered)) {
				l.fault("%s commits %d of partition %d, before which not all is delivered", name, offset, p)
			}
			l.partitions[p].committed = max(l.partitions[p].committed, offset)
		}
	case group.Failed:
		m.errors = append(m.errors, e.Error)
	case group.Closed:
		m.closed = true
		clear(m.next)
	}
}

func (l *ledger) record(name string, m *memberLedger, e group.Event) {
	next, assigned := m.next[e.Partition]
	p := &l.partitions[e.Partition]
	switch end := int64(len(p.delivered)); {
	case !assigned:
		l.fault("%s reads %d of partition %d, which it does not have", name, e.Offset, e.Partition)
	case next >= 0 && e.Offset != next:
		l.fault("%s reads %d of partition %d after %d", name, e.Offset, e.Partition, next-1)
	case next < 0 && e.Offset < p.committed:
		l.fault("%s begins partition %d at %d, though all before %d is committed", name, e.Partition, e.Offset, p.committed)
	case e.Offset > end:
		l.fault("%s begins partition %d at %d, though nobody has read %d", name, e.Partition, e.Offset, end)
	case e.Offset == end:
		p.delivered = append(p.delivered, e.Value)
	case p.delivered[e.Offset] != e.Value:
		l.fault("%s reads %q at %d of partition %d, where another read %q", name, e.Value, e.Offset, e.Partition, p.delivered[e.Offset])
	}
	m.next[e.Partition] = e.Offset + 1
}

func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// gone is to be told of a member that was killed.
func (l *ledger) gone(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.members[name].next)
}

// settled tells whether the members, and nobody else, have all partitions, each one member's, as many each as the other
// give or take one.
func (l *ledger) settled(members ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []int
	for name, m := range l.members {
		if len(m.next) > 0 && !slices.Contains(members, name) {
			return false
		}
		if share := len(l.partitions) / len(members); slices.Contains(members, name) && len(m.next) != share && len(m.next) != share+1 {
			return false
		}
		all = slices.AppendSeq(all, maps.Keys(m.next))
	}
	slices.Sort(all)
	for i, p := range all {
		if i != p {
			return false
		}
	}
	return len(all) == len(l.partitions)
}

// assigned returns a member's partitions in order.
func (l *ledger) assigned(member string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.members[member].next))
}

// changes counts how often partitions were given to the members or taken from them; clients tell it even of none.
func (l *ledger) changes(members ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, name := range members {
		n += l.members[name].changes
	}
	return n
}

func (l *ledger) closed(member string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members[member].closed
}

// delivered tells whether n records of every partition were delivered.
func (l *ledger) delivered(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.partitions, func(p partitionLedger) bool { return int64(len(p.delivered)) < n })
}

// committed tells whether all partitions are committed up to their ends.
func (l *ledger) committed(end func(partition int) int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range l.partitions {
		if p.committed < end(i) {
			return false
		}
	}
	return true
}

// values returns what was delivered of a partition, by offset.
func (l *ledger) values(partition int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.partitions[partition].delivered)
}

func (l *ledger) version() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.library
}

// found returns the faults.
func (l *ledger) found() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.faults)
}

// String shows the state, for a test that waits in vain.
func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := "delivered and committed:"
	for i, p := range l.partitions {
		text += fmt.Sprintf(" %d: %d %d,", i, len(p.delivered), p.committed)
	}
	for _, name := range slices.Sorted(maps.Keys(l.members)) {
		m := l.members[name]
		text += fmt.Sprintf("\n%s: next %v, %d changes, closed %v, errors %q", name, m.next, m.changes, m.closed, m.errors)
	}
	return text
}
