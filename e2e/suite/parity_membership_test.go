// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// member is one of a group.
type member struct {
	group, id  string
	generation int32
}

// The timeouts of members; no script lasts as long.
const parityTimeout = 60_000 // ms

// joinRequest is a consumer's that knows two protocols.
func joinRequest(version int16, group, id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = version, group, id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = parityTimeout, parityTimeout
	req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", "m1"), protocol("roundrobin", "m2")}
	return req
}

func protocol(name, metadata string) kmsg.JoinGroupRequestProtocol {
	return kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(metadata)}
}

// subscription is the metadata of a consumer of topics, as ConsumerProtocolSubscription 0 has it.
func subscription(topics ...string) string {
	b := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(len(topics)))
	for _, topic := range topics {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(topic))), topic...)
	}
	return string(binary.BigEndian.AppendUint32(b, 0)) // bytes of the user
}

// syncRequest brings assignments, as pairs of a member's id and bytes.
func syncRequest(version int16, m member, assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = version, m.group, m.id, m.generation
	req.ProtocolType, req.Protocol = named("consumer"), named("range")
	for i := 0; i < len(assignments); i += 2 {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: assignments[i], MemberAssignment: []byte(assignments[i+1])})
	}
	return req
}

// leaveRequest names members; below version 3 there is one.
func leaveRequest(version int16, group string, ids ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = version, group
	for _, id := range ids {
		req.MemberID = id
		req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: id})
	}
	return req
}

func describeGroupsRequest(version int16, groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = version, groups
	return req
}

// The rest makes groups of members. None of that is written down.

// joins joins as a request says, and again with the id that it is given.
func (p *parity) joins(conn *clients.Raw, req *kmsg.JoinGroupRequest) member {
	p.t.Helper()
	answer := askRaw[*kmsg.JoinGroupResponse](p.t, conn, req)
	if answer.ErrorCode == kerr.MemberIDRequired.Code {
		req.MemberID = answer.MemberID
		answer = askRaw[*kmsg.JoinGroupResponse](p.t, conn, req)
	}
	if answer.ErrorCode != 0 {
		p.t.Fatalf("joining %s: code %d", req.Group, answer.ErrorCode)
	}
	p.know(answer.MemberID)
	return member{req.Group, answer.MemberID, answer.Generation}
}

// know numbers a member's id that is not in an answer that is written.
func (p *parity) know(id string) { p.named(`MemberID="` + id + `"`) }

// assigned ends the rebalance of a group of one.
func (p *parity) assigned(m member, protocolType string) member {
	p.t.Helper()
	sync := syncRequest(5, m, m.id, "assigned")
	sync.ProtocolType = &protocolType
	if code := askRaw[*kmsg.SyncGroupResponse](p.t, p.conn, sync).ErrorCode; code != 0 {
		p.t.Fatalf("assigning in %s: code %d", m.group, code)
	}
	return m
}

// completing is the member of a group of one that has not been assigned anything.
func (p *parity) completing(alias string) member {
	p.t.Helper()
	m := p.joins(p.conn, joinRequest(5, p.group(alias), ""))
	p.awaitState(m.group, "CompletingRebalance")
	return m
}

// stable is the member of a group of one that subscribes to topics, or says nothing about them.
func (p *parity) stable(alias string, topics ...string) member {
	p.t.Helper()
	req := joinRequest(5, p.group(alias), "")
	if len(topics) > 0 {
		req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", subscription(topics...))}
	}
	return p.assigned(p.joins(p.conn, req), "consumer")
}

// stableOf is the member of a group of one of another type.
func (p *parity) stableOf(alias, protocolType string) member {
	p.t.Helper()
	req := joinRequest(5, p.group(alias), "")
	req.ProtocolType = protocolType
	return p.assigned(p.joins(p.conn, req), protocolType)
}

// stableStatic is the member of a group of one whose place outlives it (KIP-345).
func (p *parity) stableStatic(alias, instance string) member {
	p.t.Helper()
	req := joinRequest(5, p.group(alias), "")
	req.InstanceID = &instance
	return p.assigned(p.joins(p.conn, req), "consumer")
}

// pending has an id and has not joined with it.
func (p *parity) pending(alias string) member {
	p.t.Helper()
	group := p.group(alias)
	id := askRaw[*kmsg.JoinGroupResponse](p.t, p.conn, joinRequest(5, group, "")).MemberID
	p.know(id)
	p.awaitState(group, "Empty")
	return member{group, id, -1}
}

// preparing is the member of a group that is to join again, since another one has come, who waits. The second is that one,
// and its connection.
func (p *parity) preparing(alias string) (member, func() member) {
	p.t.Helper()
	return p.joinedBy(p.stable(alias))
}

// joinedBy adds a member to a group: it waits until those who are there have joined again.
func (p *parity) joinedBy(m member) (member, func() member) {
	p.t.Helper()
	conn := p.other()
	join := joinRequest(5, m.group, "")
	join.MemberID = askRaw[*kmsg.JoinGroupResponse](p.t, conn, join).MemberID
	p.know(join.MemberID)
	if err := conn.Send(within(p.t, limit), join); err != nil {
		p.t.Fatal(err)
	}
	p.awaitState(m.group, "PreparingRebalance")
	return m, func() member {
		p.t.Helper()
		resp, err := conn.Receive(within(p.t, limit))
		if err != nil {
			p.t.Fatal(err)
		}
		answer := resp.(*kmsg.JoinGroupResponse)
		if answer.ErrorCode != 0 {
			p.t.Fatalf("joining %s: code %d", m.group, answer.ErrorCode)
		}
		return member{m.group, answer.MemberID, answer.Generation}
	}
}

// pair is a group of a leader and a follower who have not been assigned anything.
func (p *parity) pair(alias string) (leader, follower member) {
	p.t.Helper()
	first, joined := p.joinedBy(p.completing(alias))
	leader = p.joins(p.conn, joinRequest(5, first.group, first.id))
	return leader, joined()
}

// allLeave empties a group.
func (p *parity) allLeave(group string, ids ...string) {
	p.t.Helper()
	p.quietly(leaveRequest(4, group, ids...))
	p.awaitState(group, "Empty")
}

// awaitState waits until a group is told to be in a state: a broker tells what it has stored.
func (p *parity) awaitState(group, state string) {
	p.t.Helper()
	if !await(p.t, func() bool {
		return askRaw[*kmsg.DescribeGroupsResponse](p.t, p.conn, describeGroupsRequest(5, group)).Groups[0].State == state
	}) {
		p.t.Fatalf("%s does not come to be %s", group, state)
	}
}
