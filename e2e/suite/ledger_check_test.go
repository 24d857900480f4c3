// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
)

// TestLedger shows that what would be wrong is found, and nothing else.
func TestLedger(t *testing.T) {
	type said struct {
		member string
		event  group.Event
	}
	assigned := func(member string, partitions ...int) said {
		return said{member, group.Event{Kind: group.Assigned, Partitions: partitions}}
	}
	revoked := func(member string, partitions ...int) said {
		return said{member, group.Event{Kind: group.Revoked, Partitions: partitions}}
	}
	record := func(member string, offset int64, value string) said {
		return said{member, group.Event{Kind: group.Record, Offset: offset, Value: value}}
	}
	committed := func(member string, next int64) said {
		return said{member, group.Event{Kind: group.Committed, Offsets: map[int]int64{0: next}}}
	}
	for name, test := range map[string]struct {
		said  []said
		fault string // a part of the only one, or none
	}{
		"in order": {[]said{assigned("a", 0), record("a", 0, "x"), record("a", 1, "y"), committed("a", 2), record("a", 2, "z")}, ""},
		"handed over": {[]said{
			assigned("a", 0), record("a", 0, "x"), committed("a", 1), revoked("a", 0), assigned("b", 0), record("b", 1, "y"),
		}, ""},
		"again what was not committed": {[]said{
			assigned("a", 0), record("a", 0, "x"), committed("a", 1), record("a", 1, "y"), revoked("a", 0),
			assigned("b", 0), record("b", 1, "y"), record("b", 2, "z"),
		}, ""},
		"a commit that is told late": {[]said{
			assigned("a", 0), record("a", 0, "x"), revoked("a", 0), assigned("b", 0), record("b", 0, "x"), committed("a", 1),
		}, ""},
		"not assigned": {[]said{assigned("a", 1), record("a", 0, "x")}, "does not have"},
		"revoked":      {[]said{assigned("a", 0), record("a", 0, "x"), revoked("a", 0), record("a", 1, "y")}, "does not have"},
		"a gap":        {[]said{assigned("a", 0), record("a", 0, "x"), record("a", 2, "z")}, "reads 2 of partition 0 after 0"},
		"twice":        {[]said{assigned("a", 0), record("a", 0, "x"), record("a", 0, "x")}, "reads 0 of partition 0 after 0"},
		"skipped": {[]said{
			assigned("a", 0), record("a", 0, "x"), committed("a", 1), revoked("a", 0), assigned("b", 0), record("b", 2, "z"),
		}, "though nobody has read 1"},
		"again what was committed": {[]said{
			assigned("a", 0), record("a", 0, "x"), committed("a", 1), revoked("a", 0), assigned("b", 0), record("b", 0, "x"),
		}, "though all before 1 is committed"},
		"another value": {[]said{
			assigned("a", 0), record("a", 0, "x"), revoked("a", 0), assigned("b", 0), record("b", 0, "other"),
		}, "where another read"},
		"committed before it was read": {[]said{assigned("a", 0), record("a", 0, "x"), committed("a", 2)}, "not all is delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(2)
			members := map[string]func(group.Event){"a": l.join("a"), "b": l.join("b")}
			for _, s := range test.said {
				members[s.member](s.event)
			}
			faults := l.found()
			switch {
			case test.fault == "" && len(faults) > 0:
				t.Errorf("found %q", faults)
			case test.fault != "" && (len(faults) != 1 || !strings.Contains(faults[0], test.fault)):
				t.Errorf("found %q, want one with %q", faults, test.fault)
			}
		})
	}
}

func TestLedgerSettled(t *testing.T) {
	for name, test := range map[string]struct {
		a, b    []int // assigned
		settled bool
	}{
		"shared":      {[]int{0, 2}, []int{1, 3}, true},
		"twice":       {[]int{0, 2}, []int{2, 3}, false},
		"not all":     {[]int{0, 2}, []int{1}, false},
		"unequal":     {[]int{0, 1, 2}, []int{3}, false},
		"not the two": {[]int{0, 1, 2, 3}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(4)
			l.join("a")(group.Event{Kind: group.Assigned, Partitions: test.a})
			l.join("b")(group.Event{Kind: group.Assigned, Partitions: test.b})
			l.join("gone")
			if got := l.settled("a", "b"); got != test.settled {
				t.Errorf("settled %v, want %v", got, test.settled)
			}
		})
	}
}
