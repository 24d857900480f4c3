// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newGroup returns a group id that nothing has.
func newGroup() string { return fmt.Sprintf("group-%d", lastTopic.Add(1)) }

// A group of one through its whole life in every version of JoinGroup, with the field that each version adds.
func TestJoinGroupVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(0); version <= 9; version++ {
		group := newGroup()
		req := joinRequest(group, "", "t")
		req.Version = version
		got := ask[*kmsg.JoinGroupResponse](c, req)
		if version >= 4 {
			if got.ErrorCode != codeMemberIDRequired || got.MemberID == "" || got.Generation != -1 {
				t.Fatalf("v%d, no id: %+v", version, got)
			}
			if version >= 7 && (got.Protocol != nil || got.ProtocolType != nil) {
				t.Errorf("v%d, an error has protocol %v of type %v", version, got.Protocol, got.ProtocolType)
			}
			req.MemberID = got.MemberID
			got = ask[*kmsg.JoinGroupResponse](c, req)
		}
		want := kmsg.JoinGroupResponse{
			Version: version, Generation: 1, Protocol: kmsg.StringPtr("range"), LeaderID: got.MemberID, MemberID: got.MemberID,
			Members: []kmsg.JoinGroupResponseMember{{MemberID: got.MemberID, ProtocolMetadata: subscription("t")}},
		}
		if version >= 7 {
			want.ProtocolType = kmsg.StringPtr("consumer")
		}
		if diff := cmp.Diff(&want, got, ignoreTags()); diff != "" || got.MemberID == "" {
			t.Errorf("v%d: %s", version, diff)
		}
		if version < 5 {
			continue
		}
		req.InstanceID, req.MemberID = kmsg.StringPtr("i"), "" // joins at once, and shows
		req.Group = newGroup()
		got = ask[*kmsg.JoinGroupResponse](c, req)
		if got.ErrorCode != 0 || len(got.Members) != 1 || got.Members[0].InstanceID == nil || *got.Members[0].InstanceID != "i" {
			t.Errorf("v%d, static: %+v", version, got)
		}
		if version < 9 {
			continue
		}
		ask[*kmsg.SyncGroupResponse](c, syncRequest(req.Group, got.MemberID, 1, got.MemberID, "a"))
		if got = ask[*kmsg.JoinGroupResponse](c, req); !got.SkipAssignment || len(got.Members) != 1 {
			t.Errorf("v%d, the static leader again: %+v", version, got)
		}
	}
}

// Version 0 knows one timeout: a session that is over ends the rebalance as well. Later ones name both.
func TestJoinGroupRebalanceTimeout(t *testing.T) {
	gw := shared(t)
	for _, version := range []int16{0, 1} {
		group := newGroup()
		req := joinRequest(group, "", "t")
		req.Version = version
		if version > 0 {
			req.RebalanceTimeoutMillis = 50
		} else {
			req.SessionTimeoutMillis = 6000
		}
		lazy := ask[*kmsg.JoinGroupResponse](gw.dial(t), req)
		if version == 0 {
			continue // waiting six seconds for it is not worth it: that it is accepted is what counts
		}
		began := time.Now()
		got := ask[*kmsg.JoinGroupResponse](gw.dial(t), req) // lazy does not come, and goes, perhaps before
		if got.ErrorCode != 0 || got.Generation < 2 || got.LeaderID != got.MemberID || time.Since(began) > patience/2 {
			t.Errorf("v%d: %+v", version, got)
		}
		if got := ask[*kmsg.HeartbeatResponse](gw.dial(t), heartbeatRequest(group, lazy.MemberID, 1)); got.ErrorCode != codeUnknownMember {
			t.Errorf("v%d: who did not come: error %d", version, got.ErrorCode)
		}
	}
}

// member makes a group of one that is Stable, and returns the member's id; its generation is 1.
func (c *client) member(group string, topics ...string) string {
	c.Helper()
	req := joinRequest(group, "", topics...)
	req.Version = 3
	joined := ask[*kmsg.JoinGroupResponse](c, req)
	if joined.ErrorCode != 0 {
		c.Fatalf("join: error %d", joined.ErrorCode)
	}
	synced := ask[*kmsg.SyncGroupResponse](c, syncRequest(group, joined.MemberID, 1, joined.MemberID, "mine"))
	if synced.ErrorCode != 0 || string(synced.MemberAssignment) != "mine" {
		c.Fatalf("sync: %+v", synced)
	}
	return joined.MemberID
}

func TestSyncGroupVersions(t *testing.T) {
	c := shared(t).dial(t)
	for version := int16(0); version <= 5; version++ {
		group := newGroup()
		member := c.member(group, "t")
		req := syncRequest(group, member, 1)
		req.Version = version
		if version < 5 {
			req.ProtocolType, req.Protocol = nil, nil
		}
		want := kmsg.SyncGroupResponse{Version: version, MemberAssignment: []byte("mine")}
		if version >= 5 {
			want.ProtocolType, want.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		}
		if diff := cmp.Diff(&want, ask[*kmsg.SyncGroupResponse](c, req), ignoreTags()); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
		if version >= 3 {
			req.InstanceID = kmsg.StringPtr("nobody")
			if got := ask[*kmsg.SyncGroupResponse](c, req); got.ErrorCode != codeUnknownMember {
				t.Errorf("v%d, unknown instance: error %d", version, got.ErrorCode)
			}
		}
	}
}

func TestHeartbeatVersions(t *testing.T) {
	c := shared(t).dial(t)
	group := newGroup()
	member := c.member(group, "t")
	for version := int16(0); version <= 4; version++ {
		req := heartbeatRequest(group, member, 1)
		req.Version = version
		if got := ask[*kmsg.HeartbeatResponse](c, req); got.ErrorCode != 0 {
			t.Errorf("v%d: error %d", version, got.ErrorCode)
		}
		if version >= 3 {
			req.InstanceID = kmsg.StringPtr("nobody")
			if got := ask[*kmsg.HeartbeatResponse](c, req); got.ErrorCode != codeUnknownMember {
				t.Errorf("v%d, unknown instance: error %d", version, got.ErrorCode)
			}
		}
	}
}

// PB-57: below v3 one member and one code; from then on a code for each, by id or by instance id.
func TestLeaveGroupVersions(t *testing.T) {
	c := shared(t).dial(t)
	for version := int16(0); version <= 5; version++ {
		group := newGroup()
		member := c.member(group, "t")
		if version < 3 {
			if got := ask[*kmsg.LeaveGroupResponse](c, leaveRequest(version, group, "nobody")); got.ErrorCode != codeUnknownMember {
				t.Errorf("v%d, unknown: error %d", version, got.ErrorCode)
			}
			if got := ask[*kmsg.LeaveGroupResponse](c, leaveRequest(version, group, member)); got.ErrorCode != 0 {
				t.Errorf("v%d: error %d", version, got.ErrorCode)
			}
		} else {
			req := leaveRequest(version, group, member, "nobody")
			if version >= 5 {
				req.Members[0].Reason = kmsg.StringPtr("tired")
			}
			want := []kmsg.LeaveGroupResponseMember{{MemberID: member}, {MemberID: "nobody", ErrorCode: codeUnknownMember}}
			if got := ask[*kmsg.LeaveGroupResponse](c, req); got.ErrorCode != 0 || cmp.Diff(want, got.Members, ignoreTags()) != "" {
				t.Errorf("v%d: %+v", version, got)
			}
		}
		if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest(group, member, 1)); got.ErrorCode != codeUnknownMember {
			t.Errorf("v%d, who has left: error %d", version, got.ErrorCode)
		}
	}
}

func TestDescribeGroupsVersions(t *testing.T) {
	c := shared(t).dial(t)
	group := newGroup()
	static := joinRequest(group, "", "t")
	static.InstanceID = kmsg.StringPtr("i")
	member := ask[*kmsg.JoinGroupResponse](c, static).MemberID
	ask[*kmsg.SyncGroupResponse](c, syncRequest(group, member, 1, member, "mine"))
	for version := int16(0); version <= 6; version++ {
		req := describeRequest(version, group, "nothing")
		req.IncludeAuthorizedOperations = true
		got := ask[*kmsg.DescribeGroupsResponse](c, req)
		shown := kmsg.DescribeGroupsResponseGroupMember{
			MemberID: member, ClientID: "test", ClientHost: "/127.0.0.1", ProtocolMetadata: subscription("t"), MemberAssignment: []byte("mine"),
		}
		if version >= 4 {
			shown.InstanceID = kmsg.StringPtr("i")
		}
		want := []kmsg.DescribeGroupsResponseGroup{
			{Group: group, State: "Stable", ProtocolType: "consumer", Protocol: "range", Members: []kmsg.DescribeGroupsResponseGroupMember{shown}, AuthorizedOperations: -2147483648},
			{Group: "nothing", State: "Dead", AuthorizedOperations: -2147483648},
		}
		if version >= 3 {
			want[0].AuthorizedOperations, want[1].AuthorizedOperations = 3400, 3400
		}
		if version >= 6 {
			want[1].AuthorizedOperations = -2147483648
			want[1].ErrorCode, want[1].ErrorMessage = codeGroupNotFound, kmsg.StringPtr("Group nothing not found.")
		}
		if diff := cmp.Diff(want, got.Groups, ignoreTags(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
	if got := ask[*kmsg.DescribeGroupsResponse](c, describeRequest(5, group)); got.Groups[0].AuthorizedOperations != -2147483648 {
		t.Errorf("operations nobody asked for: %d", got.Groups[0].AuthorizedOperations)
	}
}

func TestListGroupsVersions(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	c.member("b", "t")
	topic := gw.newTopic(t, 1)
	ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "a", "", -1, part{topic: topic, offset: 1}))
	for version := int16(0); version <= 5; version++ {
		want := []kmsg.ListGroupsResponseGroup{{Group: "a"}, {Group: "b", ProtocolType: "consumer"}}
		if version >= 4 {
			want[0].GroupState, want[1].GroupState = "Empty", "Stable"
		}
		if version >= 5 {
			want[0].GroupType, want[1].GroupType = "classic", "classic"
		}
		if got := ask[*kmsg.ListGroupsResponse](c, listRequest(version, nil, nil)); cmp.Diff(want, got.Groups, ignoreTags()) != "" {
			t.Errorf("v%d: %+v", version, got)
		}
		filtered := listRequest(version, []string{"EMPTY"}, []string{"consumer"})
		got := len(ask[*kmsg.ListGroupsResponse](c, filtered).Groups)
		if want := map[bool]int{version < 4: 2, version == 4: 1, version == 5: 0}[true]; got != want {
			t.Errorf("v%d: %d groups chosen, want %d", version, got, want)
		}
	}
}

func TestDeleteGroupsVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for version := int16(0); version <= 2; version++ {
		group, live := newGroup(), newGroup()
		c.member(live, topic)
		ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, group, "", -1, part{topic: topic, offset: 1}))
		want := []kmsg.DeleteGroupsResponseGroup{{Group: group}, {Group: live, ErrorCode: 68}, {Group: "nothing", ErrorCode: codeGroupNotFound}}
		got := ask[*kmsg.DeleteGroupsResponse](c, deleteGroupsRequest(version, group, live, "nothing", group))
		if diff := cmp.Diff(want, got.Groups, ignoreTags()); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// Every version commits and reads back; leader epochs from v6 and v5 on.
func TestOffsetVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	const offset, epoch = 7, 3
	for version := int16(2); version <= 9; version++ {
		group := newGroup()
		req := commitRequest(version, group, "", -1, part{topic: topic, offset: offset, epoch: 1 + epoch, metadata: kmsg.StringPtr("note")}, part{topic: topic, partition: 2})
		got := ask[*kmsg.OffsetCommitResponse](c, req)
		want := []kmsg.OffsetCommitResponseTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 0}, {Partition: 2, ErrorCode: codeUnknownTopic}}}}
		if diff := cmp.Diff(want, got.Topics, ignoreTags()); diff != "" {
			t.Errorf("commit v%d: %s", version, diff)
		}
		for fetch := int16(1); fetch <= 9; fetch++ {
			resp := ask[*kmsg.OffsetFetchResponse](c, committedRequest(fetch, group, part{topic: topic}, part{topic: topic, partition: 1}))
			kept := int32(-1)
			if version >= 6 && fetch >= 5 {
				kept = epoch
			}
			want := fmt.Sprintf("0 %s[0: 7 %d note 0, 1: -1 -1  0]", topic, kept)
			if got := committed(resp); got != want {
				t.Errorf("commit v%d, fetch v%d: %s, want %s", version, fetch, got, want)
			}
		}
	}
}

// committed shows what an OffsetFetch answers: the group's error, and partition: offset, leader epoch, metadata, error.
func committed(resp *kmsg.OffsetFetchResponse) string {
	group := kmsg.OffsetFetchResponseGroup{ErrorCode: resp.ErrorCode}
	for _, t := range resp.Topics {
		out := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		group.Topics = append(group.Topics, out)
	}
	if len(resp.Groups) > 0 {
		group = resp.Groups[0]
	}
	text := fmt.Sprint(group.ErrorCode)
	for _, t := range group.Topics {
		text += " " + t.Topic + "["
		for i, p := range t.Partitions {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%d: %d %d %s %d", p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata, p.ErrorCode)
		}
		text += "]"
	}
	return text
}

// ignoreTags leaves unknown tags out of comparisons.
func ignoreTags() cmp.Option { return cmpopts.IgnoreTypes(kmsg.Tags{}) }
