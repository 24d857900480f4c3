// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// check checks all invariants, those of each group and those of all together.
func (m *model) check() {
	m.t.Helper()
	var members, offsets, groups, waits, writes int
	for id, e := range m.gs.byID {
		g := e.Group
		m.checkGroup(g)
		m.checkWaiting(g)
		if g.state != Dead {
			groups++
		}
		members += len(g.members) + len(g.pending)
		offsets += len(g.offsets)
		topics := map[string]int{}
		for tp := range g.offsets {
			topics[tp.Topic]++
		}
		if !maps.Equal(topics, g.topics) {
			m.fail("%s: offsets by topic are %v, counted %v", id, g.topics, topics)
		}
		writes += len(g.unwritten)
		for _, o := range g.members {
			waits += count(o.waitingJoin != 0) + count(o.waitingSync != 0)
		}
		if len(g.unwritten) == 0 && m.steps%10 == 0 {
			m.checkStored(id, g)
		}
	}
	if got, want := (usage{groups, members, offsets}), m.gs.usage; got != want {
		m.fail("usage is %+v, counted %+v", want, got)
	}
	if members > m.gs.cfg.MaxMembers {
		m.fail("%d members", members)
	}
	// Each write answers at most one request.
	if len(m.waiting) < waits || len(m.waiting) > waits+writes {
		m.fail("%d requests wait for an answer, %d of members, %d writes", len(m.waiting), waits, writes)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("step %d, %v: "+format, append([]any{m.steps, m.now.UTC()}, args...)...)
}

func (m *model) checkGroup(g *Group) {
	m.t.Helper()
	if g.gone() {
		m.fail("%s is Dead and kept", g.id)
	}
	if g.generation < m.generations[g.id] {
		m.fail("%s went back from generation %d to %d", g.id, m.generations[g.id], g.generation)
	}
	m.generations[g.id] = g.generation

	if len(g.members)+len(g.pending) > g.cfg.MaxGroupSize {
		m.fail("%s has %d members and %d ids", g.id, len(g.members), len(g.pending))
	}
	instances := 0
	for _, o := range g.members {
		if g.byID[o.id] != o || o.instanceID != "" && g.byInstance[o.instanceID] != o {
			m.fail("%s: member %s is not indexed", g.id, o.id)
		}
		instances += count(o.instanceID != "")
	}
	if len(g.byID) != len(g.members) || len(g.byInstance) != instances {
		m.fail("%s: %d members, %d in the index; %d static ones, %d", g.id, len(g.members), len(g.byID), instances, len(g.byInstance))
	}
	if g.leader != nil && g.byID[g.leader.id] != g.leader {
		m.fail("%s is led by %s, who is no member", g.id, g.leader.id)
	}

	settled := g.state == CompletingRebalance || g.state == Stable
	switch {
	case settled && (len(g.members) == 0 || g.leader == nil || g.protocol == ""):
		m.fail("%s is %v without members, leader or protocol", g.id, g.state)
	case settled && !g.allSupport(g.protocol):
		m.fail("%s uses protocol %s, which not all know", g.id, g.protocol)
	case (g.state == Empty || g.state == Dead) && len(g.members) > 0:
		m.fail("%s is %v with members", g.id, g.state)
	case g.assigning && g.state != CompletingRebalance:
		m.fail("%s is assigning in %v", g.id, g.state)
	}
	m.checkTimers(g)
	if g.state == Stable {
		m.checkAssignments(g)
	}
}

// checkTimers checks that everything that can go wrong has an end, and that it will be noticed.
func (m *model) checkTimers(g *Group) {
	m.t.Helper()
	for _, o := range g.members {
		waits := o.waitingSync != 0 || o.waitingJoin != 0 && !o.first
		if o.expiresAt.IsZero() != waits {
			m.fail("%s: member %s waits: %v, expires: %v", g.id, o.id, waits, o.expiresAt)
		}
	}
	if (g.state == PreparingRebalance) == g.joinBy.IsZero() {
		m.fail("%s is %v, joins end %v", g.id, g.state, g.joinBy)
	}
	if (g.state == Empty || g.state == PreparingRebalance) && !g.syncBy.IsZero() {
		m.fail("%s is %v, syncs end %v", g.id, g.state, g.syncBy)
	}
	unsynced := slices.ContainsFunc(g.members, func(o *member) bool { return o.unsynced })
	if (g.state == CompletingRebalance || g.state == Stable) && unsynced && g.syncBy.IsZero() {
		m.fail("%s is %v with members that have not synced and no end to it", g.id, g.state)
	}
	if g.state != Dead && g.checkAt.IsZero() {
		m.fail("%s is never checked", g.id)
	}
	first := g.firstDeadline()
	switch {
	case first.at.IsZero():
		return
	case !first.at.After(m.now):
		m.fail("%s: overdue: %+v", g.id, first)
	case g.wakeAt.IsZero() || g.wakeAt.After(first.at):
		m.fail("%s wakes at %v, too late for %+v", g.id, g.wakeAt, first)
	}
	if at, ok := m.gs.NextDeadline(); !ok || at.After(first.at) {
		m.fail("all groups wake at %v, too late for %s: %+v", at, g.id, first)
	}
}

// checkAssignments checks that nobody owns what somebody else owns, and nobody anything that was not assigned.
func (m *model) checkAssignments(g *Group) {
	m.t.Helper()
	owner := map[byte]string{}
	for _, o := range g.members {
		for _, p := range o.assignment {
			if other, ok := owner[p]; ok {
				m.fail("%s, generation %d: %s and %s own partition %d", g.id, g.generation, other, o.id, p)
			}
			owner[p] = o.id
		}
	}
}

// checkWaiting checks that members wait where they may, for requests that are theirs and not answered.
func (m *model) checkWaiting(g *Group) {
	m.t.Helper()
	joined := 0
	for _, o := range g.members {
		if o.waitingJoin != 0 {
			joined++
			if _, ok := m.waiting[o.waitingJoin].event.(Join); !ok || g.state != PreparingRebalance {
				m.fail("%s, %v: %s waits for join %d", g.id, g.state, o.id, o.waitingJoin)
			}
		}
		if o.waitingSync != 0 {
			if _, ok := m.waiting[o.waitingSync].event.(Sync); !ok || g.state != CompletingRebalance {
				m.fail("%s, %v: %s waits for sync %d", g.id, g.state, o.id, o.waitingSync)
			}
		}
	}
	if g.state == PreparingRebalance && g.initial == nil && joined == len(g.members) && len(g.pending) == 0 {
		m.fail("%s: all have joined, and nothing happens", g.id)
	}
	if g.state == CompletingRebalance && g.leader.waitingSync != 0 && !g.assigning {
		m.fail("%s: the leader has assigned, and nothing happens", g.id)
	}
}

// checkLeader checks that a generation has one leader. A static one that comes back to it leads under another id, but
// assigns nothing.
func (m *model) checkLeader(group string, r JoinResult) {
	m.t.Helper()
	if r.Generation <= 0 || r.ProtocolName == "" {
		m.fail("%s: join answered with %+v", group, r)
	}
	if len(r.Members) == 0 || r.SkipAssignment {
		return
	}
	if r.Leader != r.MemberID || !slices.ContainsFunc(r.Members, func(o JoinedMember) bool { return o.MemberID == r.MemberID }) {
		m.fail("%s: members are shown to one who does not lead or is none: %+v", group, r)
	}
	key := modelGeneration{group, m.lives[group], r.Generation}
	if before, ok := m.leaders[key]; ok && before != r.Leader {
		m.fail("%s, generation %d: both %s and %s lead", group, r.Generation, before, r.Leader)
	}
	m.leaders[key] = r.Leader
}

// checkStored checks that what the store has is what the group is, if all writes have ended.
func (m *model) checkStored(id string, g *Group) {
	m.t.Helper()
	restored := NewGroup(id, g.cfg)
	err := m.store.Load(m.t.Context(), func(group string, c Change) error {
		if group == id {
			restored.Restore(c)
		}
		return nil
	})
	if err != nil {
		m.fail("load: %v", err)
	}
	restored.Resume(m.now)
	if diff := cmp.Diff(restored.offsets, g.offsets); diff != "" {
		m.fail("%s: offsets in the store (-) and the group (+) differ:\n%s", id, diff)
	}
	if m.unsaved[id] || g.state != Stable && (g.state != Empty || g.generation == 0) {
		return
	}
	if restored.state != g.state || len(restored.members) != len(g.members) || !maps.Equal(memberIDs(restored), memberIDs(g)) {
		m.fail("%s is %v with %v, restored %v with %v", id, g.state, memberIDs(g), restored.state, memberIDs(restored))
	}
	if diff := cmp.Diff(restored.snapshot(), g.snapshot(), cmpopts.EquateEmpty()); diff != "" {
		m.fail("%s in the store (-) and itself (+) differ:\n%s", id, diff)
	}
}

func memberIDs(g *Group) map[string]bool {
	ids := map[string]bool{}
	for id := range g.byID {
		ids[id] = true
	}
	return ids
}
