// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

var errNoAuthentication = errors.New("api: a token, and clients do not authenticate here")

// SaslAuthenticate (36), v0-2 (KIP-152), and the tokens that follow SaslHandshake v0.
//
// v1: how long the session lasts (KIP-368). v2: flexible. Closed without an answer: the token could not be checked; to most
// clients an error code would be final.
func (a *API) saslAuthenticate(_ context.Context, conn *server.Conn, req *wire.Request) server.Pending {
	body, ok := req.Body.(*kmsg.SASLAuthenticateRequest)
	if !ok {
		return fails(errNoHandler)
	}
	s := conn.SASL()
	if s == nil {
		return fails(errNoAuthentication)
	}
	// At once: before the reader looks at the next frame, which is not a raw token any more.
	v := s.Take(sasl.Token, time.Now())
	return func(ctx context.Context) (server.Reply, error) {
		switch v {
		case sasl.Check:
			return a.login(ctx, conn, s, body)
		case sasl.Decline:
			resp := body.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.ErrorCode = illegalSaslState
			resp.ErrorMessage = kmsg.StringPtr("SaslAuthenticate request received after successful authentication")
			return server.NewReply(resp), nil
		}
		return outOfTurn(v, body)
	}
}

func (a *API) login(ctx context.Context, conn *server.Conn, s *sasl.Session, req *kmsg.SASLAuthenticateRequest) (server.Reply, error) {
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	ctx, cancel := a.parked(ctx) // an Iggy that hangs must not hold up a stop
	defer cancel()
	p, err := a.Logins.Login(ctx, clientAddr(conn), req.SASLAuthBytes, s.Holder())
	switch {
	case errors.Is(err, sasl.ErrRefused):
		s.Take(sasl.Rejected, time.Now())
		resp.ErrorCode, resp.ErrorMessage = saslAuthenticationFailed, kmsg.StringPtr(sasl.RefusalText(err))
		return server.NewReply(resp).ThenClose(server.AuthenticationFailed, err), nil
	case err != nil:
		s.Take(sasl.Unchecked, time.Now())
		return server.Reply{}, server.Closes(server.AuthenticationUnavailable, err)
	}
	lifetime, v := s.Accept(p.Name(), time.Now())
	if v != sasl.Admit {
		p.Release()
		return outOfTurn(v, req)
	}
	conn.SetPrincipal(p)
	resp.SessionLifetimeMillis = lifetime.Milliseconds()
	return server.NewReply(resp), nil
}

// clientAddr is the address of a connection's client, without the port.
func clientAddr(conn *server.Conn) netip.Addr {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}
