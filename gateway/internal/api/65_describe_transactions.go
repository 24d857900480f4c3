// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeTransactions (65), v0 (KIP-664): there are none, as transactions are not served.

const transactionalIDNotFound = int16(105)

func (a *API) describeTransactions(ctx context.Context, conn *server.Conn, req *kmsg.DescribeTransactionsRequest) (server.Reply, error) {
	const stateBytes = 48
	no := a.mayReadServers(ctx, conn)
	size := 0
	for _, id := range req.TransactionalIDs {
		size += stateBytes + len(id)
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.Version = req.Version
	for _, id := range req.TransactionalIDs {
		out := kmsg.NewDescribeTransactionsResponseTransactionState()
		out.TransactionalID = id
		switch {
		case no != nil && no.code == clusterAuthFailed:
			out.ErrorCode = transactionalIDAuthFailed
		case no != nil:
			out.ErrorCode = coordinatorNotAvailable
		case id == "":
			out.ErrorCode = invalidRequest
		default:
			out.ErrorCode = transactionalIDNotFound
		}
		resp.TransactionStates = append(resp.TransactionStates, out)
	}
	return server.NewReservedReply(resp, release), nil
}
