// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// await asks until a group is in a state.
func (c *client) await(group, state string) {
	c.Helper()
	for deadline := time.Now().Add(patience); ; {
		got := ask[*kmsg.DescribeGroupsResponse](c, describeRequest(5, group)).Groups[0]
		if got.State == state {
			return
		}
		if time.Now().After(deadline) {
			c.Fatalf("%s is %s, never %s", group, got.State, state)
		}
	}
}

// parkedJoin sends a join that waits for the group's member, and returns its connection.
func (gw *gateway) parkedJoin(tb testing.TB, group string, metadata []byte) *client {
	tb.Helper()
	parked := gw.dial(tb)
	join := withProtocols(joinRequest(group, ""), protocol("range", metadata))
	join.Version = 3
	parked.send(join)
	gw.dial(tb).await(group, "PreparingRebalance")
	return parked
}

// A join that waits for others holds nothing of what all share, and what it said is not lost with the frame that is given
// back; nor does it keep other connections waiting.
func TestWaitingJoinHoldsNoBudget(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	member := c.member("g", "t")
	metadata := append(subscription("t"), bytes.Repeat([]byte("u"), 60<<10)...)
	parked := gw.parkedJoin(t, "g", metadata)
	for _, name := range []string{"decode", "frame"} {
		until(t, "who waits holds nothing of the "+name+" budget", func() bool { return gw.budgets[name].Used() == 0 })
	}
	for range 100 { // reuse of the frame's buffer would show
		ask[*kmsg.MetadataResponse](gw.dial(t), metadataRequest(12, strings.Repeat("x", 60<<10)))
	}
	joined := ask[*kmsg.JoinGroupResponse](c, joinRequest("g", member, "t"))
	next[*kmsg.JoinGroupResponse](parked)
	if !slices.ContainsFunc(joined.Members, func(m kmsg.JoinGroupResponseMember) bool { return bytes.Equal(m.ProtocolMetadata, metadata) }) {
		t.Error("the leader does not see the metadata of who waited")
	}
}

// What is sent behind a join that waits is answered behind it.
func TestRequestsBehindWaitingJoin(t *testing.T) {
	gw := shared(t)
	c, group := gw.dial(t), newGroup()
	member := c.member(group, "t")
	parked := gw.parkedJoin(t, group, subscription("t"))
	parked.send(apiVersions(3), heartbeatRequest(group, "nobody", 1), fetchRequest(part{topic: "missing"}))
	ask[*kmsg.JoinGroupResponse](c, joinRequest(group, member, "t"))
	if got := next[*kmsg.JoinGroupResponse](parked); got.ErrorCode != 0 {
		t.Errorf("join: error %d", got.ErrorCode)
	}
	next[*kmsg.ApiVersionsResponse](parked)
	if got := next[*kmsg.HeartbeatResponse](parked); got.ErrorCode != codeUnknownMember {
		t.Errorf("heartbeat: error %d", got.ErrorCode)
	}
	next[*kmsg.FetchResponse](parked)
}

// A client that goes away while it waits leaves a member behind, who is gone once its session is over.
func TestDisconnectWhileWaiting(t *testing.T) {
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MinSessionTimeout = time.Millisecond }})
	c := gw.dial(t)
	member := c.member("g", "t")
	parked := gw.dial(t)
	join := joinRequest("g", "", "t")
	join.Version, join.SessionTimeoutMillis = 3, 100
	parked.send(join)
	c.await("g", "PreparingRebalance")
	parked.nc.Close()
	if got := ask[*kmsg.JoinGroupResponse](c, joinRequest("g", member, "t")); got.Generation != 2 || len(got.Members) != 2 {
		t.Fatalf("join: %+v", got)
	}
	ask[*kmsg.SyncGroupResponse](c, syncRequest("g", member, 2, member, "mine"))
	c.await("g", "PreparingRebalance") // the one who went away
	if got := ask[*kmsg.JoinGroupResponse](c, joinRequest("g", member, "t")); got.Generation != 3 || len(got.Members) != 1 {
		t.Errorf("join: %+v", got)
	}
}

// A gateway that stops does not wait for members: who waits is told to find the coordinator again.
func TestStopEndsWaiting(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	c.member("g", "t")
	parked := gw.parkedJoin(t, "g", subscription("t"))
	leaderless := newGroup()
	join := joinRequest(leaderless, "", "t")
	join.Version = 3
	leader := ask[*kmsg.JoinGroupResponse](c, join)
	follower := gw.dial(t)
	follower.send(join)
	c.await(leaderless, "PreparingRebalance")
	ask[*kmsg.JoinGroupResponse](c, joinRequest(leaderless, leader.MemberID, "t"))
	followed := next[*kmsg.JoinGroupResponse](follower)
	follower.send(syncRequest(leaderless, followed.MemberID, 2))
	gw.stop()
	if got := next[*kmsg.JoinGroupResponse](parked); got.ErrorCode != codeNotCoordinator {
		t.Errorf("join: error %d", got.ErrorCode)
	}
	if got := next[*kmsg.SyncGroupResponse](follower); got.ErrorCode != codeNotCoordinator {
		t.Errorf("sync: error %d", got.ErrorCode)
	}
}

// The bounds of groups, each with the code that says what to do about it.
func TestGroupBounds(t *testing.T) {
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MaxGroupSize, cfg.MaxGroups, cfg.MaxMembers = 2, 3, 4 }})
	c := gw.dial(t)
	code := func(group string, change func(*kmsg.JoinGroupRequest)) int16 {
		req := joinRequest(group, "", "t")
		req.InstanceID = kmsg.StringPtr(newName()) // joins at once
		if change != nil {
			change(req)
		}
		conn := gw.dial(t)
		conn.send(req)
		// Of a group that waits for others only refusals are answered.
		if group == "g" && change == nil {
			gw.dial(t).await(group, "PreparingRebalance")
			return 0
		}
		return next[*kmsg.JoinGroupResponse](conn).ErrorCode
	}
	c.member("g", "t")
	if got := code("g", func(req *kmsg.JoinGroupRequest) {
		req.Protocols = slices.Repeat(req.Protocols, 17)
	}); got != codeInvalidRequest {
		t.Errorf("17 protocols: error %d", got)
	}
	if got := code("g", func(req *kmsg.JoinGroupRequest) {
		req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("range", make([]byte, 100<<10))}
	}); got != codeInvalidRequest {
		t.Errorf("100 KiB of metadata: error %d", got)
	}
	code("g", nil)
	if got := code("g", func(*kmsg.JoinGroupRequest) {}); got != codeGroupFull {
		t.Errorf("a third member: error %d", got)
	}
	c.member("h", "t")
	c.member("i", "t")
	if got := code("j", func(*kmsg.JoinGroupRequest) {}); got != codeNotAvailable {
		t.Errorf("a fourth group: error %d", got)
	}
}

// Answers about groups end where the largest answer does: a list is cut, and says so to the operator; others close.
func TestGroupAnswersTooLarge(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.MaxResponseSize = 4000 }})
	topic := gw.newTopic(t, 200)
	c := gw.dial(t)
	var all []part
	for p := range int32(200) {
		all = append(all, part{topic: topic, partition: p, offset: 1, metadata: kmsg.StringPtr(strings.Repeat("m", 50))})
	}
	for range 100 {
		ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, newGroup(), "", -1, all[0]))
	}
	if got := ask[*kmsg.ListGroupsResponse](c, listRequest(5, nil, nil)); len(got.Groups) < 10 || len(got.Groups) > 99 {
		t.Errorf("%d groups", len(got.Groups))
	}
	if !gw.logs.contains("list of all groups cut") {
		t.Error("nothing was logged")
	}
	ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "large", "", -1, all...))
	for _, req := range []kmsg.Request{
		committedRequest(7, "large"), committedRequest(8, "large", all...), describeRequest(5, slices.Repeat([]string{"large"}, 100)...),
	} {
		asking := gw.dial(t)
		asking.send(req)
		asking.expectClosed()
	}
	join := withProtocols(joinRequest("wide", ""), protocol("range", make([]byte, 5000)))
	join.Version = 3
	asking := gw.dial(t)
	asking.send(join)
	asking.expectClosed()
}

// With the bridge off groups work from memory; offsets are neither taken nor known.
func TestGroupsDetached(t *testing.T) {
	gw := start(t, setup{detached: true})
	c := gw.dial(t)
	member := c.member("g", "t")
	if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", member, 1)); got.ErrorCode != 0 {
		t.Errorf("heartbeat: error %d", got.ErrorCode)
	}
	for version := int16(2); version <= 9; version++ {
		got := ask[*kmsg.OffsetCommitResponse](c, commitRequest(version, "g", member, 1, part{topic: "t"}, part{topic: "u", partition: 3}))
		if commitCodes(got) != "[14 14]" || got.Topics[1].Topic != "u" || got.Topics[1].Partitions[0].Partition != 3 {
			t.Errorf("commit v%d: %+v", version, got)
		}
	}
	for version := int16(1); version <= 9; version++ {
		want := "14"
		if version == 1 {
			want = "0 t[0: -1 -1  14]"
		}
		if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(version, "g", part{topic: "t"}))); got != want {
			t.Errorf("offsets v%d: %s", version, got)
		}
	}
	if got := ask[*kmsg.OffsetDeleteResponse](c, offsetDeleteRequest("g", part{topic: "t"})); got.ErrorCode != 0 || got.Topics[0].Partitions[0].ErrorCode != codeUnknownTopic {
		t.Errorf("delete offsets: %+v", got)
	}
	if got := ask[*kmsg.ListGroupsResponse](c, listRequest(5, nil, nil)); len(got.Groups) != 1 {
		t.Errorf("list: %+v", got)
	}
	if got := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(4, 0, "g")).Coordinators[0]; got.ErrorCode != 0 {
		t.Errorf("find coordinator: %+v", got)
	}
	ask[*kmsg.LeaveGroupResponse](c, leaveRequest(leaveVersion, "g", member))
	if got := ask[*kmsg.DeleteGroupsResponse](c, deleteGroupsRequest(2, "g")).Groups[0]; got.ErrorCode != 0 {
		t.Errorf("delete: error %d", got.ErrorCode)
	}
}

// OffsetCommit below v5 may say how long its offsets are kept; offsets of a time that is over are gone at the next look.
func TestCommitRetention(t *testing.T) {
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.CheckInterval = time.Millisecond }})
	topic := gw.newTopic(t, 1)
	c := gw.dial(t)
	for _, tc := range []struct {
		version   int16
		retention int64
		stays     bool
	}{
		{2, -1, true}, {4, 0, false}, {3, 1, false}, {4, 1 << 62, true}, {2, -7, false}, {5, 0, true},
	} {
		group := newGroup()
		req := commitRequest(tc.version, group, "", -1, part{topic: topic, offset: 1})
		req.RetentionTimeMillis = tc.retention
		ask[*kmsg.OffsetCommitResponse](c, req)
		for deadline := time.Now().Add(patience); ; {
			_, err := gw.state.Groups.Describe(context.Background(), group)
			gone := errors.Is(err, coordinator.ErrGroupIDNotFound)
			if gone != tc.stays {
				break
			}
			if gone || time.Now().After(deadline) {
				t.Errorf("v%d, retention %d: gone %v", tc.version, tc.retention, gone)
				break
			}
		}
	}
}
