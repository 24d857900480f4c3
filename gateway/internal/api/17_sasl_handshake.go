// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// SaslHandshake (17), v0-1 (KIP-43).
//
// v0: the token is the next frame, without a request header. v1: it comes in SaslAuthenticate (KIP-152). Who has authenticated
// sends it to authenticate again (KIP-368). Where clients do not authenticate, the answer is 34, without mechanisms.
func (a *API) saslHandshake(_ context.Context, conn *server.Conn, req *kmsg.SASLHandshakeRequest) (server.Reply, error) {
	s := conn.SASL()
	if s == nil {
		return illegalState(req), nil
	}
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.SupportedMechanisms = []string{sasl.Plain}
	switch v := s.Take(handshake(req), time.Now()); v {
	case sasl.Agree:
		return server.NewReply(resp), nil
	case sasl.Offer:
		resp.ErrorCode = unsupportedMechanism
		return server.NewReply(resp).ThenClose(server.AuthenticationFailed,
			fmt.Errorf("api: the client wants to authenticate by %.20q, which is not offered", req.Mechanism)), nil
	default:
		return outOfTurn(v, req)
	}
}

func handshake(req *kmsg.SASLHandshakeRequest) sasl.Input {
	switch {
	case req.Mechanism != sasl.Plain:
		return sasl.Foreign
	case req.Version == 0:
		return sasl.RawHandshake
	}
	return sasl.Handshake
}
