// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"cmp"
	"fmt"
	"slices"
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
	parts := make([]reading, len(c.h.Log))
	for p, log := range c.h.Log {
		parts[p] = reading{seen: make([]bool, len(log)), lost: make([]int64, len(c.h.Losses))}
	}
	for _, read := range r.Reads {
		c.verdict.Read++
		p, log := &parts[read.Partition], c.h.Log[read.Partition]
		if read.Offset != p.next && !p.beginsAnew(read.Offset) {
			c.fault("consumer %s reads %d of partition %d where %d comes next", r.Name, read.Offset, read.Partition, p.next)
		}
		p.next = read.Offset + 1
		lost := false
		for i, l := range c.h.Losses {
			if read.At <= l.At && read.Offset >= l.Ends[read.Partition] {
				p.lost[i], lost = max(p.lost[i], read.Offset+1), true
			}
		}
		switch {
		case read.Offset < int64(len(log)) && log[read.Offset] == read.Record:
			p.seen[read.Offset] = true
		case !lost:
			c.fault("consumer %s reads %v at %d of partition %d, where %s is stored", r.Name, read.Record, read.Offset, read.Partition, at(log, read.Offset))
		}
	}
	for p, part := range parts {
		for offset, seen := range part.seen {
			if !seen && c.found == 0 && !c.passedOver(p, int64(offset), part.lost) {
				c.fault("consumer %s has not read %d of partition %d, which ends at %d", r.Name, offset, p, len(part.seen))
			}
		}
	}
}

// reading is how far a consumer is in one partition.
type reading struct {
	next int64
	seen []bool // by offset of the log
	// lost is, by loss, how far the consumer had read of what was lost then, and 0 if it had not.
	lost []int64
	anew int // how often it has begun again
}

// beginsAnew tells whether a consumer may go on at an offset though another one comes next: at the first, once for each loss
// that it had read something of.
func (r *reading) beginsAnew(at int64) bool {
	r.anew++
	of := 0
	for _, end := range r.lost {
		if end > 0 {
			of++
		}
	}
	return at == 0 && r.anew <= of
}

// passedOver tells whether an offset was given anew after the consumer had been above it: it holds on to its position.
func (c *checker) passedOver(partition int, offset int64, lost []int64) bool {
	for i, l := range c.h.Losses {
		if l.Ends[partition] <= offset && offset < lost[i] {
			return true
		}
	}
	return false
}

func at(log []Stored, offset int64) string {
	if offset >= int64(len(log)) {
		return "nothing"
	}
	return log[offset].String()
}
