// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// Heartbeat (12), v0-4.
//
// v1: throttle. v3: instance ids (KIP-345). v4: flexible.
func (a *API) heartbeat(ctx context.Context, conn *server.Conn, req *kmsg.HeartbeatRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.Version = req.Version
	if resp.ErrorCode = a.mayUseGroups(ctx, conn); resp.ErrorCode != none {
		return resp, nil
	}
	resp.ErrorCode = a.groupCode(a.Groups.Heartbeat(ctx, req.Group, coordinator.Heartbeat{
		MemberID: req.MemberID, InstanceID: text(req.InstanceID), Generation: req.Generation,
	}))
	return resp, nil
}
