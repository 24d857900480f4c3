// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/refusals"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// guard answers a request that is out of turn for how far its connection has authenticated; nil: it is not. SaslHandshake and
// SaslAuthenticate ask for themselves.
func (a *API) guard(conn *server.Conn, req *wire.Request) server.Pending {
	s := conn.SASL()
	if s == nil {
		return nil
	}
	in := sasl.Request
	switch kmsg.Key(req.Header.Key) {
	case kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		return nil
	case kmsg.ApiVersions:
		in = sasl.Versions
	}
	v := s.Take(in, time.Now())
	if v == sasl.Serve {
		return nil
	}
	if req.AboveMax {
		req.Body.SetVersion(0) // the form that every client can read (KIP-511)
	}
	reply, err := outOfTurn(v, req.Body)
	if err != nil {
		return fails(err)
	}
	return answers(reply)
}

// outOfTurn does what a verdict says that is not about the credentials.
func outOfTurn(v sasl.Verdict, req kmsg.Request) (server.Reply, error) {
	if v == sasl.Decline {
		return illegalState(req), nil
	}
	err := fmt.Errorf("api: %s v%d is out of turn: the client has not logged in (security.protocol SASL_SSL or SASL_PLAINTEXT)",
		kmsg.NameForKey(req.Key()), req.GetVersion())
	switch v {
	case sasl.Illegal:
		return illegalState(req).ThenClose(server.Unauthenticated, err), nil
	case sasl.Expire:
		return server.Reply{}, server.Closes(server.SessionExpired, errors.New("api: the client has not logged in again in time"))
	}
	return server.Reply{}, server.Closes(server.Unauthenticated, err)
}

func illegalState(req kmsg.Request) server.Reply {
	return server.NewReply(refusals.Of(req, illegalSaslState))
}
