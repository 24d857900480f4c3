// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DeleteGroups (42), v0-2.
//
// v1: throttle. v2: flexible.

// deletesAtOnce is how many groups of one request are deleted side by side, so that their removals share a write.
const deletesAtOnce = 64

func (a *API) deleteGroups(ctx context.Context, conn *server.Conn, req *kmsg.DeleteGroupsRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = req.Version
	seen := map[string]bool{}
	for _, group := range req.Groups {
		if seen[group] {
			continue // a repeated group is answered once
		}
		seen[group] = true
		out := kmsg.NewDeleteGroupsResponseGroup()
		out.Group = group
		resp.Groups = append(resp.Groups, out)
	}
	access, err := a.access(ctx, conn)
	if err != nil || !a.mayDeleteGroups(access) {
		for i := range resp.Groups {
			resp.Groups[i].ErrorCode = a.refusedGroup(err)
		}
		return resp, nil
	}
	var deletes errgroup.Group
	deletes.SetLimit(deletesAtOnce)
	for i := range resp.Groups {
		out := &resp.Groups[i]
		deletes.Go(func() error {
			out.ErrorCode = a.groupCode(a.Groups.Delete(ctx, out.Group))
			return nil
		})
	}
	_ = deletes.Wait() // each has put its error into words
	return resp, nil
}
