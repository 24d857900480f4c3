// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// consumerProtocol is the protocol type of groups whose assignments are partitions (ConsumerProtocol).
const consumerProtocol = "consumer"

// fillGroups puts the groups in next, whose topics are there already: as they are, or as they were in last.
func (s *Source) fillGroups(ctx context.Context, next, last *Snapshot) {
	groups, err := s.readGroups(ctx, next)
	if err != nil {
		next.Groups, next.GroupsStatus = last.Groups, Status{last.GroupsStatus.AsOf, err}
		return
	}
	next.Groups, next.GroupsStatus.AsOf = groups, next.Time
}

// readGroups asks for some groups at a time, so that nobody who joins or commits waits for all of them.
func (s *Source) readGroups(ctx context.Context, next *Snapshot) ([]Group, error) {
	list, err := s.groups.List(ctx, coordinator.Filter{})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	groups := make([]Group, 0, len(list))
	room := MaxOffsets
	for len(ids) > 0 {
		var some []coordinator.Surveyed
		if some, ids, err = s.groups.Survey(ctx, ids); err != nil {
			return nil, err
		}
		for _, d := range some { // those that have gone since are not among them
			g := Group{ID: d.ID, Type: d.Type, State: d.State.String(), ProtocolType: d.ProtocolType, Protocol: d.Protocol}
			g.addMembers(d.Members)
			if g.OffsetsCut = len(d.Offsets) > room; g.OffsetsCut {
				d.Offsets = d.Offsets[:room]
			}
			room -= len(d.Offsets)
			g.addOffsets(d.Offsets, next)
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (g *Group) addMembers(members []coordinator.MemberDescription) {
	g.Members = make([]Member, len(members))
	for i, m := range members {
		g.Members[i] = Member{
			ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.ClientHost,
			assignment: m.Assignment, consumer: g.ProtocolType == consumerProtocol,
		}
	}
}

func (g *Group) addOffsets(offsets []coordinator.OffsetResult, s *Snapshot) {
	g.Offsets = make([]Offset, len(offsets))
	for i, o := range offsets {
		out := Offset{Topic: o.Topic, Partition: o.Partition, Committed: o.Offset, Start: -1, End: -1, Lag: -1}
		t, ok := s.Topic(o.Topic)
		if ok && (o.TopicID == "" || o.TopicID == t.ID.String()) && o.Partition >= 0 && int(o.Partition) < len(t.Partitions) {
			p := t.Partitions[o.Partition]
			out.Start, out.End = p.Start, p.End
			out.Lag = max(out.End-o.Offset, 0) // what was committed since the ends were learnt may lie behind them
			g.Lag += out.Lag
			g.LagKnown = true
		}
		g.Offsets[i] = out
	}
}
