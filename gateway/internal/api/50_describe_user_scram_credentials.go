// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeUserScramCredentials (50), v0 (KIP-554): nobody has any. Users are Iggy's, who keeps hashes of their passwords that SCRAM
// cannot be checked against.

const (
	resourceNotFound  = int16(91)
	duplicateResource = int16(92)
)

func (a *API) describeUserScramCredentials(ctx context.Context, conn *server.Conn, req *kmsg.DescribeUserSCRAMCredentialsRequest) (server.Reply, error) {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.Version = req.Version
	if no := a.mayReadServers(ctx, conn); no != nil {
		resp.ErrorCode, resp.ErrorMessage = no.code, &no.text
		return server.NewReply(resp), nil
	}
	const resultBytes = 128
	size, named := 0, make(map[string]int, len(req.Users))
	for _, user := range req.Users {
		if named[user.Name]++; named[user.Name] == 1 {
			size += resultBytes + 2*len(user.Name)
		}
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	resp.ErrorMessage = message("")
	for _, user := range req.Users { // each is answered once
		times := named[user.Name]
		delete(named, user.Name)
		if times == 0 {
			continue
		}
		out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		out.User = user.Name
		if times == 1 {
			out.ErrorCode = resourceNotFound
			out.ErrorMessage = message("Attempt to describe a user credential that does not exist: %s", user.Name)
		} else {
			out.ErrorCode = duplicateResource
			out.ErrorMessage = message("Cannot describe SCRAM credentials for the same user twice in a single request: %s", user.Name)
		}
		resp.Results = append(resp.Results, out)
	}
	return server.NewReservedReply(resp, release), nil
}
