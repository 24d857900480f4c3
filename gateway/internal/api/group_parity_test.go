// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// The answers about groups: rows of testdata/kafka-4.1.1-groups.jsonl, in which <NAME> stands for what the broker made up or
// the client sent. In these stories sessions and rebalances are a tenth of the broker's.

const (
	storyAssignment = "\x07\x07"
	shortSession    = 600  // ms; the broker's was 6 s
	shortRebalance  = 3000 // as the broker's: the stories go on before it is over
)

func newGroupParity(t *testing.T, chapter string) *parity {
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MinSessionTimeout = 100 * time.Millisecond }})
	gw.createTopic(t, "golden2", 4)
	gw.createTopic(t, "golden2-other", 4)
	gw.createTopic(t, "golden", 2)
	p := newParityOf(t, gw, "testdata/kafka-4.1.1-groups.jsonl", chapter)
	p.client.id = "golden2"
	for _, topic := range []string{"golden2", "golden2-other"} {
		p.names["<subscription of "+topic+">"] = base64.StdEncoding.EncodeToString(subscription(topic))
	}
	return p
}

// member is what a placeholder stands for.
func (p *parity) member(name string) string {
	id, ok := p.names["<"+name+">"]
	if !ok {
		p.Fatalf("nobody is called %s yet", name)
	}
	return id
}

// join is a JoinGroup v5 of one who subscribes to golden2; empty names have no id yet.
func (p *parity) join(group, name string) *kmsg.JoinGroupRequest {
	id := ""
	if name != "" {
		id = p.member(name)
	}
	return joinRequest(group, id, "golden2")
}

func (p *parity) heartbeat(group, name string, generation int32) *kmsg.HeartbeatRequest {
	return heartbeatRequest(group, p.member(name), generation)
}

func golden2At(offset int64) part { return part{topic: "golden2", offset: offset} }

func TestParityGroupsOdd(t *testing.T) {
	p := newGroupParity(t, "groups")
	p.client.id = "golden"
	join := func(group, member string) *kmsg.JoinGroupRequest { return joinRequest(group, member, "golden") }

	session := join("golden-group", "")
	session.SessionTimeoutMillis = 1
	p.row("session timeout 1 ms", session)
	p.row("unknown member id", join("golden-group", "nobody"))
	p.row("no protocols", withProtocols(join("golden-group", "")))
	first := withProtocols(join("golden-group", ""), protocol("range", []byte{}))
	first.Version = 3
	joined := p.row("first join, no member id (before v4: joins at once)", first).(*kmsg.JoinGroupResponse)
	pending := p.row("first join, no member id (another group)", join("golden-group2", "")).(*kmsg.JoinGroupResponse)
	other := join("golden-group", "")
	other.ProtocolType = "connect"
	p.row("another protocol type", other)
	p.row("no common protocol", withProtocols(join("golden-group", ""), protocol("sticky", nil)))

	heartbeat := func(member string, generation int32) *kmsg.HeartbeatRequest {
		req := heartbeatRequest("golden-group", member, generation)
		req.Version = 3
		return req
	}
	sync := func(generation int32, assignments ...string) *kmsg.SyncGroupRequest {
		req := syncRequest("golden-group", joined.MemberID, generation, assignments...)
		req.Version = 3
		return req
	}
	p.row("before SyncGroup", heartbeat(joined.MemberID, 1))
	p.row("unknown member", heartbeat("nobody", 1))
	p.row("wrong generation", heartbeat(joined.MemberID, 9))
	p.row("wrong generation", sync(9))
	p.row("good", sync(1, joined.MemberID, "\x00\x00"))
	p.row("good", heartbeat(joined.MemberID, 1))

	commit := func(group, member string, generation int32, parts part) *kmsg.OffsetCommitRequest {
		parts.topic = "golden"
		return commitRequest(8, group, member, generation, parts)
	}
	p.row("good", commit("golden-group", joined.MemberID, 1, part{offset: 1}))
	p.row("wrong generation", commit("golden-group", joined.MemberID, 9, part{offset: 1}))
	p.row("no member, group has members", commit("golden-group", "", -1, part{offset: 1}))

	claimed := withProtocols(join("golden-group2", pending.MemberID), protocol("range", []byte{}))
	if got := ask[*kmsg.JoinGroupResponse](p.client, claimed); got.ErrorCode != 0 {
		t.Fatalf("join: %+v", got)
	}
	p.row("group has members", deleteGroupsRequest(2, "golden-group2"))
	p.row("unknown member", leaveRequest(1, "golden-group2", "nobody"))
	p.row("unknown member", leaveRequest(4, "golden-group2", "nobody"))
	p.row("good", leaveRequest(4, "golden-group2", pending.MemberID))
	p.row("now empty", deleteGroupsRequest(2, "golden-group2"))

	p.row("no member, no group (simple consumer)", commit("golden-group3", "", -1, part{offset: 2}))
	p.row("beyond the log end", commit("golden-group3", "", -1, part{partition: 1, offset: 1000}))
	p.row("backwards", commit("golden-group3", "", -1, part{offset: 1}))
	p.row("negative offset", commit("golden-group3", "", -1, part{offset: -1}))
	p.row("missing partition", commit("golden-group3", "", -1, part{partition: 9}))
	p.row("metadata of 5000 bytes", commit("golden-group3", "", -1, part{metadata: kmsg.StringPtr(strings.Repeat("m", 5000))}))
	p.row("generation 3, group never seen", commit("golden-group4", "nobody", 3, part{offset: 1}))
	p.row("committed", committedRequest(5, "golden-group3", part{topic: "golden", partition: 1}))
	p.row("never committed", committedRequest(5, "golden-group4", part{topic: "golden"}))

	p.row("missing group", describeRequest(5, "golden-group5"))
	p.row("missing group", describeRequest(6, "golden-group5"))
	p.row("missing group", deleteGroupsRequest(2, "golden-group5"))
	p.row("good", deleteGroupsRequest(2, "golden-group3"))
}

func TestParityTwoMembers(t *testing.T) {
	p := newGroupParity(t, "two")
	const g = "golden2-two"
	describe := describeRequest(5, g)
	commit := func(name string, generation int32) *kmsg.OffsetCommitRequest {
		return commitRequest(8, g, p.member(name), generation, golden2At(1))
	}
	sync := func(name string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
		return syncRequest(g, p.member(name), generation, assignments...)
	}

	p.row("A joins without an id", p.join(g, ""))
	p.row("only a pending member", describe)
	p.row("pending member, generation -1", p.heartbeat(g, "A", -1))
	p.row("pending member, generation -1, Empty", commit("A", -1))
	p.row("pending member", sync("A", -1))
	p.row("A joins with its id", p.join(g, "A"))
	p.row("A in CompletingRebalance", commit("A", 1))
	p.row("A in CompletingRebalance", p.heartbeat(g, "A", 1))
	p.row("A joins again, same metadata, in CompletingRebalance", p.join(g, "A"))
	wrong := sync("A", 1)
	wrong.Protocol = kmsg.StringPtr("sticky")
	p.row("wrong protocol name", wrong)
	null := sync("A", 1)
	null.ProtocolType, null.Protocol = nil, nil
	p.row("protocol type and name null", null)
	p.row("leader syncs", sync("A", 1, p.member("A"), storyAssignment))
	p.row("leader syncs again with no assignment, Stable", sync("A", 1))
	p.row("Stable", describe)
	p.row("B joins without an id", p.join(g, ""))
	p.row("A while B's id is pending", p.heartbeat(g, "A", 1))

	joinB := p.park("B joined with its id, Stable group (answered after 6.3 s)", p.join(g, "B"))
	p.waitFor(describe, func(resp *kmsg.DescribeGroupsResponse) bool { return resp.Groups[0].State == "PreparingRebalance" })
	p.row("A in PreparingRebalance", p.heartbeat(g, "A", 1))
	p.row("A in PreparingRebalance", commit("A", 1))
	p.row("A in PreparingRebalance", sync("A", 1))
	p.row("PreparingRebalance", describe)
	never := p.join(g, "")
	never.SessionTimeoutMillis = shortSession
	p.row("C joins without an id (session 6 s) and never comes back", never)
	p.row("A rejoined; C's pending id held the barrier (answered after 6.0 s)", p.join(g, "A"))
	joinB()
	p.row("C after its pending id ran out", p.heartbeat(g, "C", -1))

	syncB := p.park("follower B synced before the leader", sync("B", 2))
	p.row("follower B while its SyncGroup waits", commit("B", 2))
	p.row("leader A syncs, only A assigned", sync("A", 2, p.member("A"), storyAssignment))
	syncB()
	p.row("follower B joins again, same metadata, Stable", p.join(g, "B"))
	p.row("B, older generation", p.heartbeat(g, "B", 1))
	p.row("in one request: B, an unknown member, B again", leaveRequest(4, g, p.member("B"), "nobody", p.member("B")))
	p.row("A after B left", p.heartbeat(g, "A", 2))
	p.row("A rejoins", p.join(g, "A"))
	p.row("A leaves from CompletingRebalance", leaveRequest(4, g, p.member("A")))
	p.row("now Empty", describe)
	p.row("A, Empty group", p.heartbeat(g, "A", 3))
	p.row("A with its old generation, Empty group", commit("A", 3))
	p.row("A with generation -1, Empty group", commit("A", -1))
	p.row("A joins the Empty group with its old id", p.join(g, "A"))
	p.row("D joins without an id", p.join(g, ""))
	p.row("D joins: the generation after 3 and Empty", p.join(g, "D"))
	p.row("D leaves", leaveRequest(4, g, p.member("D")))

	p.row("LeaveGroup of a group that never was", leaveRequest(2, "golden2-never", p.member("D")))
	p.row("LeaveGroup of a group that never was", leaveRequest(3, "golden2-never", p.member("D")))
	p.row("empty group id", p.heartbeat("", "D", 1))
	p.row("empty group id", syncRequest("", p.member("D"), 1))
	p.row("empty group id", leaveRequest(4, "", p.member("D")))
	p.row("SyncGroup of a group that never was", syncRequest("golden2-never", p.member("D"), 1))
	p.row("Heartbeat of a group that never was", p.heartbeat("golden2-never", "D", 1))
}

// late has E, who leads, and F in their first generation, with a short rebalance timeout.
func (p *parity) late(group string) {
	together := make(chan *kmsg.JoinGroupResponse, 1)
	join := func(id string) *kmsg.JoinGroupRequest {
		req := joinRequest(group, id, "golden2")
		req.RebalanceTimeoutMillis = shortRebalance
		return req
	}
	for _, name := range []string{"E", "F"} {
		resp := ask[*kmsg.JoinGroupResponse](p.client, join(""))
		p.names["<"+name+">"] = resp.MemberID
	}
	second := p.gw.dial(p)
	second.id = p.client.id
	ask[*kmsg.JoinGroupResponse](p.client, join(p.member("E"))) // the first rebalance does not wait for F's id
	second.send(join(p.member("F")))
	p.waitFor(describeRequest(5, group), func(resp *kmsg.DescribeGroupsResponse) bool { return resp.Groups[0].State == "PreparingRebalance" })
	go func() { together <- next[*kmsg.JoinGroupResponse](second) }()
	leader := ask[*kmsg.JoinGroupResponse](p.client, join(p.member("E")))
	follower := <-together
	if leader.Generation != 2 || follower.Generation != 2 || leader.LeaderID != p.member("E") {
		p.Fatalf("joined: %+v, %+v", leader, follower)
	}
}

func (p *parity) preparing(group string) {
	p.waitFor(describeRequest(5, group), func(resp *kmsg.DescribeGroupsResponse) bool { return resp.Groups[0].State == "PreparingRebalance" })
}

func TestParityFollowerNeverSyncs(t *testing.T) {
	t.Parallel()
	p := newGroupParity(t, "late0")
	const g = "golden2-late0"
	p.late(g)
	p.row("leader E syncs, follower F only heartbeats", syncRequest(g, p.member("E"), 2, p.member("E"), storyAssignment))
	p.preparing(g)
	p.row("E after the sync timeout", p.heartbeat(g, "E", 2))
	p.row("F after the sync timeout", p.heartbeat(g, "F", 2))
	p.row("after the sync timeout", describeRequest(5, g))
}

func TestParityLeaderNeverSyncs(t *testing.T) {
	t.Parallel()
	p := newGroupParity(t, "late1")
	const g = "golden2-late1"
	p.late(g)
	p.row("follower F synced, leader E did not (answered after 3.0 s)", syncRequest(g, p.member("F"), 2))
	p.row("E after the sync timeout", p.heartbeat(g, "E", 2))
	p.row("F after the sync timeout", p.heartbeat(g, "F", 2))
	p.row("after the sync timeout", describeRequest(5, g))
}

func TestParityStaticMembers(t *testing.T) {
	p := newGroupParity(t, "static")
	const g = "golden2-static"
	i1 := kmsg.StringPtr("i1")
	join := func(version int16, instance *string, id string, protocols ...kmsg.JoinGroupRequestProtocol) *kmsg.JoinGroupRequest {
		req := joinRequest(g, id, "golden2")
		req.Version, req.InstanceID = version, instance
		if protocols != nil {
			req.Protocols = protocols
		}
		return req
	}
	heartbeat := func(instance *string, id string, generation int32) *kmsg.HeartbeatRequest {
		req := heartbeatRequest(g, id, generation)
		req.InstanceID = instance
		return req
	}
	sync := func(instance *string, id string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
		req := syncRequest(g, id, generation, assignments...)
		req.InstanceID = instance
		return req
	}
	commit := func(instance *string, id string) *kmsg.OffsetCommitRequest {
		req := commitRequest(8, g, id, 1, golden2At(1))
		req.InstanceID = instance
		return req
	}
	rangeOf := func(topic string) kmsg.JoinGroupRequestProtocol { return protocol("range", subscription(topic)) }

	p.row("i1 joins without an id: no MEMBER_ID_REQUIRED", join(5, i1, ""))
	first := p.member("i1-first")
	p.row("leader syncs", sync(i1, first, 1, first, storyAssignment))
	p.row("i1 with another member id", heartbeat(i1, "someone", 1))
	p.row("unknown instance with the right member id", heartbeat(kmsg.StringPtr("i9"), first, 1))
	p.row("right member id without the instance", heartbeat(nil, first, 1))
	p.row("i1 with another member id", join(5, i1, "someone"))
	p.row("unknown instance with an unknown member id", join(5, kmsg.StringPtr("i9"), "someone"))
	p.row("i1 with another member id", commit(i1, "someone"))
	leave := withInstance(leaveRequest(4, g, "someone"), "i1")
	leave.Members = append(leave.Members, kmsg.NewLeaveGroupRequestMember())
	p.row("in one request: i1 with another id, unknown instance without id", withInstance(leave, "i9"))

	p.row("i1 returns without an id, Stable, v5: the leader named is the old id, no members", join(5, i1, ""))
	p.row("the first id, with the instance", heartbeat(i1, first, 1))
	p.row("the first id, with the instance", join(5, i1, first))
	p.row("the first id, with the instance", sync(i1, first, 1))
	p.row("the first id, with the instance", commit(i1, first))
	p.row("the first id, with the instance", withInstance(leaveRequest(4, g, first), "i1"))
	p.row("the first id, without the instance", heartbeat(nil, first, 1))
	p.row("the second id: the old assignment", sync(i1, p.member("i1-second"), 1))
	p.row("i1 returns without an id, Stable, v9: skip_assignment", join(9, i1, ""))
	p.row("i1 returns with another subscription, the same protocol: no rebalance", join(9, i1, "", rangeOf("golden2-other")))
	p.row("i1 returns with one more protocol, the chosen one stays: no rebalance",
		join(9, i1, "", rangeOf("golden2"), protocol("sticky", subscription("golden2"))))
	p.row("Stable", describeRequest(5, g))

	p.row("i1 joins with its id and the same metadata, Stable leader: rebalance", join(9, i1, p.member("i1-fifth")))
	p.row("i1 returns without an id in CompletingRebalance: rebalance", join(9, i1, ""))

	joinN := join(5, nil, ask[*kmsg.JoinGroupResponse](p.client, join(5, nil, "")).MemberID)
	n := p.park("N joined: PreparingRebalance", joinN)
	p.preparing(g)
	p.row("i1 returned without an id, N's join was answered with it", join(5, i1, ""))
	n()
	p.row("in CompletingRebalance, instances shown", describeRequest(5, g))
	eighth := p.park("i1 returned without an id in CompletingRebalance; fenced by the next", join(5, i1, ""))
	p.preparing(g)
	ninth := p.park("i1 again, without an id, while that one waited", join(5, i1, ""))
	eighth()
	again := p.park("N rejoined", join(5, nil, p.member("N")))
	ninth()
	again()
	byInstance := withInstance(leaveRequest(4, g, ""), "i1")
	p.row("by instance id only", byInstance)
	p.row("N", leaveRequest(4, g, p.member("N")))
}

func TestParityOffsets(t *testing.T) {
	p := newGroupParity(t, "commits")
	commit := func(version int16, group, member string, generation int32, parts ...part) *kmsg.OffsetCommitRequest {
		return commitRequest(version, group, member, generation, parts...)
	}
	p.row("empty group id, generation -1", commit(8, "", "", -1, golden2At(1)))
	p.row("empty group id, generation 3", commit(8, "", "", 3, golden2At(1)))
	p.row("empty group id", committedRequest(8, "", golden2At(0)))
	p.row("generation 3, group never seen", commit(9, "golden2-none", "nobody", 3, golden2At(1)))
	p.row("member id given, generation -1, group never seen", commit(9, "golden2-solo", "nobody", -1, golden2At(1)))
	p.row("all partitions unknown, member unknown", commit(9, "golden2-solo", "nobody", 3, part{topic: "golden2-missing"}))

	p.row("leader epoch 3, metadata with a zero byte", commit(8, "golden2-solo", "", -1,
		part{topic: "golden2", offset: 5, epoch: 1 + 3, metadata: kmsg.StringPtr("a\x00b")}))
	wide := part{topic: "golden2", partition: 1, offset: 6, metadata: kmsg.StringPtr(strings.Repeat("é", 4096))}
	p.row("4,096 characters of 2 bytes", commit(8, "golden2-solo", "", -1, wide))
	wide.metadata = nil // the row of all offsets, as it was written down, does not show it
	ask[*kmsg.OffsetCommitResponse](p.client, commit(8, "golden2-solo", "", -1, wide))
	p.row("offset -7, metadata null", commit(8, "golden2-solo", "", -1, part{topic: "golden2", partition: 2, offset: -7}))
	p.row("partitions 0 (committed), 2 (-7), 3 (never), 9 (no such)", committedRequest(7, "golden2-solo",
		golden2At(0), part{topic: "golden2", partition: 2}, part{topic: "golden2", partition: 3}, part{topic: "golden2", partition: 9}))
	p.row("all (null topics)", committedRequest(7, "golden2-solo"))
	p.row("all, of a group never seen", committedRequest(7, "golden2-none"))
	two := committedRequest(8, "golden2-none", golden2At(0))
	two.Groups = append(two.Groups, committedRequest(8, "golden2-solo", golden2At(0)).Groups...)
	p.row("two groups, one never seen", two)
	member := committedRequest(9, "golden2-solo", golden2At(0))
	member.Groups[0].MemberID, member.Groups[0].MemberEpoch = kmsg.StringPtr("nobody"), 9
	p.row("classic group, any member and epoch", member)
	p.row("v1: partition never committed", committedRequest(1, "golden2-solo", part{topic: "golden2", partition: 3}))
}

func TestParityLists(t *testing.T) {
	p := newGroupParity(t, "lists")
	live := p.stable(joinRequest("golden2-live", "", "golden2"))
	connect := withProtocols(joinRequest("golden2-connect", ""), protocol("x", []byte("1")))
	connect.ProtocolType = "connect"
	p.names["<L-connect>"] = p.stable(connect)
	ask[*kmsg.OffsetCommitResponse](p.client, commitRequest(8, "golden2-solo2", "", -1, golden2At(1)))

	p.row("no filter (the broker's other groups left out)", listRequest(5, nil, nil))
	p.row("no filter", listRequest(2, nil, nil))
	p.row("states [ stable ]: case and blanks do not matter", listRequest(4, []string{" stable "}, nil))
	p.row("states [Nonsense]", listRequest(4, []string{"Nonsense"}, nil))
	p.row("types [Classic]", listRequest(5, nil, []string{"Classic"}))
	p.row("types [Nonsense]", listRequest(5, nil, []string{"Nonsense"}))
	ask[*kmsg.OffsetCommitResponse](p.client, commitRequest(8, "", "", -1, golden2At(1)))
	p.row("the same group twice, and an empty id", describeRequest(5, "", "golden2-solo2", "golden2-solo2"))
	p.row("a group of another protocol type", describeRequest(5, "golden2-connect"))

	p.row("subscribed topic", offsetDeleteRequest("golden2-live", golden2At(0)))
	p.row("topic that no member subscribes", offsetDeleteRequest("golden2-live", part{topic: "golden2-other"}))
	p.row("missing topic", offsetDeleteRequest("golden2-live", part{topic: "golden2-missing"}))
	p.row("group of type connect with members", offsetDeleteRequest("golden2-connect", golden2At(0)))
	p.row("group without members", offsetDeleteRequest("golden2-solo2", golden2At(0)))
	p.row("missing group", offsetDeleteRequest("golden2-none", golden2At(0)))
	p.row("missing group, missing topic", offsetDeleteRequest("golden2-none", part{topic: "golden2-missing"}))
	p.row("empty group id", offsetDeleteRequest("", golden2At(0)))
	// The group lost its only offset above; the broker's had been given another before this row.
	ask[*kmsg.OffsetCommitResponse](p.client, commitRequest(8, "golden2-solo2", "", -1, golden2At(1)))
	p.row("members, missing, empty id, good", deleteGroupsRequest(2, "", "golden2-live", "golden2-none", "golden2-solo2"))
	p.row("the deleted group's offsets", committedRequest(8, "golden2-solo2", golden2At(0)))
	ask[*kmsg.LeaveGroupResponse](p.client, leaveRequest(4, "golden2-live", live))
	p.row("Empty, was consumer: the topic counts as subscribed no more", offsetDeleteRequest("golden2-live", golden2At(0)))
}

// stable makes a group of one member Stable and returns its id.
func (p *parity) stable(join *kmsg.JoinGroupRequest) string {
	p.Helper()
	join.MemberID = ask[*kmsg.JoinGroupResponse](p.client, join).MemberID
	joined := ask[*kmsg.JoinGroupResponse](p.client, join)
	sync := syncRequest(join.Group, joined.MemberID, joined.Generation, joined.MemberID, storyAssignment)
	sync.ProtocolType, sync.Protocol = &join.ProtocolType, &join.Protocols[0].Name
	if got := ask[*kmsg.SyncGroupResponse](p.client, sync); got.ErrorCode != 0 {
		p.Fatalf("%s: %+v", join.Group, got)
	}
	return joined.MemberID
}
