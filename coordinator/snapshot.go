// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import "time"

// save writes the group at rest.
func (g *Group) save(s Snapshot, end func(now time.Time, err error)) {
	g.write(end, GroupSaved{s})
	g.lastSave = g.lastWrite
}

// snapshot returns the group at rest, with its members as they are now.
func (g *Group) snapshot() Snapshot {
	s := Snapshot{Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leaderID()}
	if len(g.members) == 0 {
		s.EmptySince = g.emptySince
	}
	for _, m := range g.members {
		s.Members = append(s.Members, MemberSnapshot{
			MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			SessionTimeout: m.sessionTimeout, RebalanceTimeout: m.rebalanceTimeout,
			Protocols: m.protocols, Topics: m.topics, Assignment: m.assignment,
		})
	}
	return s
}

// Restore applies a change that was made durable earlier. It is for new groups only, before the first Step; after the
// last change Resume must follow.
func (g *Group) Restore(change Change) {
	switch c := change.(type) {
	case GroupSaved:
		g.restoreSnapshot(&c.Snapshot)
	case GroupRemoved:
		g.restoreSnapshot(&Snapshot{})
		g.dropOffsets()
		g.die("")
	default:
		g.applyOffset(time.Time{}, change)
	}
	// Timers wait for Resume.
	g.effects, g.wakeAt = nil, time.Time{}
}

func (g *Group) restoreSnapshot(s *Snapshot) {
	for len(g.members) > 0 {
		g.remove(g.members[0], "")
	}
	g.generation, g.protocolType, g.protocol, g.emptySince = s.Generation, s.ProtocolType, s.Protocol, s.EmptySince
	for _, m := range s.Members {
		if g.byID[m.MemberID] != nil {
			continue // only one can be removed again
		}
		g.insert(&member{
			id: m.MemberID, instanceID: m.InstanceID, clientID: m.ClientID, clientHost: m.ClientHost,
			sessionTimeout: m.SessionTimeout, rebalanceTimeout: m.RebalanceTimeout,
			protocols: m.Protocols, topics: m.Topics, assignment: m.Assignment,
		})
	}
	if len(g.members) == 0 {
		g.moveTo(Empty, "")
		return
	}
	g.leader = g.byID[s.Leader]
	if g.leader == nil {
		g.leader = g.members[0]
	}
	g.moveTo(Stable, "")
}

// Resume starts the timers of a restored group: every member has a whole session to be heard of.
func (g *Group) Resume(now time.Time) {
	if g.state == Dead {
		return
	}
	for _, m := range g.members {
		g.touch(now, m)
	}
	g.checkAt = g.wake(now.Add(g.cfg.CheckInterval))
}
