// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ListTransactions (66), v0-2 (KIP-664): there are none, as transactions are not served.
//
// v1: how long they have run (KIP-994). v2: a pattern of transactional ids (KIP-1152).

const invalidRegularExpression = int16(128)

func (a *API) listTransactions(_ context.Context, _ *server.Conn, req *kmsg.ListTransactionsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.Version = req.Version
	if req.Version >= 2 && req.TransactionalIDPattern != nil {
		if _, err := regexp.Compile(*req.TransactionalIDPattern); err != nil { // a broker uses the same syntax, RE2
			resp.ErrorCode = invalidRegularExpression
			return resp, nil
		}
	}
	for _, state := range req.StateFilters {
		if !isTransactionState(state) && !slices.Contains(resp.UnknownStateFilters, state) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, state)
		}
	}
	return resp, nil
}

// isTransactionState: org.apache.kafka.coordinator.transaction.TransactionState, whose case counts.
func isTransactionState(name string) bool {
	switch name {
	case "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence":
		return true
	}
	return false
}
