// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// AlterConfigs (33), v0-2: what is not named returns to its default.
//
// v1: throttled later (KIP-219). v2: flexible.

func (a *API) replaceConfigs(ctx context.Context, conn *server.Conn, req *kmsg.AlterConfigsRequest) (kmsg.Response, error) {
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		alter := &all[i]
		alter.kind, alter.name, alter.replace = r.ResourceType, r.ResourceName, true
		for _, c := range r.Configs {
			alter.changes = append(alter.changes, topicconfig.Change{Name: c.Name, Value: text(c.Value)})
			if c.Value == nil {
				alter.nulls = append(alter.nulls, c.Name)
			}
		}
	}
	a.alterConfigs(ctx, conn, all, req.ValidateOnly)
	resp := kmsg.NewPtrAlterConfigsResponse()
	resp.Version = req.Version
	for i := range all {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = all[i].kind, all[i].name
		out.ErrorCode, out.ErrorMessage = all[i].answered()
		resp.Resources = append(resp.Resources, out)
	}
	return resp, nil
}
