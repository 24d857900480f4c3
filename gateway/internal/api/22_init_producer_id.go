// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// InitProducerId (22), v0-5.
//
// v2: flexible. v3: the client names the id and epoch it has (KIP-360); it gets a new id all the same, as from a
// broker when there is no transactional id. v4, v5: other errors for transactions, which are not served.
func (a *API) initProducerID(ctx context.Context, conn *server.Conn, req *kmsg.InitProducerIDRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.Version = req.Version
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID != nil && *req.TransactionalID != "":
		resp.ErrorCode = unsupportedVersion
	case req.Version >= 3 && (req.ProducerID < 0) != (req.ProducerEpoch < 0):
		resp.ErrorCode = invalidRequest
	default:
		ctx, cancel := context.WithTimeout(ctx, groupTimeout)
		defer cancel()
		access, err := a.access(ctx, conn)
		if err == nil && !access.MaySendAnywhere() {
			resp.ErrorCode = clusterAuthFailed
			break
		}
		var id int64
		if err == nil {
			id, err = a.ids.Next(ctx, a.Now())
		}
		if err != nil {
			// As a broker that has no block of ids. The codes for a coordinator that is elsewhere would make Java's
			// producer look for one of transactions.
			a.logFailure("no producer id", err)
			resp.ErrorCode = coordinatorLoadInProgress
			break
		}
		resp.ProducerID, resp.ProducerEpoch = id, 0
	}
	return resp, nil
}
