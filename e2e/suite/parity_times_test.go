// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// What coordinators do by themselves, when members stay away too long.
const (
	shortSession   = 6_000 // ms, the shortest that a broker allows
	shortRebalance = 2_000
)

// testParityTimes compares what members are told once their time is over. It takes as long as a session, so not every kind
// of target is put through it.
func testParityTimes(t *testing.T, target *harness.Target) {
	if !slowClients(target) {
		t.Skip("takes the time of a session")
	}
	s := newTranscript(t, target)
	p := &parity{transcript: s, topic: s.create("topic", 2)}
	awaitCoordinator(t, s.conn, p.topic.name)
	ended := p.endedSessions()
	p.neverJoinsAgain()
	p.neverSyncs()
	p.leaderNeverSyncs()
	ended()
	s.compare("parity/groups-over-time")
}

func beat(m member) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, m.group, m.id, m.generation
	return req
}

// short is a join whose rebalances wait for nobody long.
func short(group string) *kmsg.JoinGroupRequest {
	req := joinRequest(5, group, "")
	req.RebalanceTimeoutMillis = shortRebalance
	return req
}

// endedSessions begins with a member, a static one and one that has an id alone, and hears of none of them until their
// sessions are over.
func (p *parity) endedSessions() (ended func()) {
	p.t.Helper()
	begin := func(alias string, instance *string) member {
		join := joinRequest(5, p.group(alias), "")
		join.SessionTimeoutMillis, join.InstanceID = shortSession, instance
		return p.assigned(p.joins(p.conn, join), "consumer")
	}
	silent, static := begin("silent", nil), begin("silent, static", named("instance"))
	pending := joinRequest(5, p.group("pending"), "")
	pending.SessionTimeoutMillis = shortSession
	pending.MemberID = askRaw[*kmsg.JoinGroupResponse](p.t, p.conn, pending).MemberID
	p.know(pending.MemberID)
	return func() {
		p.t.Helper()
		for _, m := range []member{silent, static} {
			p.awaitState(m.group, "Empty")
			p.ask("the session is over", beat(m))
			commit := p.commit(m.group, p.topic.name, 1)
			commit.Version, commit.MemberID, commit.Generation = 8, m.id, m.generation
			p.ask("it commits all the same", commit)
			p.ask("its group", describeGroupsRequest(5, m.group))
		}
		again := joinRequest(5, static.group, "")
		again.InstanceID = named("instance")
		p.ask("the static member comes back too late", again)
		p.ask("who comes with an id that is too old", pending)
	}
}

// neverJoinsAgain: who does not come when others join is left behind.
func (p *parity) neverJoinsAgain() {
	p.t.Helper()
	first := p.assigned(p.joins(p.conn, short(p.group("left behind"))), "consumer")
	conn, join := p.other(), short(first.group)
	join.MemberID = askRaw[*kmsg.JoinGroupResponse](p.t, conn, join).MemberID
	resp, err := conn.Ask(within(p.t, limit), join)
	p.note("who has waited for the first", join, resp, err)
	p.ask("the first", beat(first))
	p.ask("their group", describeGroupsRequest(5, first.group))
}

// late is a group of two that have joined.
func (p *parity) late(alias string) (leader, follower member) {
	p.t.Helper()
	first := p.joins(p.conn, short(p.group(alias)))
	conn, join := p.other(), short(first.group)
	join.MemberID = askRaw[*kmsg.JoinGroupResponse](p.t, conn, join).MemberID
	p.know(join.MemberID)
	if err := conn.Send(within(p.t, limit), join); err != nil {
		p.t.Fatal(err)
	}
	p.awaitState(first.group, "PreparingRebalance")
	again := short(first.group)
	again.MemberID = first.id
	leader = p.joins(p.conn, again)
	resp, err := conn.Receive(within(p.t, limit))
	if err != nil {
		p.t.Fatal(err)
	}
	return leader, member{first.group, join.MemberID, resp.(*kmsg.JoinGroupResponse).Generation}
}

// neverSyncs: who has joined and does not ask for its partitions is left behind, too.
func (p *parity) neverSyncs() {
	p.t.Helper()
	leader, follower := p.late("follower late")
	p.ask("the leader assigns", syncRequest(5, leader, leader.id, "mine"))
	p.awaitState(leader.group, "PreparingRebalance")
	p.ask("the leader", beat(leader))
	p.ask("the follower, who never asked", beat(follower))
	p.ask("their group", describeGroupsRequest(5, leader.group))
}

// leaderNeverSyncs: a leader is, as well.
func (p *parity) leaderNeverSyncs() {
	p.t.Helper()
	leader, follower := p.late("leader late")
	p.ask("the follower, who has waited for the leader", syncRequest(5, follower))
	p.ask("the leader, who never assigned", beat(leader))
	p.ask("the follower", beat(follower))
	p.ask("their group", describeGroupsRequest(5, leader.group))
}
