// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package principals

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// account is an Iggy user with clients. The directory's mu guards holds and leave.
type account struct {
	session *bridge.Session
	holds   int
	leave   *time.Timer // closes it; nil: it was never without clients

	access atomic.Pointer[derived]
}

// derived is what follows from one answer of Iggy's.
type derived struct {
	from   *iggywire.UserDetails
	access *permissions.Access
}

// Principal is one client's hold on an Iggy user.
type Principal struct {
	name    string
	account *account
	release func()
}

// Name is the Iggy user's name, also for who came with a token.
func (p *Principal) Name() string { return p.name }

// Session is the access to Iggy as that user.
func (p *Principal) Session() *bridge.Session { return p.account.session }

// User is what Iggy says of the user, asked through its own connection, at most a second old. It is shared: nobody changes it,
// and the pointer is the same until Iggy was asked again. ErrRefused: Iggy no longer lets the user in, or its connections
// are lost and the gateway cannot open new ones in its name; the client has to sign in again.
func (p *Principal) User(ctx context.Context) (*iggywire.UserDetails, error) {
	return p.account.session.User(ctx)
}

// Access is what follows from User: what the user may do. Its errors are User's.
func (p *Principal) Access(ctx context.Context) (*permissions.Access, error) {
	user, err := p.User(ctx)
	if err != nil {
		return nil, err
	}
	if known := p.account.access.Load(); known != nil && known.from == user {
		return known.access, nil
	}
	d := &derived{user, permissions.New(user.Permissions)}
	p.account.access.Store(d)
	return d.access, nil
}

// Release ends the client's hold; more than once does nothing.
func (p *Principal) Release() { p.release() }
