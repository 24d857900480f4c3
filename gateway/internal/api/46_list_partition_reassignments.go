// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ListPartitionReassignments (46), v0 (KIP-455): replicas are Iggy's, so none is ever on its way to another broker. As on a broker
// what is asked about and not under way is left out, whether it is there or not.

func (a *API) listPartitionReassignments(ctx context.Context, conn *server.Conn, req *kmsg.ListPartitionReassignmentsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.Version = req.Version
	if no := a.mayReadServers(ctx, conn); no != nil {
		resp.ErrorCode, resp.ErrorMessage = no.code, &no.text
	}
	return resp, nil
}
