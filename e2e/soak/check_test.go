// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// stored reads a partition's log: IDs between blanks.
func stored(text string) []Stored {
	var log []Stored
	for id := range strings.FieldsSeq(text) {
		log = append(log, parse([]byte(id)))
	}
	return log
}

// acked is what one producer was told of partition 0, in order: where its numbers from 0 on are.
func acked(offsets ...int64) []Ack {
	var acks []Ack
	for number, offset := range offsets {
		acks = append(acks, Ack{Number: number, Offset: offset, At: time.Duration(number)})
	}
	return acks
}

// reads is what a consumer was given of partition 0: a log, from an offset on.
func reads(from int64, text string) []Read {
	var reads []Read
	for i, s := range stored(text) {
		reads = append(reads, Read{Offset: from + int64(i), Record: s, At: time.Duration(i)})
	}
	return reads
}

// broken breaks a producer's sequence at some time.
func broken(p []ProducerHistory, at time.Duration) []ProducerHistory {
	p[0].Breaks = []Break{{At: at}}
	return p
}

func said(member string, kind group.Kind, offset int64, value string) GroupEvent {
	e := group.Event{Kind: kind, Offset: offset, Value: value}
	switch kind {
	case group.Assigned, group.Revoked:
		e.Partitions = []int{0}
	case group.Committed:
		e.Offsets = map[int]int64{0: offset}
	}
	return GroupEvent{Member: member, Event: e}
}

// TestCheck shows the oracle histories that are right and such as are wrong in one way.
func TestCheck(t *testing.T) {
	lossTo := func(at time.Duration, end int64) []Loss { return []Loss{{At: at, Ends: []int64{end}, Answered: at}} }
	one := func(g Guarantee, acks ...int64) []ProducerHistory {
		return []ProducerHistory{{Guarantee: g, Sent: 3, Acks: acked(acks...)}}
	}
	reader := func(reads ...[]Read) []ConsumerHistory {
		var all []Read
		for _, r := range reads {
			all = append(all, r...)
		}
		return []ConsumerHistory{{Name: "c", Reads: all}}
	}
	const complete = "0.0 0.1 0.2"
	members := func(committed int64, events ...GroupEvent) GroupHistory {
		return GroupHistory{Events: events, Committed: []int64{committed}}
	}
	assigned := said("a", group.Assigned, 0, "")
	first, second, third := said("a", group.Record, 0, "0.0"), said("a", group.Record, 1, "0.1"), said("a", group.Record, 2, "0.2")
	allRead := []GroupEvent{assigned, first, second, third, said("a", group.Committed, 3, ""), said("a", group.Revoked, 0, "")}
	again := []GroupEvent{
		said("b", group.Assigned, 0, ""), said("b", group.Record, 1, "0.1"), said("b", group.Committed, 2, ""), said("b", group.Record, 2, "0.2"),
	}
	after := func(at time.Duration, events []GroupEvent) []GroupEvent {
		events = slices.Clone(events)
		for i := range events {
			events[i].At = at
		}
		return events
	}
	lately := func(offset int64, at time.Duration, g GroupHistory) GroupHistory {
		g.Late = []LateCommit{{At: at, Offsets: map[int]int64{0: offset}}}
		return g
	}

	for name, test := range map[string]struct {
		log    string // partitions, with | between them
		h      History
		faults string // what the one fault says, nothing for a history that is right
	}{
		"once":                      {complete, History{Producers: one(Once, 0, 1, 2)}, ""},
		"once, the last not told":   {complete, History{Producers: one(Once, 0, 1)}, ""},
		"once, the last not stored": {"0.0 0.1", History{Producers: one(Once, 0, 1)}, ""},
		"once, twice":               {"0.0 0.1 0.2 0.2", History{Producers: one(Once, 0, 1, 2)}, "2 is stored 2 times"},
		"once, twice and not told":  {"0.0 0.1 0.2 0.2", History{Producers: one(Once, 0, 1)}, "2 is stored 2 times"},
		"once, lost":                {"0.0 0.2", History{Producers: one(Once, 0, 2, 1)}, "1 is at 2 of partition 0: it is at []"},
		"once, elsewhere":           {complete, History{Producers: one(Once, 0, 2)}, "1 is at 2 of partition 0: it is at [{0 1}]"},
		"once, out of order":        {"0.0 0.2 0.1", History{Producers: one(Once, 0)}, "1 is at 2 of partition 0, behind 2 at 1"},
		"often":                     {"0.0 0.1 0.0 0.1 0.2", History{Producers: one(AtLeastOnce, 2, 1, 4)}, ""},
		"often, lost":               {"0.0 0.1", History{Producers: one(AtLeastOnce, 0, 1, 2)}, "2 is at 2 of partition 0"},
		"often, in order":           {"0.0 0.1 0.0 0.1 0.2", History{Producers: one(InOrder, 2, 3, 4)}, ""},
		"often, out of order":       {"0.0 0.1 0.0 0.2", History{Producers: one(InOrder, 2, 1, 3)}, "0 is at 2 of partition 0, and 1 at 1"},
		"not told where":            {complete, History{Producers: one(Once, -1, -1, -1)}, ""},
		"not told where, lost":      {"0.0 0.1", History{Producers: one(Once, -1, -1, -1)}, "it is at []"},
		"nobody sent that":          {"0.0 0.3", History{Producers: one(Once, 0)}, "0.3 at 1, which nobody sent"},
		"nobody is that":            {"0.0 1.0", History{Producers: one(Once, 0)}, "1.0 at 1, which nobody sent"},
		"garbage":                   {"0.0 0.1x", History{Producers: one(Once, 0)}, `"0.1x " at 1, which nobody sent`},
		"an error":                  {complete, History{Producers: []ProducerHistory{{Guarantee: Once, Sent: 3, Errors: []string{"no"}}}}, "was told: no"},

		"the store lost it":               {"0.0", History{Producers: one(Once, 0, 1), Losses: lossTo(1, 1)}, ""},
		"the store had not lost it":       {"0.0", History{Producers: one(Once, 0, 1), Losses: lossTo(1, 2)}, "1 is at 1 of partition 0"},
		"told late":                       {"0.0", History{Producers: one(Once, 0, 1), Losses: []Loss{{At: 0, Ends: []int64{1}, Answered: 1}}}, ""},
		"told when it was lost":           {"0.0", History{Producers: one(Once, 0, 1), Losses: lossTo(0, 1)}, "1 is at 1 of partition 0"},
		"lost, and again":                 {"0.0 0.2", History{Producers: one(Once, 0, 1, 1), Losses: lossTo(1, 1)}, ""},
		"lost, and again, twice":          {"0.0 0.2 0.2", History{Producers: one(Once, 0, 1, 1), Losses: lossTo(1, 1)}, "2 is stored 2 times"},
		"lost, the next in its place":     {"0.0 0.2", History{Producers: one(InOrder, 0, 1, 1), Losses: lossTo(1, 1)}, ""},
		"lost of those not told where":    {"0.0", History{Producers: one(Once, -1, -1), Losses: lossTo(1, 1)}, ""},
		"not told where, later than lost": {"0.0", History{Producers: one(Once, -1, -1, -1), Losses: lossTo(1, 1)}, "2 is at -1 of partition 0"},

		"broken, nothing lost": {complete, History{Producers: broken(one(Once, 0, 1, 2), 5)}, "of which nothing is lost"},
		"broken, lost later":   {"0.0 0.2", History{Producers: broken(one(Once, 0, 1, 1), 0), Losses: lossTo(1, 1)}, "of which nothing is lost"},
		"broken, lost":         {"0.0 0.2 0.2", History{Producers: broken(one(Once, 0, 1, 1), 2), Losses: lossTo(1, 1)}, ""},

		"broken elsewhere": {"0.0 0.0|0.2", History{
			Producers: []ProducerHistory{{Guarantee: Once, Sent: 3, Acks: []Ack{{Number: 1, Partition: 1, Offset: 1}}, Breaks: []Break{{Partition: 1, At: 2}}}},
			Losses:    []Loss{{At: 1, Ends: []int64{9, 1}, Answered: 1}},
		}, "0 is stored 2 times"},
		"once, in two partitions": {"0.0|0.0", History{Producers: one(Once, 0)}, "0 is stored 2 times"},
		"in order in each partition": {"0.2 0.0|0.1", History{Producers: []ProducerHistory{{
			Guarantee: InOrder, Sent: 3, Acks: []Ack{{Number: 0, Offset: 1}, {Number: 1, Partition: 1, Offset: 0}},
		}}}, ""},

		"read":             {complete, History{Consumers: reader(reads(0, complete))}, ""},
		"read, not all":    {complete, History{Consumers: reader(reads(0, "0.0 0.1"))}, "has not read 2 of partition 0"},
		"read, back":       {complete, History{Consumers: reader(reads(0, complete), reads(1, "0.1 0.2"))}, "reads 1 of partition 0 where 3 comes next"},
		"read, other":      {complete, History{Consumers: reader(reads(0, "0.0 0.2 0.2"))}, "reads 0.2 at 1 of partition 0, where 0.1 is stored"},
		"read, above":      {complete, History{Consumers: reader(reads(0, complete+" 0.2"))}, "reads 0.2 at 3 of partition 0, where nothing is stored"},
		"read, an error":   {complete, History{Consumers: []ConsumerHistory{{Reads: reads(0, complete), Errors: []string{"no"}}}}, "was told: no"},
		"read, lost":       {"0.0 0.2", History{Consumers: reader(reads(0, "0.0 0.1 0.1")), Losses: lossTo(2, 1)}, ""},
		"read, lost, anew": {"0.0 0.2", History{Consumers: reader(reads(0, "0.0 0.1"), reads(0, "0.0 0.2")), Losses: lossTo(1, 1)}, ""},
		"read, lost, anew twice": {"0.0 0.2", History{Consumers: reader(reads(0, "0.0 0.1"), reads(0, "0.0 0.2"), reads(0, "0.0 0.2")), Losses: lossTo(1, 1)},
			"reads 0 of partition 0 where 2 comes next"},
		"read, lost, anew in between": {"0.0 0.2", History{Consumers: reader(reads(0, "0.0 0.1"), reads(1, "0.2")), Losses: lossTo(1, 1)},
			"reads 1 of partition 0 where 2 comes next"},
		"read, lost in another partition": {"0.0 0.1|", History{
			Consumers: reader([]Read{{Partition: 1, Record: Stored{ID: ID{0, 2}}}}, reads(0, "0.0 0.1"), reads(0, "0.0 0.1")), Losses: []Loss{{At: 1, Ends: []int64{2, 0}}},
		}, "reads 0 of partition 0 where 2 comes next"},
		"read, lost, then nothing": {"0.0 0.1 0.2 0.0", History{Producers: one(AtLeastOnce), Consumers: reader(reads(0, "0.0 0.2")), Losses: lossTo(1, 1)},
			"has not read 2 of partition 0"},
		"read, nothing that was lost": {complete, History{Consumers: reader(reads(0, "0.0")), Losses: lossTo(0, 1)}, "has not read 1 of partition 0"},
		"read, others lost": {"0.0 0.2", History{Consumers: reader(reads(0, "0.0"), reads(0, "0.0 0.2")), Losses: lossTo(0, 1)},
			"reads 0 of partition 0 where 1 comes next"},

		"group":                     {complete, History{Group: members(3, assigned, first, second, third, said("a", group.Committed, 3, ""))}, ""},
		"group, not committed":      {complete, History{Group: members(-1, assigned, first, second, third)}, ""},
		"group, more than read":     {complete, History{Group: members(3, assigned, first, second)}, "3 of partition 0 is committed at the end"},
		"group, commit lost":        {complete, History{Group: members(-1, assigned, first, second, third, said("a", group.Committed, 3, ""))}, "though 3 was confirmed"},
		"group, not to the end":     {complete, History{Group: members(-1, assigned, first, second)}, "to 2, which ends at 3"},
		"group, committed too soon": {complete, History{Group: members(3, assigned, first, said("a", group.Committed, 2, ""), second, third)}, "commits 2 of partition 0"},
		"group, not assigned":       {complete, History{Group: members(-1, first, assigned, first, second, third)}, "which it does not have"},
		"group, a gap":              {complete, History{Group: members(-1, assigned, first, third)}, "reads 2 of partition 0 where 1 comes next"},
		"group, handed over": {complete, History{Group: members(-1, assigned, first, said("a", group.Committed, 1, ""), second, said("a", group.Revoked, 0, ""),
			said("b", group.Assigned, 0, ""), said("b", group.Record, 1, "0.1"), said("b", group.Record, 2, "0.2"))}, "though 1 was confirmed"},
		"group, skipped": {complete, History{Group: members(-1, assigned, first, said("a", group.Revoked, 0, ""),
			said("b", group.Assigned, 0, ""), said("b", group.Record, 2, "0.2"))}, "though nobody has read 1"},
		"group, again what was committed": {complete, History{Group: members(1, assigned, first, said("a", group.Committed, 1, ""), said("a", group.Revoked, 0, ""),
			said("b", group.Assigned, 0, ""), said("b", group.Record, 0, "0.0"), said("b", group.Record, 1, "0.1"), said("b", group.Record, 2, "0.2"))}, "though all before 1 is committed"},
		"group, back at a late commit":            {complete, History{Group: lately(1, 0, members(1, allRead...))}, ""},
		"group, back at another":                  {complete, History{Group: lately(1, 0, members(2, allRead...))}, "though 3 was confirmed"},
		"group, begins at a late commit":          {complete, History{Group: lately(1, 0, members(2, slices.Concat(allRead, again)...))}, ""},
		"group, begins at what is late only then": {complete, History{Group: lately(1, 10, members(3, slices.Concat(allRead, again)...))}, "though all before 3 is committed"},
		"group, back later than a late commit":    {complete, History{Group: lately(1, 0, members(1, after(executionLimit+1, allRead)...))}, "though 3 was confirmed"},
		"group, back at one that a pause held up": {complete, History{
			Group: lately(1, 0, members(1, after(executionLimit+1, allRead)...)), Silences: []Silence{{executionLimit, executionLimit + 1}},
		}, ""},
		"group, back long after another pause": {complete, History{
			Group: lately(1, 0, members(1, after(executionLimit+2, allRead)...)), Silences: []Silence{{executionLimit + 1, executionLimit + 2}},
		}, "though 3 was confirmed"},
		"group, back later than it began at a late commit": {complete, History{
			Group: lately(1, 0, members(1, slices.Concat(allRead, after(executionLimit+1, again))...)),
		}, "though 2 was confirmed"},
		"group, an older word is heard when it is back": {complete, History{Group: lately(1, 0, members(3, slices.Concat(
			allRead, again[:2], []GroupEvent{said("a", group.Committed, 3, ""), said("b", group.Closed, 0, ""),
				said("c", group.Assigned, 0, ""), said("c", group.Record, 1, "0.1"), said("c", group.Committed, 3, "")})...))}, ""},
		"group, another record": {complete, History{Group: members(-1, assigned, first, said("a", group.Record, 1, "0.2"), third)}, "where 0.1 is stored"},
	} {
		t.Run(name, func(t *testing.T) {
			h := test.h
			for partition := range strings.SplitSeq(test.log, "|") {
				h.Log = append(h.Log, stored(partition))
			}
			if h.Producers == nil {
				h.Producers = one(Once)
			}
			faults := Check(&h).Faults
			switch {
			case test.faults == "" && len(faults) > 0:
				t.Errorf("found %q", faults)
			case test.faults != "" && (len(faults) != 1 || !strings.Contains(faults[0], test.faults)):
				t.Errorf("found %q, want one with %q", faults, test.faults)
			}
		})
	}
}

// Many faults of one kind are told once and counted.
func TestCheckCounts(t *testing.T) {
	h := History{Producers: []ProducerHistory{{Sent: 100}}, Log: [][]Stored{{}}}
	for n := range 100 {
		h.Producers[0].Acks = append(h.Producers[0].Acks, Ack{Number: n, Offset: int64(n)})
	}
	got := Check(&h)
	if n := len(got.Faults); n != mostFaults+1 || got.Faults[n-1] != "... and 90 more like these" {
		t.Errorf("%q", got.Faults)
	}
	if got.Acked != 100 {
		t.Errorf("%d acked", got.Acked)
	}
}

func TestValue(t *testing.T) {
	for _, size := range []int{0, 1, 7, 300} {
		id := ID{Producer: 3, Number: 12}
		text := value(id, size)
		if diff := cmp.Diff(Stored{ID: id}, parse(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		text[len(text)-1] ^= 1
		if got := parse(text); size > 0 && got.Foreign == "" {
			t.Errorf("%s passes for %v", text, got)
		}
	}
}
