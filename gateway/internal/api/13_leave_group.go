// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// LeaveGroup (13), v0-5.
//
// v1: throttle. v3: many members, each with its own answer, also by instance id (KIP-345). v4: flexible. v5: reasons
// (KIP-800).
func (a *API) leaveGroup(ctx context.Context, conn *server.Conn, req *kmsg.LeaveGroupRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = req.Version
	if resp.ErrorCode = a.mayUseGroups(ctx, conn); resp.ErrorCode != none {
		return resp, nil
	}
	if req.Version < 3 {
		result, err := a.Groups.Leave(ctx, req.Group, coordinator.Leave{Members: []coordinator.Identity{{MemberID: req.MemberID}}})
		if err == nil {
			err = result.Members[0].Err
		}
		resp.ErrorCode = a.groupCode(err)
		return resp, nil
	}
	leave := coordinator.Leave{Members: make([]coordinator.Identity, len(req.Members))}
	for i := range req.Members {
		leave.Members[i] = coordinator.Identity{MemberID: req.Members[i].MemberID, InstanceID: text(req.Members[i].InstanceID)}
	}
	result, err := a.Groups.Leave(ctx, req.Group, leave)
	if err != nil {
		resp.ErrorCode = a.groupCode(err)
		return resp, nil
	}
	resp.Members = make([]kmsg.LeaveGroupResponseMember, len(req.Members))
	for i := range req.Members {
		m := &resp.Members[i]
		m.MemberID, m.InstanceID = req.Members[i].MemberID, req.Members[i].InstanceID
		m.ErrorCode = a.groupCode(result.Members[i].Err)
	}
	return resp, nil
}
