// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ListConfigResources (74), v0-1: what has settings (KIP-1142).
//
// v0 lists subscriptions to client metrics (KIP-714), of which there are none. v1: all types.

func (a *API) listConfigResources(ctx context.Context, conn *server.Conn, req *kmsg.ListConfigResourcesRequest) (server.Reply, error) {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	resp.Version = req.Version
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	access, err := a.access(ctx, conn)
	if err != nil {
		resp.ErrorCode = a.code(opDescribeConfigs, err, false)
		return server.NewReply(resp), nil
	}
	known := []int8{int8(kmsg.ConfigResourceTypeTopic), int8(kmsg.ConfigResourceTypeBroker), int8(kmsg.ConfigResourceTypeBrokerLogger),
		int8(clientMetricsResource), int8(groupResource)}
	wanted := func(kind kmsg.ConfigResourceType) bool {
		return req.Version > 0 && (len(req.ResourceTypes) == 0 || slices.Contains(req.ResourceTypes, int8(kind)))
	}
	switch {
	case !access.MayReadServers():
		resp.ErrorCode = clusterAuthFailed
		return server.NewReply(resp), nil
	case slices.ContainsFunc(req.ResourceTypes, func(kind int8) bool { return !slices.Contains(known, kind) }):
		resp.ErrorCode = unsupportedVersion
		return server.NewReply(resp), nil
	}
	add := func(kind kmsg.ConfigResourceType, name string) {
		r := kmsg.NewListConfigResourcesResponseConfigResource()
		r.Type, r.Name = int8(kind), name
		resp.ConfigResources = append(resp.ConfigResources, r)
	}
	if wanted(kmsg.ConfigResourceTypeBroker) {
		add(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(a.NodeID)))
	}
	if !wanted(kmsg.ConfigResourceTypeTopic) || a.Bridge == nil {
		return server.NewReply(resp), nil
	}
	view, err := a.Bridge.Topics(ctx)
	if err != nil {
		resp.ErrorCode = a.code(opDescribeConfigs, err, false)
		return server.NewReply(resp), nil
	}
	topics, size := sight{view, access}.all(permissions.Describe), 64
	for _, t := range topics {
		size += len(t.Name) + 8
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	for _, t := range topics {
		add(kmsg.ConfigResourceTypeTopic, t.Name)
	}
	return server.NewReservedReply(resp, release), nil
}
