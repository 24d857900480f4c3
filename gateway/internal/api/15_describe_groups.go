// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeGroups (15), v0-6.
//
// v1: throttle. v3: authorized operations (KIP-430). v4: instance ids (KIP-345). v5: flexible. v6: a group that is not
// there is an error, with a text (KIP-1043).

func (a *API) describeGroups(ctx context.Context, conn *server.Conn, req *kmsg.DescribeGroupsRequest) (server.Reply, error) {
	asking, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Version = req.Version
	access, err := a.access(asking, conn)
	if err != nil || !access.MayUseGroups() {
		resp.Groups = refusedGroups(req, a.refusedGroup(err))
		return server.NewReply(resp), nil
	}
	operations := int32(operationsNotAsked)
	if req.IncludeAuthorizedOperations {
		operations = int32(access.GroupOperations(a.mayDeleteGroups(access)))
	}
	size := 0
	for _, group := range req.Groups {
		d, err := a.Groups.Describe(asking, group)
		if size += descriptionSize(group, &d); size > a.MaxResponseSize {
			break // of many large groups no more are looked at than can be answered
		}
		resp.Groups = append(resp.Groups, a.describedGroup(req, group, d, operations, err))
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NewReservedReply(resp, release), nil
}

func refusedGroups(req *kmsg.DescribeGroupsRequest, code int16) []kmsg.DescribeGroupsResponseGroup {
	groups := make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	for i := range groups {
		groups[i].Default()
		groups[i].Group, groups[i].ErrorCode = req.Groups[i], code
	}
	return groups
}

// descriptionSize bounds what a group takes in the answer, in bytes. What a description refers to is the group's.
func descriptionSize(group string, d *coordinator.Description) int {
	const groupBytes, memberBytes = 128, 32
	size := groupBytes + 2*len(group) + len(d.ProtocolType) + len(d.Protocol)
	for i := range d.Members {
		m := &d.Members[i]
		size += memberBytes + len(m.MemberID) + len(m.InstanceID) + len(m.ClientID) + len(m.ClientHost) + len(m.Metadata) + len(m.Assignment)
	}
	return size
}

func (a *API) describedGroup(req *kmsg.DescribeGroupsRequest, group string, d coordinator.Description, operations int32, err error) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group = group
	missing := errors.Is(err, coordinator.ErrGroupIDNotFound)
	if err != nil && !missing {
		out.ErrorCode = a.groupCode(err)
		return out
	}
	if missing && req.Version >= 6 {
		out.ErrorCode, out.ErrorMessage = groupIDNotFound, message("Group %s not found.", group)
	}
	out.State, out.ProtocolType, out.Protocol = d.State.String(), d.ProtocolType, d.Protocol
	if out.ErrorCode == none {
		out.AuthorizedOperations = operations
	}
	out.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(d.Members))
	for i := range d.Members {
		m := &d.Members[i]
		out.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.MemberID, InstanceID: nullable(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
			ProtocolMetadata: m.Metadata, MemberAssignment: m.Assignment,
		}
	}
	return out
}
