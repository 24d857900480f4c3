// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"slices"
	"time"
)

// initialDelay is how an Empty group gathers its first members (KIP-134).
type initialDelay struct {
	// grown says that somebody joined since the delay was last set.
	grown bool
	// left is how much longer the group may go on waiting.
	left time.Duration
}

// rebalanceOrCompleteJoin starts a rebalance, or looks whether the running one has everybody.
func (g *Group) rebalanceOrCompleteJoin(now time.Time, reason string) {
	if g.state == PreparingRebalance {
		g.completeJoinIfAllJoined(now)
		return
	}
	g.prepareRebalance(now, reason)
}

func (g *Group) prepareRebalance(now time.Time, reason string) {
	if g.state == CompletingRebalance {
		g.dropAssignments(now, ErrRebalanceInProgress)
	}
	g.syncBy = time.Time{}
	wasEmpty := g.state == Empty
	g.moveTo(PreparingRebalance, reason)
	if wasEmpty {
		delay := g.cfg.InitialRebalanceDelay
		g.initial = &initialDelay{left: max(g.rebalanceTimeout()-delay, 0)}
		g.joinBy = g.wake(now.Add(delay))
		return
	}
	g.joinBy = g.wake(now.Add(g.rebalanceTimeout()))
	g.completeJoinIfAllJoined(now)
}

// dropAssignments ends CompletingRebalance without an assignment.
func (g *Group) dropAssignments(now time.Time, err error) {
	g.assigning = false
	for _, m := range g.members {
		m.assignment = nil
		g.answerSync(now, m, err)
	}
}

// completeJoinIfAllJoined ends the join phase if nobody is missing. The first one of an Empty group always lasts for its
// delay.
func (g *Group) completeJoinIfAllJoined(now time.Time) {
	if g.state != PreparingRebalance || g.initial != nil || len(g.pending) > 0 {
		return
	}
	if !slices.ContainsFunc(g.members, func(m *member) bool { return m.waitingJoin == 0 }) {
		g.completeJoin(now)
	}
}

// endJoin is the end of the time to join.
func (g *Group) endJoin(now time.Time) {
	if d := g.initial; d != nil && d.grown {
		more := min(g.cfg.InitialRebalanceDelay, d.left)
		d.grown = false
		d.left -= more
		g.joinBy = g.wake(now.Add(more))
		return
	}
	g.completeJoin(now)
}

// completeJoin begins the next generation with those that have joined.
func (g *Group) completeJoin(now time.Time) {
	for _, m := range slices.Clone(g.members) {
		if m.waitingJoin == 0 && m.instanceID == "" {
			g.remove(m, "did not join the rebalance")
		}
	}
	if !g.electLeader() && len(g.members) > 0 {
		// Only static members are left, none of them here. They have until their sessions end.
		g.joinBy = g.wake(now.Add(g.rebalanceTimeout()))
		return
	}
	g.joinBy, g.initial = time.Time{}, nil
	g.generation++
	if len(g.members) == 0 {
		g.becomeEmpty(now)
		return
	}
	g.protocol = g.vote()
	g.moveTo(CompletingRebalance, "all members joined")
	for _, m := range g.members {
		m.unsynced = true
		if m.waitingJoin != 0 {
			g.reply(m.waitingJoin, g.joinResult(m), nil)
			m.waitingJoin, m.first = 0, false
			g.touch(now, m)
		}
	}
	g.syncBy = g.wake(now.Add(g.rebalanceTimeout()))
}

// electLeader keeps the leader if it has joined; else the earliest member that has becomes it. It says whether there is one.
func (g *Group) electLeader() bool {
	if g.leader != nil && g.leader.waitingJoin != 0 {
		return true
	}
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.waitingJoin != 0 })
	if i < 0 {
		return false
	}
	g.leader = g.members[i]
	return true
}

func (g *Group) becomeEmpty(now time.Time) {
	g.protocol = ""
	g.emptySince = now
	g.moveTo(Empty, "no members left")
	// Nobody waits for this one: if it is lost, members that nobody is come back with the state, until their sessions end.
	g.save(g.snapshot(), func(time.Time, error) {})
}

// endSync is the end of the time to sync. A member that got its generation and never asks for its assignment would
// keep its partitions from being read.
func (g *Group) endSync(now time.Time) {
	g.syncBy = time.Time{}
	var late []*member
	for _, m := range g.members {
		if m.unsynced {
			late = append(late, m)
		}
	}
	g.removeMembers(now, "did not sync", late...)
}

// removeMembers removes members and lets the rest rebalance.
func (g *Group) removeMembers(now time.Time, reason string, gone ...*member) {
	if len(gone) == 0 {
		return
	}
	for _, m := range gone {
		g.remove(m, reason)
	}
	g.rebalanceOrCompleteJoin(now, "member "+gone[0].id+" "+reason)
}
