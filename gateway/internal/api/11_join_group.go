// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// JoinGroup (11), v0-9.
//
// v1: a rebalance timeout of its own (KIP-62). v2: throttle. v4: the member id is handed out first (KIP-394). v5: instance
// ids (KIP-345). v6: flexible. v7: the answer tells the protocol type (KIP-559). v8: a reason (KIP-800). v9:
// skip_assignment (KIP-814).

func (a *API) joinGroup(_ context.Context, conn *server.Conn, req *wire.Request) server.Pending {
	body, ok := req.Body.(*kmsg.JoinGroupRequest)
	if !ok {
		return fails(errNoHandler)
	}
	return func(ctx context.Context) (server.Reply, error) {
		if no := a.mayUseGroups(ctx, conn); no != none {
			return server.NewReply(refusedJoin(body, no)), nil
		}
		join := joinEvent(conn, text(req.Header.ClientID), body)
		// Members may wait for each other for minutes, and what one may hold is little. What is more is refused at once.
		if protocolsSize(join.Protocols) <= parkedSize {
			for i := range join.Protocols {
				join.Protocols[i].Metadata = bytes.Clone(join.Protocols[i].Metadata)
			}
			conn.GiveBack(req)
		}
		waiting, cancel := a.parked(ctx)
		defer cancel()
		begun := time.Now()
		result, err := a.Groups.Join(waiting, body.Group, join)
		parked := time.Since(begun)
		if err == nil && a.mayNoLongerUseGroups(ctx, conn) {
			return server.NewReply(refusedJoin(body, groupAuthorizationFailed)), nil
		}
		reply, err := a.joined(ctx, body, result, err)
		return reply.Spent(parked, 0), err
	}
}

// parkedSize is how many bytes of a request may be kept while it waits for other members, outside of any budget:
// what the coordinator lets one member hold anyway.
const parkedSize = 64 << 10

func protocolsSize(protocols []coordinator.Protocol) int {
	size := 0
	for i := range protocols {
		size += len(protocols[i].Metadata)
	}
	return size
}

func joinEvent(conn *server.Conn, clientID string, req *kmsg.JoinGroupRequest) coordinator.Join {
	join := coordinator.Join{
		MemberID: req.MemberID, InstanceID: text(req.InstanceID),
		ClientID: clientID, ClientHost: clientHost(conn),
		SessionTimeout:  millis(req.SessionTimeoutMillis),
		ProtocolType:    req.ProtocolType,
		Protocols:       make([]coordinator.Protocol, len(req.Protocols)),
		RequireMemberID: req.Version >= 4,
		SkipAssignment:  req.Version >= 9,
	}
	if req.Version >= 1 {
		join.RebalanceTimeout = max(millis(req.RebalanceTimeoutMillis), time.Millisecond) // zero would mean: as in v0
	}
	for i := range req.Protocols {
		join.Protocols[i] = coordinator.Protocol{Name: req.Protocols[i].Name, Metadata: req.Protocols[i].Metadata}
	}
	join.Topics = subscribedTopics(join.ProtocolType, join.Protocols)
	return join
}

// refusedJoin answers who is not heard: not even with the member id that it brought, as a broker.
func refusedJoin(req *kmsg.JoinGroupRequest, code int16) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = req.Version
	resp.ErrorCode, resp.Generation = code, -1
	return resp
}

// joined answers a join: the leader learns about all members.
func (a *API) joined(ctx context.Context, req *kmsg.JoinGroupRequest, result coordinator.JoinResult, err error) (server.Reply, error) {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = req.Version
	resp.ErrorCode = a.groupCode(err)
	resp.MemberID = result.MemberID
	if err != nil {
		resp.Generation = -1
		if resp.MemberID == "" {
			resp.MemberID = req.MemberID
		}
		return server.NewReply(resp), nil
	}
	resp.Generation, resp.LeaderID, resp.SkipAssignment = result.Generation, result.Leader, result.SkipAssignment
	resp.ProtocolType, resp.Protocol = &result.ProtocolType, &result.ProtocolName
	const answerBytes, memberBytes = 64, 16
	size := answerBytes + len(result.MemberID) + len(result.Leader) + len(result.ProtocolType) + len(result.ProtocolName)
	for i := range result.Members {
		m := &result.Members[i]
		size += memberBytes + len(m.MemberID) + len(m.InstanceID) + len(m.Metadata)
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(result.Members))
	for i := range result.Members {
		m := &result.Members[i]
		resp.Members[i].MemberID, resp.Members[i].InstanceID = m.MemberID, nullable(m.InstanceID)
		resp.Members[i].ProtocolMetadata = m.Metadata
	}
	return server.NewReservedReply(resp, release), nil
}
