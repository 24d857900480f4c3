// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// FindCoordinator (10), v0-6.
//
// v1: key type, throttle. v3: flexible. v4: many keys, each with its own answer (KIP-699). v5: another error for
// transactions. v6: share groups (KIP-932), which are not served.

const (
	coordinatorGroup       = 0
	coordinatorTransaction = 1
	coordinatorShare       = 2
)

const textMalformed = "This most likely occurs because of a request being malformed by the client library or the message was sent to " +
	"an incompatible broker. See the broker logs for more details."

func (a *API) findCoordinator(ctx context.Context, conn *server.Conn, req *kmsg.FindCoordinatorRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	resp.Version = req.Version
	no := a.mayUseGroups(ctx, conn)
	if req.Version < 4 {
		c := a.coordinator(conn, req, req.CoordinatorKey, no)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		switch c.ErrorCode { // as a broker does below v4
		case none:
			resp.ErrorMessage = message("NONE")
		case groupAuthorizationFailed:
			resp.ErrorMessage = message(textNoGroup)
		}
		return resp, nil
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, a.coordinator(conn, req, key, no))
	}
	return resp, nil
}

// coordinator answers for one key; no is why the client may not use groups.
func (a *API) coordinator(conn *server.Conn, req *kmsg.FindCoordinatorRequest, key string, no int16) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	switch kind := req.CoordinatorType; {
	case (req.Version == 0 || kind == coordinatorGroup) && no != none:
		c.ErrorCode, c.ErrorMessage = no, message("")
	case (req.Version == 0 || kind == coordinatorGroup) && a.fenced():
		// Another gateway serves the groups, and this one does not know which: clients ask on elsewhere.
		c.ErrorCode, c.ErrorMessage = coordinatorNotAvailable, message("The coordinator is not available.")
	case req.Version == 0 || kind == coordinatorGroup:
		c.NodeID, c.Host, c.Port = a.NodeID, conn.AdvertisedHost(), conn.AdvertisedPort()
		c.ErrorMessage = message("")
	case kind == coordinatorTransaction:
		// Fatal at once in Java and librdkafka. After a retriable code initTransactions() would spin for ever.
		c.ErrorCode, c.ErrorMessage = transactionalIDAuthFailed, message("transactions are not supported")
	case kind == coordinatorShare && req.Version >= 4:
		c.ErrorCode, c.ErrorMessage = invalidRequest, message("")
	default:
		c.ErrorCode, c.ErrorMessage = invalidRequest, message(textMalformed)
	}
	return c
}
