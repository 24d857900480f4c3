// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"fmt"
	"time"
)

func (g *Group) join(now time.Time, j *Join) {
	if err := g.mayJoin(j); err != nil {
		g.refuseJoin(j.Request, j.MemberID, err)
		return
	}
	switch {
	case j.MemberID != "":
		g.joinKnown(now, j)
	case j.InstanceID != "":
		if old := g.byInstance[j.InstanceID]; old != nil {
			g.replaceStatic(now, old, j)
			return
		}
		g.joinNew(now, j, j.InstanceID+"-"+j.Unique)
	case j.RequireMemberID:
		g.giveID(now, j)
	default:
		g.joinNew(now, j, j.ClientID+"-"+j.Unique)
	}
}

func (g *Group) refuseJoin(request RequestID, memberID string, err error) {
	g.reply(request, JoinResult{MemberID: memberID, Generation: -1}, err)
}

// mayJoin makes the checks that do not depend on the state of the member.
func (g *Group) mayJoin(j *Join) error {
	size := 0
	for _, p := range j.Protocols {
		size += len(p.Name) + len(p.Metadata)
	}
	switch {
	case g.id == "":
		return ErrInvalidGroupID
	case j.SessionTimeout < g.cfg.MinSessionTimeout || j.SessionTimeout > g.cfg.MaxSessionTimeout:
		return ErrInvalidSessionTimeout
	case len(j.Protocols) > g.cfg.MaxProtocols:
		return fmt.Errorf("%w: %d protocols", ErrInvalidRequest, len(j.Protocols))
	case size > g.cfg.MaxMemberMetadata:
		return fmt.Errorf("%w: %d bytes of member metadata", ErrInvalidRequest, size)
	case g.state == Dead && j.MemberID != "":
		return ErrUnknownMemberID
	}
	if err := g.mayGrow(j); err != nil {
		return err
	}
	if !g.sharesProtocol(j) {
		return ErrInconsistentGroupProtocol
	}
	return nil
}

// mayGrow refuses a member more than there may be.
func (g *Group) mayGrow(j *Join) error {
	known := g.byID[j.MemberID] != nil || g.indexPending(j.MemberID) >= 0 ||
		j.MemberID == "" && g.byInstance[j.InstanceID] != nil
	switch {
	case known:
		return nil
	case len(g.members)+len(g.pending) >= g.cfg.MaxGroupSize:
		return ErrGroupMaxSizeReached
	case g.usage.members >= g.cfg.MaxMembers:
		return fmt.Errorf("%w: %d members in all groups", ErrNotAvailable, g.usage.members)
	}
	return g.mayCreate()
}

// giveID makes a client join again with an id, so that one whose first answer gets lost does not leave a member behind
// that nobody is (KIP-394).
func (g *Group) giveID(now time.Time, j *Join) {
	g.create(now, "first member")
	id := j.ClientID + "-" + j.Unique
	g.pending = append(g.pending, pendingID{id, g.wake(now.Add(j.SessionTimeout))})
	g.usage.members++
	g.refuseJoin(j.Request, id, ErrMemberIDRequired)
}

// joinNew adds a member and has it wait for the next generation.
func (g *Group) joinNew(now time.Time, j *Join, id string) {
	g.create(now, "first member")
	if len(g.members) == 0 {
		g.protocolType = j.ProtocolType
	}
	m := &member{id: id, instanceID: j.InstanceID, first: true}
	m.adopt(j)
	g.insert(m)
	m.waitingJoin = j.Request
	m.expiresAt = g.wake(now.Add(g.cfg.FirstJoinTimeout))
	if g.initial != nil {
		g.initial.grown = true
	}
	g.rebalanceOrCompleteJoin(now, "member "+id+" joined")
}

// joinKnown is a join with a member id.
func (g *Group) joinKnown(now time.Time, j *Join) {
	if j.InstanceID == "" && g.dropPending(j.MemberID) {
		g.joinNew(now, j, j.MemberID)
		return
	}
	m, err := g.member(j.MemberID, j.InstanceID)
	if err != nil {
		g.refuseJoin(j.Request, j.MemberID, err)
		return
	}
	// A member that missed the answer to its join, or a follower that asks again without need, learns the current
	// generation. The leader of a stable group asks because it wants to assign anew.
	settled := g.state == CompletingRebalance || g.state == Stable && m != g.leader
	if settled && m.sameProtocols(j.Protocols) {
		g.touch(now, m)
		g.reply(j.Request, g.joinResult(m), nil)
		return
	}
	m.adopt(j)
	g.awaitJoin(now, m, j.Request)
	g.rebalanceOrCompleteJoin(now, "member "+m.id+" joined again")
}

// replaceStatic gives the place of a static member to a client that comes with its instance id and no member id, as after
// a restart (KIP-345). Whoever held it is fenced.
func (g *Group) replaceStatic(now time.Time, m *member, j *Join) {
	leaderBefore := g.leaderID()
	g.answerWaiting(m, ErrFencedInstanceID)
	delete(g.byID, m.id)
	m.id = j.InstanceID + "-" + j.Unique
	g.byID[m.id] = m
	m.adopt(j)
	if m.first {
		m.expiresAt = g.wake(now.Add(g.cfg.FirstJoinTimeout))
	}
	if g.state != Stable || g.vote() != g.protocol {
		g.awaitJoin(now, m, j.Request)
		// In CompletingRebalance the leader may be assigning to the old id, so the join has to start over.
		g.rebalanceOrCompleteJoin(now, "static member "+m.id+" came back")
		return
	}
	// The group goes on with the generation and the assignments it has. If this is the leader, it must not assign them
	// anew: KIP-814 tells it so; older clients are told that the leader is somebody else, and take the stored
	// assignment as followers (KAFKA-8500 and its follow-ups).
	g.touch(now, m)
	result := g.joinResult(m)
	result.SkipAssignment = m == g.leader && j.SkipAssignment
	if !j.SkipAssignment {
		result.Leader, result.Members = leaderBefore, nil
	}
	request, instanceID := j.Request, j.InstanceID
	g.save(g.snapshot(), func(_ time.Time, err error) {
		if err == nil {
			// It may have been removed or replaced meanwhile.
			_, err = g.member(result.MemberID, instanceID)
		}
		if err != nil {
			g.refuseJoin(request, result.MemberID, err)
			return
		}
		g.reply(request, result, nil)
	})
}

// awaitJoin has a member wait for the next generation. If an earlier join of it waits, its client has given that up.
func (g *Group) awaitJoin(now time.Time, m *member, request RequestID) {
	if m.waitingJoin != 0 {
		g.refuseJoin(m.waitingJoin, m.id, ErrRebalanceInProgress)
	}
	m.waitingJoin = request
	g.touch(now, m)
}

// joinResult is the answer to a join of the current generation.
func (g *Group) joinResult(m *member) JoinResult {
	r := JoinResult{
		MemberID: m.id, Generation: g.generation,
		ProtocolType: g.protocolType, ProtocolName: g.protocol,
		Leader: g.leaderID(),
	}
	if m == g.leader {
		r.Members = make([]JoinedMember, len(g.members))
		for i, o := range g.members {
			r.Members[i] = JoinedMember{MemberID: o.id, InstanceID: o.instanceID, Metadata: o.metadata(g.protocol)}
		}
	}
	return r
}

func (g *Group) leaderID() string {
	if g.leader == nil {
		return ""
	}
	return g.leader.id
}
