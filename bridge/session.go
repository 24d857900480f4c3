// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// userAge is for how long what Iggy says of a user may be served from memory: what is taken away has to show within a second, also
// to those who look only now and then.
const userAge = 750 * time.Millisecond

// Session is access to Iggy as one user: the connections that carry its writes and its polls, which are nobody else's.
//
// The gateway's own opens connections by its password. One of another user begins with the connections on which its clients have
// signed in, whose passwords nobody keeps, and opens more by a personal access token: see pass. Where it has no token, the
// clients' connections carry everything, and once they are lost every call fails with ErrRefused until somebody joins.
type Session struct {
	b             *Bridge
	writes, reads *connPool
	id            iggywire.Identifier
	pass          *pass  // nil: the gateway's own user
	createdAt     uint64 // when Iggy made that other user

	ask sharedCall[*iggywire.UserDetails]

	mu   sync.Mutex
	user *iggywire.UserDetails
	asOf time.Time // when Iggy was asked for user
}

func (b *Bridge) newSession(id iggywire.Identifier, writes, reads *connPool) *Session {
	s := &Session{b: b, id: id, writes: writes, reads: reads}
	s.ask = sharedCall[*iggywire.UserDetails]{owner: b.owner, load: s.loadUser}
	b.slots.join(writes)
	return s
}

// NewSession returns access as the user who has signed in, still without a connection: Join brings them. There is one for each
// user; who asked for it closes it. ErrClosed: the bridge closes.
func (b *Bridge) NewSession(l *Login) (*Session, error) {
	reads := newConnPool(nil, b.cfg.DialTimeout, b.cfg.MaxReadConnections)
	writes := newConnPool(nil, b.cfg.DialTimeout, 1) // more when there is a token
	s := b.newSession(iggywire.NumericID(l.user.ID), writes, reads)
	s.pass, s.createdAt = newPass(), l.user.CreatedAt
	reads.open, writes.open = s.openRead, s.openWrite
	reads.vital, reads.extras = true, b.extras
	reads.others, writes.others = true, true
	if !b.others.add(s) {
		s.Close(context.Background()) // it has nothing to say goodbye to
		return nil, ErrClosed
	}
	return s, nil
}

// Join gives the session the connection of a client that has signed in as its user. The first that came by password makes the
// token. Whatever comes of it, l is used up. Errors: those of the way to Iggy.
func (s *Session) Join(ctx context.Context, l *Login) error {
	l.session.Store(s)
	if err := s.makePass(ctx, l); err != nil {
		l.Close(ctx)
		return err
	}
	if !s.reads.add(l.conn) { // there are enough
		l.Close(ctx)
	}
	s.writes.retry()
	return nil
}

// openRead opens a connection by the token.
func (s *Session) openRead(ctx context.Context) (*conn, bool, error) {
	c, err := s.openByToken(ctx)
	return c, false, err
}

// openWrite opens a connection by the token, or takes one of the clients'.
func (s *Session) openWrite(ctx context.Context) (*conn, bool, error) {
	c, err := s.openByToken(ctx)
	if err == nil || !errors.Is(err, errNoToken) {
		return c, false, err
	}
	if c = s.reads.lend(); c == nil {
		return nil, false, err
	}
	return c, true, nil
}

// errNoToken: what the session has are its clients' connections.
var errNoToken = fmt.Errorf("%w: the connections that its clients brought are lost", ErrRefused)

func (s *Session) openByToken(ctx context.Context) (*conn, error) {
	c, err := s.tryToken(ctx)
	if !isTokenGone(err) {
		return c, refused(err)
	}
	// Somebody deleted it, or it could not be renewed in time.
	if err := s.remake(ctx); err != nil {
		return nil, refused(err)
	}
	c, err = s.tryToken(ctx)
	return c, refused(err)
}

func (s *Session) tryToken(ctx context.Context) (*conn, error) {
	name, body := s.pass.login()
	if body == nil {
		return nil, errNoToken
	}
	c, err := s.b.connect(ctx, s.b.cfg.MaxAnswerSize, func(c *conn, err error) {
		s.b.ended(c, err)
		s.forget(c)
	})
	if err != nil {
		return nil, err
	}
	if _, err = c.signIn(ctx, iggywire.CodeLoginWithToken, body); isTokenGone(err) {
		s.writes.setMax(1)
		s.pass.drop(name)
	}
	return c, err
}

// User is what Iggy says of the session's user, asked through its own connection and at most a second old. It is shared: nobody
// changes it, and the pointer is the same until Iggy was asked again. ErrRefused: the user is gone or inactive, or no connection is
// left and none can be opened.
func (s *Session) User(ctx context.Context) (*iggywire.UserDetails, error) {
	s.mu.Lock()
	user, fresh := s.user, time.Since(s.asOf) <= userAge
	s.mu.Unlock()
	if user != nil && fresh {
		return user, nil
	}
	return s.ask.do(ctx)
}

func (s *Session) loadUser(ctx context.Context) (*iggywire.UserDetails, error) {
	ctx, cancel := context.WithTimeout(ctx, s.b.cfg.CallTimeout)
	defer cancel()
	asked := time.Now()
	user, err := getUser(ctx, s.request, s.id)
	switch {
	case err != nil:
	case user.Status != iggywire.UserActive: // Iggy goes on serving those who are signed in
		err = fmt.Errorf("%w: it is inactive", ErrRefused)
	case s.pass != nil && user.CreatedAt != s.createdAt: // Iggy gives the numbers of users who are gone out again
		err = fmt.Errorf("%w: its number is another user's", ErrRefused)
	}
	if err != nil {
		return nil, fmt.Errorf("bridge: user %v: %w", s.id, err)
	}
	s.mu.Lock()
	s.user, s.asOf = user, asked
	s.mu.Unlock()
	return user, nil
}

func (s *Session) request(ctx context.Context, req iggywire.Request) (answer, error) {
	return ask(ctx, s.reads, req, true)
}

// forget is told of the end of one of the session's connections.
func (s *Session) forget(c *conn) {
	s.reads.forget(c)
	s.writes.forget(c)
}

// reap closes idle connections; but those that the clients brought could not be replaced.
func (s *Session) reap() {
	s.writes.reap(s.b.cfg.IdleTimeout)
	if s.pass == nil || s.pass.held() {
		s.reads.reap(s.b.cfg.IdleTimeout)
	}
}

func (s *Session) abort() {
	s.writes.abort()
	s.reads.abort()
}

// Close deletes the session's token and signs its connections out within ctx. What is still to be written as its user fails with
// ErrClosed.
func (s *Session) Close(ctx context.Context) {
	s.b.others.remove(s)
	s.writes.close(ctx)
	if s.pass != nil {
		s.revoke(ctx)
	}
	s.reads.close(ctx)
}

// closingAtOnce bounds how many sessions sign out at the same time.
const closingAtOnce = 32

func closeAll(ctx context.Context, sessions []*Session) {
	var group errgroup.Group
	group.SetLimit(closingAtOnce)
	for _, s := range sessions {
		group.Go(func() error { s.Close(ctx); return nil })
	}
	_ = group.Wait() // there are no errors
}

// sessionTable holds the sessions of other users than the gateway's own.
type sessionTable struct {
	mu     sync.Mutex
	m      map[*Session]struct{}
	closed bool
}

func (t *sessionTable) add(s *Session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.m == nil {
		t.m = map[*Session]struct{}{}
	}
	t.m[s] = struct{}{}
	return true
}

func (t *sessionTable) remove(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.m, s)
}

func (t *sessionTable) all() []*Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.m))
}

// close returns all sessions; no more are added.
func (t *sessionTable) close() []*Session {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.all()
}
