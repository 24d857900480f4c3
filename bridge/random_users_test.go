// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// The same with clients of several users, for all of whom there are two connections that write. One of them gets no token.
func TestRandomFaultsOfUsers(t *testing.T) {
	randomFaults(t, 20, func(w *randomWorld) {
		w.f.withUsers()
		w.f.addUser("ann")
		w.f.addUser("bob").noTokens = iggywire.StatusTokensLimitReached
		w.users = &randomUsers{turn: make(chan struct{}, 1), sessions: map[randomUser]*Session{}}
	})
}

// randomUsers are the sessions that the clients have opened.
type randomUsers struct {
	turn     chan struct{} // a semaphore of one: a mutex cannot be waited for in synctest's time
	sessions map[randomUser]*Session
}

type randomUser struct {
	bridge *Bridge
	name   string
}

// session is access as the user of a client, which signs in if need be; nil: that has failed.
func (w *randomWorld) session(b *Bridge, client int64) *Session {
	who := randomUser{b, []string{"", "ann", "bob"}[client%3]}
	if w.users == nil || who.name == "" {
		return b.Self()
	}
	w.users.turn <- struct{}{}
	defer func() { <-w.users.turn }()
	s := w.users.sessions[who]
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s != nil {
		if _, err := s.User(ctx); !errors.Is(err, ErrRefused) {
			return s
		}
	}
	l, err := b.SignIn(ctx, who.name, []byte("password of "+who.name))
	if errors.Is(err, ErrRefused) {
		w.t.Errorf("%s: %v", who.name, err)
	}
	if err != nil {
		return nil
	}
	if s == nil {
		if s, err = b.NewSession(l); err != nil {
			l.Close(ctx)
			return nil
		}
		w.users.sessions[who] = s
	}
	if s.Join(ctx, l) != nil {
		return nil
	}
	return s
}
