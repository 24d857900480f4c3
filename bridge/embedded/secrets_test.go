// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// A password is nowhere in memory once its user has signed in: not in the server, and not in a bridge within the same process.
func TestPasswordsAreForgotten(t *testing.T) {
	// The text must not be a constant of this program.
	password := make([]byte, 40)
	for i := range password {
		password[i] = byte('a' + i*7%26)
	}
	secret := bridgetest.Disguise(password)
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			overTCP := signInAs(t, s, nil, "ann", secret)
			within := signInAs(t, s, s.Dial, "bob", secret)
			n, err := secret.InMemory()
			if err != nil {
				t.Fatal(err)
			}
			if n != 0 {
				t.Errorf("the password is in memory in %d places", n)
			}
			runtime.KeepAlive(overTCP)
			runtime.KeepAlive(within)
		})
	}
	kept := secret.Reveal()
	if n, err := secret.InMemory(); err != nil || n == 0 {
		t.Errorf("one that is kept was found %d times, %v: the test cannot fail", n, err)
	}
	runtime.KeepAlive(kept)
}

// signInAs makes a user, and signs in through a bridge that goes to the server by dial: right, and wrong.
func signInAs(
	t *testing.T, s *Server, dialTo func(context.Context, string, string) (net.Conn, error), user string, secret bridgetest.Disguised,
) *bridge.Session {
	t.Helper()
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), Dial: dialTo,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	admin := dial(t, s)
	login(t, admin)
	password := secret.Reveal()
	create := iggywire.CreateUser{Username: user, Password: string(password), Status: iggywire.UserActive}.AppendTo(nil)
	roundTrip(t, admin, iggywire.CodeCreateUser, create)
	clear(create)
	if _, err := b.SignIn(t.Context(), user, append(secret.Reveal(), 'x')); !errors.Is(err, bridge.ErrRefused) {
		t.Errorf("with a wrong password: %v", err)
	}
	l, err := b.SignIn(t.Context(), user, password)
	if err != nil {
		t.Fatal(err)
	}
	session, err := b.NewSession(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Join(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := session.User(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session
}
