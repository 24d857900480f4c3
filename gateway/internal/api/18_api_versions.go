// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// ApiVersions (18), v0-4.
//
// v1: throttle. v3: flexible; the client names its software (KIP-511). v4: features with a lowest version of 0
// (KIP-896), of which we list none. A version above ours is answered in the form of v0 with error 35.
func (a *API) apiVersions(_ context.Context, conn *server.Conn, req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
	resp := a.Table.ApiVersions(req)
	if resp.ErrorCode == none && req.Version >= 3 {
		conn.SetClientSoftware(req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	return resp, nil
}
