// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// Who may do what. Whatever Iggy does as the client's own user, Iggy decides. The rest is decided here, from the user's
// permissions in Iggy, before anything else is said of a topic or a group: as on a broker, who may not see a topic is not
// told whether it exists. A topic that is there and may not be seen has no secret id, though: asked for by it, a client
// learns that it is not allowed, and not that the id is unknown (KafkaApis.handleTopicMetadataRequest).

// client is a principal that has signed in to Iggy.
type client interface {
	server.Principal
	Session() *bridge.Session
	Access(ctx context.Context) (*permissions.Access, error)
}

// errNoPrincipal closes a connection that nobody has signed in on.
var errNoPrincipal = errors.New("api: nobody has authenticated on this connection")

// access is what the client on a connection may do, at most a second old: everything, where clients do not authenticate.
//
// An error is for code to put into words: Iggy cannot be asked. That the client has to sign in again, for which there are no
// words, has closed its connection before any handler began (admit).
func (a *API) access(ctx context.Context, conn *server.Conn) (*permissions.Access, error) {
	p, err := a.principal(conn)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return a.everything, nil
	}
	access, err := p.Access(ctx)
	if err != nil {
		return nil, fmt.Errorf("api: permissions of %q: %w: %w", p.Name(), bridge.ErrUnavailable, err)
	}
	return access, nil
}

// session is the access to Iggy of the client on a connection that admit has let through.
func (a *API) session(conn *server.Conn) *bridge.Session {
	if p, _ := a.principal(conn); p != nil {
		return p.Session()
	}
	return a.Bridge.Self()
}

// principal is who has signed in on a connection; nil where clients do not authenticate.
func (a *API) principal(conn *server.Conn) (client, error) {
	if p, ok := conn.Principal().(client); ok {
		return p, nil
	}
	if conn.SASL() != nil {
		return nil, errNoPrincipal
	}
	return nil, nil
}

// unauthenticated are the APIs that a client authenticates by.
func unauthenticated(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.SASLHandshake, kmsg.ApiVersions, kmsg.SASLAuthenticate:
		return true
	}
	return false
}

// admit says whether a request may begin: not when Iggy no longer lets the client's user in, whose connections to Iggy are
// gone for good then. Closed, the client signs in again, or is told that it cannot.
func (a *API) admit(ctx context.Context, conn *server.Conn) error {
	p, err := a.principal(conn)
	if p == nil {
		return err
	}
	if _, err := p.Access(ctx); errors.Is(err, bridge.ErrRefused) {
		return server.Closes(server.UserRefused, fmt.Errorf("api: the user has to sign in again: %w", refusalIn(err)))
	}
	return nil
}

// refusalIn is the part of an error that says that Iggy refuses, without what was tried around it.
func refusalIn(err error) error {
	for {
		var inner []error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner = []error{e.Unwrap()}
		case interface{ Unwrap() []error }:
			inner = e.Unwrap()
		}
		i := slices.IndexFunc(inner, func(e error) bool { return e != bridge.ErrRefused && errors.Is(e, bridge.ErrRefused) })
		if i < 0 {
			return err
		}
		err = inner[i]
	}
}
