// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"bytes"
	"fmt"
	"time"
)

func (g *Group) sync(now time.Time, s *Sync) {
	m, err := g.maySync(s)
	if err != nil {
		g.reply(s.Request, SyncResult{}, err)
		return
	}
	m.unsynced = false
	if g.state == Stable {
		g.touch(now, m)
		g.reply(s.Request, g.syncResult(m), nil)
		return
	}
	// An earlier sync that waits has been given up by its client.
	g.refuseWaitingSync(m, ErrRebalanceInProgress)
	m.waitingSync = s.Request
	g.touch(now, m)
	if m == g.leader && !g.assigning {
		g.assign(s)
	}
}

// maySync finds the member and makes the checks of a sync, in Kafka's order.
func (g *Group) maySync(s *Sync) (*member, error) {
	if g.id == "" {
		return nil, ErrInvalidGroupID
	}
	m, err := g.member(s.MemberID, s.InstanceID)
	if err != nil {
		return nil, err
	}
	differs := func(sent, ours string) bool { return sent != ours && (sent != "" || s.RequireProtocol) }
	switch {
	case s.Generation != g.generation:
		return nil, ErrIllegalGeneration
	case g.state == PreparingRebalance:
		return nil, ErrRebalanceInProgress
	case differs(s.ProtocolType, g.protocolType) || differs(s.ProtocolName, g.protocol):
		return nil, ErrInconsistentGroupProtocol
	}
	for _, a := range s.Assignments {
		if len(a.Data) > g.cfg.MaxAssignment {
			return nil, fmt.Errorf("%w: assignment of %d bytes", ErrInvalidRequest, len(a.Data))
		}
	}
	return m, nil
}

// assign stores the leader's assignment; when it is durable, the generation begins to work.
func (g *Group) assign(s *Sync) {
	g.assigning = true
	generation := g.generation
	assignments := make(map[string][]byte, len(s.Assignments))
	for _, a := range s.Assignments {
		assignments[a.MemberID] = bytes.Clone(a.Data)
	}
	saved := g.snapshot()
	for i := range saved.Members {
		saved.Members[i].Assignment = assignments[saved.Members[i].MemberID]
	}
	g.save(saved, func(now time.Time, err error) {
		// A rebalance that began meanwhile has answered everybody and made the assignment worthless.
		if g.state != CompletingRebalance || g.generation != generation {
			return
		}
		if err != nil {
			g.dropAssignments(now, err)
			g.prepareRebalance(now, "assignment not stored")
			return
		}
		g.assigning = false
		g.moveTo(Stable, "leader assigned")
		for _, m := range g.members {
			m.assignment = assignments[m.id]
			g.answerSync(now, m, nil)
		}
	})
}

// answerSync ends a member's wait for its assignment, if it waits.
func (g *Group) answerSync(now time.Time, m *member, err error) {
	switch {
	case m.waitingSync == 0:
		return
	case err != nil:
		g.reply(m.waitingSync, SyncResult{}, err)
	default:
		g.reply(m.waitingSync, g.syncResult(m), nil)
	}
	m.waitingSync = 0
	g.touch(now, m)
}

func (g *Group) syncResult(m *member) SyncResult {
	return SyncResult{ProtocolType: g.protocolType, ProtocolName: g.protocol, Assignment: m.assignment}
}

func (g *Group) heartbeat(now time.Time, h *Heartbeat) {
	g.reply(h.Request, HeartbeatResult{}, g.beat(now, h))
}

func (g *Group) beat(now time.Time, h *Heartbeat) error {
	if g.id == "" {
		return ErrInvalidGroupID
	}
	m, err := g.member(h.MemberID, h.InstanceID)
	if err != nil {
		return err
	}
	if h.Generation != g.generation {
		return ErrIllegalGeneration
	}
	g.touch(now, m)
	if g.state == PreparingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

func (g *Group) leave(now time.Time, l *Leave) {
	if g.id == "" {
		g.reply(l.Request, LeaveResult{}, ErrInvalidGroupID)
		return
	}
	result := LeaveResult{Members: make([]Left, len(l.Members))}
	for i, who := range l.Members {
		result.Members[i] = Left{Identity: who, Err: g.leaveOne(now, who)}
	}
	g.reply(l.Request, result, nil)
}

func (g *Group) leaveOne(now time.Time, who Identity) error {
	if who.InstanceID == "" && g.dropPending(who.MemberID) {
		g.emit(MemberRemoved{Group: g.id, MemberID: who.MemberID, Reason: "left"})
		g.completeJoinIfAllJoined(now)
		return nil
	}
	if who.MemberID == "" {
		// An administrator removes a static member by its instance id alone.
		if holder := g.byInstance[who.InstanceID]; holder != nil {
			who.MemberID = holder.id
		}
	}
	m, err := g.member(who.MemberID, who.InstanceID)
	if err != nil {
		return err
	}
	g.removeMembers(now, "left", m)
	return nil
}
