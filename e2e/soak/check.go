// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// mostFaults is how many faults are told of each part of a history: one bug makes thousands.
const mostFaults = 10

// Verdict is what [Check] found.
type Verdict struct {
	Faults []string
	// Acked records, of them Excused because the store has lost them; records Stored; Read ones, by all consumers;
	// sequences Broken because of such a loss; how often a group was found to be Back at a late commit.
	Acked, Excused, Stored, Read, Broken, Back int
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d acked, %d stored, %d read, %d excused, %d sequences broken, %d times back at a late commit",
		v.Acked, v.Stored, v.Read, v.Excused, v.Broken, v.Back)
}

// Check holds what clients were told against what is stored. It expects a run that has come to rest: everything that was
// sent is answered and the consumers have nothing more to read.
func Check(h *History) Verdict {
	c := checker{h: h}
	places := c.checkLog()
	for i := range h.Producers {
		c.checkProducer(i, places[i])
	}
	for i := range h.Consumers {
		c.part(func() { c.checkConsumer(&h.Consumers[i]) })
	}
	if h.Group.Committed != nil {
		c.part(c.checkGroup)
	}
	return c.verdict
}

// checker is one call of Check.
type checker struct {
	h       *History
	verdict Verdict
	found   int // faults of the part that is being checked
}

func (c *checker) part(check func()) {
	c.found = 0
	check()
	if more := c.found - mostFaults; more > 0 {
		c.verdict.Faults = append(c.verdict.Faults, fmt.Sprintf("... and %d more like these", more))
	}
}

func (c *checker) fault(format string, args ...any) {
	if c.found++; c.found <= mostFaults {
		c.verdict.Faults = append(c.verdict.Faults, fmt.Sprintf(format, args...))
	}
}

// place is where a record is stored.
type place struct {
	partition int
	offset    int64
}

// checkLog looks for what nobody sent. It returns the places of all others: by producer and number.
func (c *checker) checkLog() []map[int][]place {
	places := make([]map[int][]place, len(c.h.Producers))
	for i := range places {
		places[i] = map[int][]place{}
	}
	c.part(func() {
		for partition, log := range c.h.Log {
			c.verdict.Stored += len(log)
			for offset, s := range log {
				id := s.ID
				if s.Foreign != "" || id.Producer < 0 || id.Producer >= len(places) || id.Number < 0 || id.Number >= c.h.Producers[id.Producer].Sent {
					c.fault("partition %d holds %v at %d, which nobody sent", partition, s, offset)
					continue
				}
				places[id.Producer][id.Number] = append(places[id.Producer][id.Number], place{partition, int64(offset)})
			}
		}
	})
	return places
}

func (c *checker) checkProducer(index int, places map[int][]place) {
	p := &c.h.Producers[index]
	name := fmt.Sprintf("producer %d (%s)", index, p.Name)
	c.part(func() {
		for _, err := range p.Errors {
			c.fault("%s was told: %s", name, err)
		}
	})
	c.part(func() { c.checkAcks(p, name, places) })
	c.part(func() { c.checkBreaks(p, name) })
	switch p.Guarantee {
	case Once:
		c.part(func() { c.checkOnce(index, name, places) })
	case InOrder:
		c.part(func() { c.checkInOrder(p, name) })
	}
}

// checkAcks expects what was acknowledged where it was.
func (c *checker) checkAcks(p *ProducerHistory, name string, places map[int][]place) {
	for _, a := range p.Acks {
		c.verdict.Acked++
		switch {
		case stands(a, places[a.Number]):
		case c.excused(a):
			c.verdict.Excused++
		default:
			c.fault("%s was told at %v that %d is at %d of partition %d: it is at %v", name, a.At, a.Number, a.Offset, a.Partition, places[a.Number])
		}
	}
}

// stands tells whether a record is where its producer was told.
func stands(a Ack, at []place) bool {
	if a.Offset < 0 {
		return slices.ContainsFunc(at, func(p place) bool { return p.partition == a.Partition })
	}
	return slices.Contains(at, place{a.Partition, a.Offset})
}

// excused tells whether the store has lost what was acknowledged.
func (c *checker) excused(a Ack) bool {
	return slices.ContainsFunc(c.h.Losses, func(l Loss) bool {
		return a.At <= l.Answered && (a.Offset < 0 || a.Offset >= l.Ends[a.Partition])
	})
}

func (c *checker) lost(at time.Duration, partition int, above func(end int64) bool) bool {
	return slices.ContainsFunc(c.h.Losses, func(l Loss) bool { return at <= l.At && above(l.Ends[partition]) })
}

// checkBreaks expects a sequence to be whole unless the store has lost some of it.
func (c *checker) checkBreaks(p *ProducerHistory, name string) {
	for _, b := range p.Breaks {
		if slices.ContainsFunc(p.Acks, func(a Ack) bool { return b.isOf(a.Partition) && a.At <= b.At && c.excused(a) }) {
			c.verdict.Broken++
		} else {
			c.fault("%s was told at %v that its sequence in partition %d is broken, of which nothing is lost", name, b.At, b.Partition)
		}
	}
}

func (b Break) isOf(partition int) bool { return b.Partition == partition || b.Partition < 0 }

// checkOnce expects each record at one place at most, and a partition's in order, but where the sequence was broken.
func (c *checker) checkOnce(index int, name string, places map[int][]place) {
	for partition, log := range c.h.Log {
		if slices.ContainsFunc(c.h.Producers[index].Breaks, func(b Break) bool { return b.isOf(partition) }) {
			continue
		}
		last, lastAt := -1, -1
		for offset, s := range log {
			if s.Foreign != "" || s.ID.Producer != index {
				continue
			}
			if at := places[s.ID.Number]; len(at) > 1 && at[0] != (place{partition, int64(offset)}) {
				c.fault("%s: %d is stored %d times, at %v", name, s.ID.Number, len(at), at)
			} else if s.ID.Number <= last {
				c.fault("%s: %d is at %d of partition %d, behind %d at %d", name, s.ID.Number, offset, partition, last, lastAt)
			}
			last, lastAt = max(last, s.ID.Number), offset
		}
	}
}

// checkInOrder expects the places that a producer was told to be in its order. A later record may have been told of and
// lost before an earlier one came to be written.
func (c *checker) checkInOrder(p *ProducerHistory, name string) {
	acks := slices.SortedFunc(slices.Values(p.Acks), func(a, b Ack) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Number, b.Number))
	})
	for i, a := range acks[min(1, len(acks)):] {
		before := acks[i]
		if before.Partition == a.Partition && a.Offset <= before.Offset && !c.excused(before) {
			c.fault("%s was told that %d is at %d of partition %d, and %d at %d", name, before.Number, before.Offset, a.Partition, a.Number, a.Offset)
		}
	}
}

// checkConsumer expects every record of the log, in order. A consumer that has read what was lost then is somewhere above
// what is written next, or begins anew.
func (c *checker) checkConsumer(r *ConsumerHistory) {
	for _, err := range r.Errors {
		c.fault("consumer %s was told: %s", r.Name, err)
	}
	partitions := len(c.h.Log)
	next := make([]int64, partitions)
	seen := make([][]bool, partitions)
	for p, log := range c.h.Log {
		seen[p] = make([]bool, len(log))
	}
	for _, read := range r.Reads {
		c.verdict.Read++
		p, log := read.Partition, c.h.Log[read.Partition]
		if read.Offset != next[p] && !c.readLost(r, p) {
			c.fault("consumer %s reads %d of partition %d where %d comes next", r.Name, read.Offset, p, next[p])
		}
		next[p] = read.Offset + 1
		switch {
		case read.Offset < int64(len(log)) && log[read.Offset] == read.Record:
			seen[p][read.Offset] = true
		case !c.lost(read.At, p, func(end int64) bool { return read.Offset >= end }):
			c.fault("consumer %s reads %v at %d of partition %d, where %s is stored", r.Name, read.Record, read.Offset, p, at(log, read.Offset))
		}
	}
	for p := range seen {
		if missing := slices.Index(seen[p], false); missing >= 0 && c.found == 0 && !c.passedOver(r, p, int64(missing)) {
			c.fault("consumer %s has not read %d of partition %d, which ends at %d", r.Name, missing, p, len(seen[p]))
		}
	}
}

func at(log []Stored, offset int64) string {
	if offset >= int64(len(log)) {
		return "nothing"
	}
	return log[offset].String()
}

// readLost tells whether a consumer has read anything of a partition that was lost then.
func (c *checker) readLost(r *ConsumerHistory, partition int) bool {
	return slices.ContainsFunc(r.Reads, func(read Read) bool {
		return read.Partition == partition && c.lost(read.At, partition, func(end int64) bool { return read.Offset >= end })
	})
}

// passedOver tells whether an offset was given anew after the consumer had been above it: it holds on to its position.
func (c *checker) passedOver(r *ConsumerHistory, partition int, offset int64) bool {
	return c.readLost(r, partition) && slices.ContainsFunc(c.h.Losses, func(l Loss) bool { return offset >= l.Ends[partition] })
}

// checkGroup expects that members read what is assigned to them and nothing else, in order and without a gap, that no
// record is skipped when partitions change hands, that none is read again that was committed before, and that nothing is
// committed that was not read. A late commit may put the group back to its own offset, and to no other. What a member says
// late makes this milder, not wrong. Of a group whose store forgets, only the records themselves are looked at: its commits
// are forgotten, too.
func (c *checker) checkGroup() {
	g := groupChecker{
		checker: c, next: map[string]map[int]int64{}, late: slices.Clone(c.h.Group.Late),
		read: make([]int64, len(c.h.Log)), committed: make([]int64, len(c.h.Log)),
	}
	for _, e := range c.h.Group.Events {
		g.told(e)
	}
	if len(c.h.Losses) > 0 {
		return
	}
	for p, committed := range c.h.Group.Committed {
		switch {
		case committed > g.read[p]:
			c.fault("the group: %d of partition %d is committed at the end, read is what comes before %d", committed, p, g.read[p])
		case max(committed, 0) < g.committed[p] && !g.back(p, committed, math.MaxInt64):
			c.fault("the group: %d of partition %d is committed at the end, though %d was confirmed", committed, p, g.committed[p])
		case g.read[p] != int64(len(c.h.Log[p])):
			c.fault("the group has read partition %d to %d, which ends at %d", p, g.read[p], len(c.h.Log[p]))
		}
	}
}

type groupChecker struct {
	*checker
	next            map[string]map[int]int64 // by member and partition that it has: what it reads next, -1 before the first
	late            []LateCommit             // without what the group was found to be back at
	read, committed []int64                  // by partition: all before was read by somebody, was confirmed as committed
}

func (g *groupChecker) told(e GroupEvent) {
	switch e.Kind {
	case group.Assigned:
		if g.next[e.Member] == nil {
			g.next[e.Member] = map[int]int64{}
		}
		for _, p := range e.Partitions {
			g.next[e.Member][p] = -1
		}
	case group.Revoked:
		for _, p := range e.Partitions {
			delete(g.next[e.Member], p)
		}
	case group.Closed:
		delete(g.next, e.Member)
	case group.Record:
		g.record(e)
	case group.Committed:
		for p, offset := range e.Offsets {
			if offset > g.read[p] && len(g.h.Losses) == 0 {
				g.fault("member %s commits %d of partition %d, read is what comes before %d", e.Member, offset, p, g.read[p])
			}
			g.committed[p] = max(g.committed[p], offset)
		}
	}
}

// back tells whether a late commit, each of which is executed once, has put a partition back to an offset at some time
// before. Then that is what is committed.
func (g *groupChecker) back(partition int, offset int64, before time.Duration) bool {
	i := slices.IndexFunc(g.late, func(late LateCommit) bool {
		at, ok := late.Offsets[partition]
		return ok && at == offset && late.At <= before
	})
	if i < 0 {
		return false
	}
	g.late[i].Offsets = maps.Clone(g.late[i].Offsets)
	delete(g.late[i].Offsets, partition)
	g.committed[partition] = offset
	g.verdict.Back++
	return true
}

func (g *groupChecker) record(e GroupEvent) {
	g.verdict.Read++
	log := g.h.Log[e.Partition]
	// A member tells what it had been given long before: it was busy with commits.
	lost := slices.ContainsFunc(g.h.Losses, func(l Loss) bool { return e.Offset >= l.Ends[e.Partition] })
	if record := parse([]byte(e.Value)); !lost && (e.Offset >= int64(len(log)) || log[e.Offset] != record) {
		g.fault("member %s reads %v at %d of partition %d, where %s is stored", e.Member, record, e.Offset, e.Partition, at(log, e.Offset))
	}
	next, assigned := g.next[e.Member][e.Partition]
	switch read := g.read[e.Partition]; {
	case len(g.h.Losses) > 0:
		return
	case !assigned:
		g.fault("member %s reads %d of partition %d, which it does not have", e.Member, e.Offset, e.Partition)
		return
	case next >= 0 && e.Offset != next:
		g.fault("member %s reads %d of partition %d where %d comes next", e.Member, e.Offset, e.Partition, next)
	case next < 0 && e.Offset < g.committed[e.Partition] && !g.back(e.Partition, e.Offset, e.At):
		g.fault("member %s begins partition %d at %d, though all before %d is committed", e.Member, e.Partition, e.Offset, g.committed[e.Partition])
	case next < 0 && e.Offset > read:
		g.fault("member %s begins partition %d at %d, though nobody has read %d", e.Member, e.Partition, e.Offset, read)
	}
	g.next[e.Member][e.Partition] = e.Offset + 1
	g.read[e.Partition] = max(g.read[e.Partition], e.Offset+1)
}
