// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"bytes"
	"slices"
	"time"
)

// member is one member of a classic group.
type member struct {
	id, instanceID, clientID, clientHost string
	sessionTimeout, rebalanceTimeout     time.Duration
	protocols                            []Protocol
	topics                               []string
	assignment                           []byte

	// waitingJoin and waitingSync are the requests that wait for an answer, or zero.
	waitingJoin, waitingSync RequestID
	// first is set until the member's first join is answered.
	first bool
	// unsynced is set from the end of the join until the member syncs.
	unsynced bool
	// expiresAt ends the session; it is zero while the member waits, because it cannot heartbeat then.
	expiresAt time.Time
}

// adopt takes over what a join says about the member.
func (m *member) adopt(j *Join) {
	m.clientID, m.clientHost = j.ClientID, j.ClientHost
	m.sessionTimeout, m.rebalanceTimeout = j.SessionTimeout, j.RebalanceTimeout
	if m.rebalanceTimeout <= 0 {
		m.rebalanceTimeout = j.SessionTimeout
	}
	m.topics = slices.Clone(j.Topics)
	m.protocols = make([]Protocol, len(j.Protocols))
	for i, p := range j.Protocols {
		m.protocols[i] = Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)}
	}
}

// sameProtocols says that the member already is what the join says.
func (m *member) sameProtocols(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

func (m *member) supports(protocol string) bool {
	return slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
}

// metadata returns what the member says about a protocol, nil if it does not know it.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// member finds who a request speaks for (ClassicGroup.validateMember). With an instance id it must be the member that
// holds it; without, the right member id is enough, for a static member too.
func (g *Group) member(memberID, instanceID string) (*member, error) {
	if instanceID != "" {
		switch holder := g.byInstance[instanceID]; {
		case holder == nil:
			return nil, ErrUnknownMemberID
		case holder.id != memberID:
			return nil, ErrFencedInstanceID
		}
	}
	m := g.byID[memberID]
	if m == nil {
		return nil, ErrUnknownMemberID
	}
	return m, nil
}

// insert adds a member whose id is new.
func (g *Group) insert(m *member) {
	g.members = append(g.members, m)
	g.byID[m.id] = m
	if m.instanceID != "" {
		g.byInstance[m.instanceID] = m
	}
	g.usage.members++
}

// remove takes a member out of the group, without thought for a rebalance. Its waiting requests are answered, so that a
// client that still lives starts over.
func (g *Group) remove(m *member, reason string) {
	g.answerWaiting(m, ErrUnknownMemberID)
	g.members = slices.DeleteFunc(g.members, func(o *member) bool { return o == m })
	delete(g.byID, m.id)
	if m.instanceID != "" {
		delete(g.byInstance, m.instanceID)
	}
	if g.leader == m {
		g.leader = nil
	}
	g.usage.members--
	g.emit(MemberRemoved{Group: g.id, MemberID: m.id, Reason: reason})
}

// answerWaiting refuses the member's waiting requests.
func (g *Group) answerWaiting(m *member, err error) {
	if m.waitingJoin != 0 {
		g.refuseJoin(m.waitingJoin, m.id, err)
		m.waitingJoin = 0
	}
	g.refuseWaitingSync(m, err)
}

func (g *Group) refuseWaitingSync(m *member, err error) {
	if m.waitingSync != 0 {
		g.reply(m.waitingSync, SyncResult{}, err)
		m.waitingSync = 0
	}
}

// touch starts the member's session anew, or stops it while the member waits for an answer.
func (g *Group) touch(now time.Time, m *member) {
	switch {
	case m.waitingJoin != 0 && m.first:
		// Its time to wait was set when it came, and nothing it does afterwards prolongs it.
	case m.waitingJoin != 0 || m.waitingSync != 0:
		m.expiresAt = time.Time{}
	default:
		m.expiresAt = g.wake(now.Add(m.sessionTimeout))
	}
}

// rebalanceTimeout is how long the group waits for its slowest member.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// sharesProtocol says that a join fits the group: its type is the group's, and one of its protocols is known to all
// members. A member that joins again counts with what it said before (ClassicGroup.supportsProtocols).
func (g *Group) sharesProtocol(j *Join) bool {
	if len(g.members) == 0 {
		return j.ProtocolType != "" && len(j.Protocols) > 0
	}
	return j.ProtocolType == g.protocolType && slices.ContainsFunc(j.Protocols, func(p Protocol) bool { return g.allSupport(p.Name) })
}

func (g *Group) allSupport(protocol string) bool {
	return !slices.ContainsFunc(g.members, func(m *member) bool { return !m.supports(protocol) })
}

// vote returns the protocol of the next generation: each member votes for the first of its protocols that all know,
// most votes win, and among equals the leader's order decides, where Kafka leaves it open.
func (g *Group) vote() string {
	votes := map[string]int{}
	for _, p := range g.leader.protocols {
		if g.allSupport(p.Name) {
			votes[p.Name] = 0
		}
	}
	for _, m := range g.members {
		for _, p := range m.protocols {
			if _, candidate := votes[p.Name]; candidate {
				votes[p.Name]++
				break
			}
		}
	}
	var winner string
	for _, p := range g.leader.protocols {
		if votes[p.Name] > votes[winner] {
			winner = p.Name
		}
	}
	return winner
}

// subscribes says that a member subscribes to the topic, or may do so: of a consumer whose topics the caller could not
// read, everything is assumed.
func (g *Group) subscribes(topic string) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool {
		if m.topics == nil {
			return g.protocolType == consumerProtocolType
		}
		return slices.Contains(m.topics, topic)
	})
}

// consumerProtocolType is the protocol type whose members Kafka knows to subscribe to topics.
const consumerProtocolType = "consumer"
