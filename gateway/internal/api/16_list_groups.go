// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ListGroups (16), v0-5.
//
// v1: throttle. v3: flexible. v4: states (KIP-518). v5: types (KIP-848).
func (a *API) listGroups(ctx context.Context, conn *server.Conn, req *kmsg.ListGroupsRequest) (server.Reply, error) {
	asking, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	if no := a.mayUseGroups(asking, conn); no != none {
		resp := kmsg.NewPtrListGroupsResponse()
		resp.Version, resp.ErrorCode = req.Version, no
		return server.NewReply(resp), nil
	}
	groups, err := a.Groups.List(asking, coordinator.Filter{States: req.StatesFilter, Types: req.TypesFilter})
	size, count := 0, 0
	for i := range groups {
		const groupBytes = 48
		n := groupBytes + len(groups[i].ID) + len(groups[i].ProtocolType)
		if size+n > a.MaxResponseSize {
			a.Logger.Warn("list of all groups cut at the largest answer", "groups", len(groups), "answered", count)
			break
		}
		size, count = size+n, count+1
	}
	release, refused := a.reserve(ctx, int64(size))
	if refused != nil {
		return server.Reply{}, refused
	}
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = req.Version
	resp.ErrorCode = a.groupCode(err)
	resp.Groups = make([]kmsg.ListGroupsResponseGroup, count)
	for i := range resp.Groups {
		g := &groups[i]
		resp.Groups[i] = kmsg.ListGroupsResponseGroup{
			Group: g.ID, ProtocolType: g.ProtocolType, GroupState: g.State.String(), GroupType: g.Type,
		}
	}
	return server.NewReservedReply(resp, release), nil
}
