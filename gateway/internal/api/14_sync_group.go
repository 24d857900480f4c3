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

// SyncGroup (14), v0-5.
//
// v1: throttle. v3: instance ids (KIP-345). v4: flexible. v5: protocol type and name, compared and answered (KIP-559).

func (a *API) syncGroup(_ context.Context, conn *server.Conn, req *wire.Request) server.Pending {
	body, ok := req.Body.(*kmsg.SyncGroupRequest)
	if !ok {
		return fails(errNoHandler)
	}
	return func(ctx context.Context) (server.Reply, error) {
		if no := a.mayUseGroups(ctx, conn); no != none {
			return server.NewReply(refusedSync(body, no)), nil
		}
		sync := syncEvent(body)
		// A follower brings little and may wait long. A leader brings much, and waits for no other member.
		if assignmentsSize(sync.Assignments) <= parkedSize {
			for i := range sync.Assignments {
				sync.Assignments[i].Data = bytes.Clone(sync.Assignments[i].Data)
			}
			conn.GiveBack(req)
		}
		var parked time.Duration
		begun := time.Now()
		result, err := a.sync(ctx, body.Group, sync)
		if len(sync.Assignments) == 0 { // else the wait was for the storage
			parked = time.Since(begun)
		}
		if err == nil && a.mayNoLongerUseGroups(ctx, conn) {
			return server.NewReply(refusedSync(body, groupAuthorizationFailed)), nil
		}
		reply, err := a.synced(ctx, body, result, err)
		return reply.Spent(parked, 0), err
	}
}

// sync waits for a member's assignment. Who brings the assignments waits for nothing but the storage, which the coordinator
// sets no limit.
func (a *API) sync(ctx context.Context, group string, sync coordinator.Sync) (coordinator.SyncResult, error) {
	ctx, cancel := a.parked(ctx)
	defer cancel()
	if len(sync.Assignments) > 0 {
		ctx, cancel = context.WithTimeout(ctx, groupTimeout)
		defer cancel()
	}
	return a.Groups.Sync(ctx, group, sync)
}

func assignmentsSize(assignments []coordinator.Assignment) int {
	size := 0
	for i := range assignments {
		size += len(assignments[i].MemberID) + len(assignments[i].Data)
	}
	return size
}

func syncEvent(req *kmsg.SyncGroupRequest) coordinator.Sync {
	sync := coordinator.Sync{
		MemberID: req.MemberID, InstanceID: text(req.InstanceID), Generation: req.Generation,
		ProtocolType: text(req.ProtocolType), ProtocolName: text(req.Protocol),
		RequireProtocol: req.Version >= 5,
		Assignments:     make([]coordinator.Assignment, len(req.GroupAssignment)),
	}
	for i := range req.GroupAssignment {
		sync.Assignments[i] = coordinator.Assignment{MemberID: req.GroupAssignment[i].MemberID, Data: req.GroupAssignment[i].MemberAssignment}
	}
	return sync
}

func refusedSync(req *kmsg.SyncGroupRequest, code int16) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version = req.Version
	resp.ErrorCode = code
	return resp
}

func (a *API) synced(ctx context.Context, req *kmsg.SyncGroupRequest, result coordinator.SyncResult, err error) (server.Reply, error) {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version = req.Version
	resp.ErrorCode = a.groupCode(err)
	if err != nil {
		return server.NewReply(resp), nil
	}
	const answerBytes = 32
	release, err := a.reserveAnswer(ctx, answerBytes+len(result.ProtocolType)+len(result.ProtocolName)+len(result.Assignment))
	if err != nil {
		return server.Reply{}, err
	}
	resp.ProtocolType, resp.Protocol = &result.ProtocolType, &result.ProtocolName
	resp.MemberAssignment = result.Assignment
	return server.NewReservedReply(resp, release), nil
}
