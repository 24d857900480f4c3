// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package principals knows the Iggy users as whom the gateway's clients act: it signs clients in, lets all clients of one
// user share that user's connections to Iggy, and closes these when the last of them has been gone for a while.
//
// What a client may do is Iggy's to decide, or follows from what Iggy says of its user: package permissions.
package principals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

var (
	// ErrRefused: Iggy does not let that user in with that password or token. Wrong, unknown and inactive are one class.
	ErrRefused = bridge.ErrRefused
	// ErrUnavailable: Iggy could not be asked, or did not answer in time.
	ErrUnavailable = errors.New("principals: iggy unavailable")
)

// TokenUser is the user name with which the password is a personal access token.
const TokenUser = "$token"

const (
	// partingTime bounds how long the connections of a user who has gone may take to sign out.
	partingTime = 5 * time.Second
	// closingAtOnce is for how many users they do so at the same time, at the end.
	closingAtOnce = 32
)

// Directory holds the principals in use. All methods are safe for concurrent use.
type Directory struct {
	bridge *bridge.Bridge
	idle   time.Duration
	self   *Principal

	mu       sync.Mutex
	accounts map[identity]*account
	closed   bool
	parting  sync.WaitGroup // accounts that close while the directory is open
}

// identity tells users apart: Iggy gives numbers and names of deleted ones out again.
type identity struct {
	id        uint32
	createdAt uint64
}

// Open returns the directory of the principals that reach Iggy through b. The connections of a user without clients are kept for
// idle. Close it before b.
func Open(b *bridge.Bridge, idle time.Duration) *Directory {
	return &Directory{
		bridge: b, idle: idle, accounts: map[identity]*account{},
		self: &Principal{account: &account{session: b.Self()}, release: func() {}},
	}
}

// Self is the gateway's own user. It has no name, and its Release does nothing.
func (d *Directory) Self() *Principal { return d.self }

// SignIn asks Iggy, with one login, whether it lets user in with password; with TokenUser the password is one of the
// user's personal access tokens. The bytes of password are overwritten. Errors: ErrRefused, ErrUnavailable.
func (d *Directory) SignIn(ctx context.Context, user string, password []byte) (*Principal, error) {
	login, err := d.login(ctx, user, password)
	if err != nil {
		return nil, class(err)
	}
	name := login.User().Username
	key, a, err := d.hold(login)
	if err != nil {
		login.Close(ctx)
		return nil, class(err)
	}
	release := sync.OnceFunc(func() { d.drop(key, a) })
	if err := a.session.Join(ctx, login); err != nil {
		release()
		return nil, class(err)
	}
	return &Principal{name: name, account: a, release: release}, nil
}

func (d *Directory) login(ctx context.Context, user string, password []byte) (*bridge.Login, error) {
	if user == TokenUser {
		return d.bridge.SignInByToken(ctx, password)
	}
	return d.bridge.SignIn(ctx, user, password)
}

// class gives what went wrong with a sign-in one of its two classes.
func class(err error) error {
	if errors.Is(err, ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// hold returns the account of who has signed in, which stays open until drop was called as often.
func (d *Directory) hold(login *bridge.Login) (identity, *account, error) {
	key := identity{login.User().ID, login.User().CreatedAt}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return key, nil, bridge.ErrClosed
	}
	a := d.accounts[key]
	if a == nil {
		session, err := d.bridge.NewSession(login)
		if err != nil {
			return key, nil, err
		}
		a = &account{session: session}
		d.accounts[key] = a
	}
	a.holds++
	if a.leave != nil {
		a.leave.Stop()
	}
	return key, a, nil
}

// drop ends what hold began.
func (d *Directory) drop(key identity, a *account) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.holds--; a.holds == 0 && !d.closed {
		a.leave = time.AfterFunc(d.idle, func() { d.expire(key, a) })
	}
}

// expire closes an account that nobody has held for long.
func (d *Directory) expire(key identity, a *account) {
	d.mu.Lock()
	if a.holds > 0 || d.closed || d.accounts[key] != a {
		d.mu.Unlock()
		return
	}
	delete(d.accounts, key)
	d.parting.Add(1)
	d.mu.Unlock()
	defer d.parting.Done()
	ctx, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	a.session.Close(ctx)
}

// Close signs all principals out within ctx. What is done as one of them fails from now on.
func (d *Directory) Close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	accounts := d.accounts
	d.accounts = nil
	for _, a := range accounts {
		if a.leave != nil {
			a.leave.Stop()
		}
	}
	d.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(closingAtOnce)
	for _, a := range accounts {
		group.Go(func() error { a.session.Close(ctx); return nil })
	}
	_ = group.Wait() // there are no errors
	d.parting.Wait()
}
