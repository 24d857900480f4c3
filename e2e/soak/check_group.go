// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"math"
	"slices"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// checkGroup expects that members read what is assigned to them and nothing else, in order and without a gap, that no
// record is skipped when partitions change hands, that none is read again that was committed before, and that nothing is
// committed that was not read. A late commit may put the group back to its own offset, over what may have been committed
// before it was executed. What a member says late makes this milder, not wrong. Of a group whose store forgets, only the
// records themselves are looked at: its commits are forgotten, too.
func (c *checker) checkGroup() {
	partitions := len(c.h.Log)
	g := groupChecker{
		checker: c, next: map[string]map[int]int64{}, given: map[string][]time.Duration{},
		read: make([]int64, partitions), committed: make([]commit, partitions),
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
		case max(committed, 0) < g.committed[p].offset && !g.back(p, committed, math.MaxInt64):
			c.fault("the group: %d of partition %d is committed at the end, though %d was confirmed", committed, p, g.committed[p].offset)
		case g.read[p] != int64(len(c.h.Log[p])):
			c.fault("the group has read partition %d to %d, which ends at %d", p, g.read[p], len(c.h.Log[p]))
		}
	}
}

type groupChecker struct {
	*checker
	next      map[string]map[int]int64   // by member and partition that it has: what it reads next, -1 before the first
	given     map[string][]time.Duration // by member and partition: when it was given the last record
	read      []int64                    // by partition: all before was read by somebody
	committed []commit                   // by partition
}

// commit is the highest offset that was confirmed since the group was seen to be back at another, and a time before it was
// sent, as far as words of members come in time: a member commits what it has read.
type commit struct {
	offset int64
	sent   time.Duration
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
			sent := g.lastGiven(e.Member)[p]
			if was := g.committed[p]; offset > was.offset || offset == was.offset && sent > was.sent {
				g.committed[p] = commit{offset, sent}
			}
		}
	}
}

// executionLimit is how long the gateway takes at most, unless it stands still, to read what has reached it, and a member's word
// to be heard.
const executionLimit = 2 * time.Second

// back tells whether a late commit that arrived before some time can be what a partition is back at: one that was executed
// when what was confirmed had been sent. Then that is what is committed.
func (g *groupChecker) back(partition int, offset int64, before time.Duration) bool {
	for _, late := range g.h.Group.Late {
		at, ok := late.Offsets[partition]
		if ok && at == offset && late.At <= before && g.committed[partition].sent <= g.executed(late)+executionLimit {
			g.committed[partition] = commit{offset, late.At}
			g.verdict.Back++
			return true
		}
	}
	return false
}

// executed is when the gateway could read a late commit.
func (g *groupChecker) executed(late LateCommit) time.Duration {
	at := late.At
	for _, p := range g.h.Silences {
		if at+executionLimit >= p.From && at < p.To {
			at = p.To
		}
	}
	return at
}

func (g *groupChecker) lastGiven(member string) []time.Duration {
	if g.given[member] == nil {
		g.given[member] = make([]time.Duration, len(g.h.Log))
	}
	return g.given[member]
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
	case next < 0 && e.Offset < g.committed[e.Partition].offset && !g.back(e.Partition, e.Offset, e.At):
		g.fault("member %s begins partition %d at %d, though all before %d is committed", e.Member, e.Partition, e.Offset, g.committed[e.Partition].offset)
	case next < 0 && e.Offset > read:
		g.fault("member %s begins partition %d at %d, though nobody has read %d", e.Member, e.Partition, e.Offset, read)
	}
	g.next[e.Member][e.Partition] = e.Offset + 1
	g.lastGiven(e.Member)[e.Partition] = e.At
	g.read[e.Partition] = max(g.read[e.Partition], e.Offset+1)
}
