// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"context"
	"slices"
)

// surveyTurn bounds what one Survey looks at, in groups, members and offsets together: the driver serves nobody meanwhile, some
// 40 µs. A group that has more by itself is looked at alone.
const surveyTurn = 250

// Surveyed is a group as Describe and Offsets show it, both of the same moment.
type Surveyed struct {
	ID, Type string
	Description
	Offsets []OffsetResult // all of the group, sorted
}

// Survey is for those who look at many groups: it describes as many of them, in their order, as can be looked at in a turn that
// nobody waits long for, and returns which are left. Without an error there are fewer of them each time. Groups that are not
// there are passed over.
func (d *Driver) Survey(ctx context.Context, groups []string) (some []Surveyed, rest []string, err error) {
	rest = groups
	some, err = read(ctx, d, func(gs *Groups) ([]Surveyed, error) {
		var some []Surveyed
		some, rest = gs.survey(groups)
		return some, nil
	})
	for _, s := range some {
		slices.SortFunc(s.Offsets, func(a, b OffsetResult) int { return a.Compare(b.TopicPartition) })
	}
	return some, rest, err
}

// survey leaves the offsets in any order: who calls Survey sorts them, in his own time.
func (gs *Groups) survey(groups []string) (some []Surveyed, rest []string) {
	looked := 0
	for i, id := range groups {
		e := gs.byID[id]
		there := e != nil && e.state != Dead
		looked++
		if there {
			looked += len(e.members) + len(e.offsets)
		}
		if looked > surveyTurn && i > 0 {
			return some, groups[i:]
		}
		if !there {
			continue
		}
		s := Surveyed{ID: id, Type: TypeClassic, Description: e.Describe(), Offsets: make([]OffsetResult, 0, len(e.offsets))}
		for tp, o := range e.offsets {
			s.Offsets = append(s.Offsets, OffsetResult{tp, o.TopicID, o.Position, o.LeaderEpoch, o.Metadata})
		}
		some = append(some, s)
	}
	return some, nil
}
