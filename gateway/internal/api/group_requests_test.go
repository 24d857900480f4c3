// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The versions that tests of groups use where the version does not matter.
const (
	joinVersion      = 5
	syncVersion      = 5
	heartbeatVersion = 4
	leaveVersion     = 4
	commitVersion    = 8
)

const (
	testSession   = 10_000 // ms
	testRebalance = 10_000 // ms
)

// subscription is the metadata of a consumer that subscribes to topics.
func subscription(topics ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, topic := range topics {
		b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
		b = append(b, topic...)
	}
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0) // no user data, nothing owned
}

// joinRequest is a consumer's that knows the protocol range and subscribes to topics.
func joinRequest(group, member string, topics ...string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = joinVersion, group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = testSession, testRebalance
	return withProtocols(req, protocol("range", subscription(topics...)))
}

func protocol(name string, metadata []byte) kmsg.JoinGroupRequestProtocol {
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = name, metadata
	return p
}

func withProtocols(req *kmsg.JoinGroupRequest, protocols ...kmsg.JoinGroupRequestProtocol) *kmsg.JoinGroupRequest {
	req.Protocols = protocols
	return req
}

// syncRequest brings assignments, as pairs of member id and bytes.
func syncRequest(group, member string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = syncVersion, group, member, generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for i := 0; i < len(assignments); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assignments[i], []byte(assignments[i+1])
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return req
}

func heartbeatRequest(group, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = heartbeatVersion, group, member, generation
	return req
}

// leaveRequest names members by their ids; below v3 there is one.
func leaveRequest(version int16, group string, members ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = version, group, members[0]
	for _, id := range members {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		req.Members = append(req.Members, m)
	}
	return req
}

// withInstance makes the last member that leaves a static one.
func withInstance(req *kmsg.LeaveGroupRequest, instance string) *kmsg.LeaveGroupRequest {
	req.Members[len(req.Members)-1].InstanceID = &instance
	return req
}

// commitRequest commits offsets of partitions of topics; the group's simple consumers commit with generation -1.
func commitRequest(version int16, group, member string, generation int32, parts ...part) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation, req.RetentionTimeMillis = version, group, member, generation, -1
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		in := kmsg.NewOffsetCommitRequestTopicPartition()
		in.Partition, in.Offset, in.LeaderEpoch, in.Metadata = p.partition, p.offset, p.epoch-1, p.metadata
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, in)
	}
	return req
}

// committedRequest asks for the offsets of partitions; of all when there are none. From v8 on in the form for many groups.
func committedRequest(version int16, group string, parts ...part) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = version
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, req.Group = group, group
	for _, p := range parts {
		if n := len(g.Topics); n == 0 || g.Topics[n-1].Topic != p.topic {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic = p.topic
			g.Topics = append(g.Topics, t)
		}
		t := &g.Topics[len(g.Topics)-1]
		t.Partitions = append(t.Partitions, p.partition)
	}
	for _, t := range g.Topics {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	return req
}

func describeRequest(version int16, groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = version, groups
	return req
}

func listRequest(version int16, states, types []string) *kmsg.ListGroupsRequest {
	req := kmsg.NewPtrListGroupsRequest()
	req.Version, req.StatesFilter, req.TypesFilter = version, states, types
	return req
}

func deleteGroupsRequest(version int16, groups ...string) *kmsg.DeleteGroupsRequest {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = version, groups
	return req
}

func offsetDeleteRequest(group string, parts ...part) *kmsg.OffsetDeleteRequest {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, p := range parts {
		req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{
			Topic: p.topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: p.partition}},
		})
	}
	return req
}
