// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sessionTimeout is what clients have for theirs since Kafka 3.0 (KIP-735); nobody may be lost while others get ready.
const sessionTimeout = 45 * time.Second

// member is one of a group of the classic protocol, made of single requests.
type member struct {
	group, id  string
	generation int32
}

// joinGroup waits until as many members as said are in the group's first generation and have their assignments. All of
// them must call it at once, each on a connection of its own. It speaks versions in which a member need not join twice
// (before KIP-394).
func joinGroup(ctx context.Context, conn net.Conn, group, topic string, members int) (member, error) {
	if err := findCoordinator(ctx, conn, group); err != nil {
		return member{}, err
	}
	var joined *kmsg.JoinGroupResponse
	err := untilServed(ctx, func() (err error) {
		if joined, err = ask[*kmsg.JoinGroupResponse](conn, joinRequest(group, topic)); err != nil {
			return err
		}
		return kerr.ErrorForCode(joined.ErrorCode)
	})
	if err != nil {
		return member{}, fmt.Errorf("bench: joining %s: %w", group, err)
	}
	m := member{group, joined.MemberID, joined.Generation}
	leads := joined.LeaderID == joined.MemberID
	if leads && len(joined.Members) != members {
		return m, fmt.Errorf("bench: %s has %d members, want %d: the first rebalance did not wait for all", group, len(joined.Members), members)
	}
	synced, err := ask[*kmsg.SyncGroupResponse](conn, m.syncRequest(joined.Members, topic))
	if err == nil {
		err = kerr.ErrorForCode(synced.ErrorCode)
	}
	if err != nil {
		return m, fmt.Errorf("bench: syncing %s: %w", group, err)
	}
	return m, nil
}

// findCoordinator asks for it, which makes Kafka create its topic of offsets. Here it is always the one that is asked.
func findCoordinator(ctx context.Context, conn net.Conn, group string) error {
	request := kmsg.NewPtrFindCoordinatorRequest()
	request.Version, request.CoordinatorKey = 3, group
	return untilServed(ctx, func() error {
		answer, err := ask[*kmsg.FindCoordinatorResponse](conn, request)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(answer.ErrorCode)
	})
}

func joinRequest(group, topic string) *kmsg.JoinGroupRequest {
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = []string{topic}
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", metadata.AppendTo(nil)
	request := kmsg.NewPtrJoinGroupRequest()
	request.Version, request.Group, request.ProtocolType = 3, group, "consumer"
	request.SessionTimeoutMillis = int32(sessionTimeout.Milliseconds())
	request.RebalanceTimeoutMillis = int32(sessionTimeout.Milliseconds())
	request.Protocols = []kmsg.JoinGroupRequestProtocol{protocol}
	return request
}

// syncRequest assigns a partition to each of the members; only the leader knows them.
func (m member) syncRequest(members []kmsg.JoinGroupResponseMember, topic string) *kmsg.SyncGroupRequest {
	request := kmsg.NewPtrSyncGroupRequest()
	request.Version, request.Group, request.MemberID, request.Generation = 2, m.group, m.id, m.generation
	for partition, other := range members {
		owned := kmsg.NewConsumerMemberAssignmentTopic()
		owned.Topic, owned.Partitions = topic, []int32{int32(partition)}
		assignment := kmsg.NewConsumerMemberAssignment()
		assignment.Topics = append(assignment.Topics, owned)
		of := kmsg.NewSyncGroupRequestGroupAssignment()
		of.MemberID, of.MemberAssignment = other.MemberID, assignment.AppendTo(nil)
		request.GroupAssignment = append(request.GroupAssignment, of)
	}
	return request
}

func (m member) heartbeat(conn net.Conn) error {
	request := kmsg.NewPtrHeartbeatRequest()
	request.Version, request.Group, request.MemberID, request.Generation = 4, m.group, m.id, m.generation
	answer, err := ask[*kmsg.HeartbeatResponse](conn, request)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

func (m member) leave(conn net.Conn) error {
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Version, request.Group, request.MemberID = 2, m.group, m.id
	answer, err := ask[*kmsg.LeaveGroupResponse](conn, request)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}
