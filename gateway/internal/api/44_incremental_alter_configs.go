// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// IncrementalAlterConfigs (44), v0-1 (KIP-339): what is not named stays.
//
// v1: flexible.

func (a *API) incrementalAlterConfigs(ctx context.Context, conn *server.Conn, req *kmsg.IncrementalAlterConfigsRequest) (kmsg.Response, error) {
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		alter := &all[i]
		alter.kind, alter.name = r.ResourceType, r.ResourceName
		for _, c := range r.Configs {
			op := topicconfig.Op(c.Op)
			alter.changes = append(alter.changes, topicconfig.Change{Name: c.Name, Op: op, Value: text(c.Value)})
			if c.Value == nil && op != topicconfig.Delete {
				alter.nulls = append(alter.nulls, c.Name)
			}
		}
	}
	a.alterConfigs(ctx, conn, all, req.ValidateOnly)
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	resp.Version = req.Version
	for i := range all {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = all[i].kind, all[i].name
		out.ErrorCode, out.ErrorMessage = all[i].answered()
		resp.Resources = append(resp.Resources, out)
	}
	return resp, nil
}
