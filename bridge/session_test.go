// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Each client costs one login by password, however many connections its user has: the first is the one that it signed in on.
func TestOneLoginPerClient(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		s := signIn(t, b, "ann")
		if n := f.connected("ann"); n != 1 {
			t.Errorf("%d connections after the sign-in", n)
		}
		top := topic(t, b, "orders", 1)
		for i := range 3 {
			if got, err := write(t, b, top, 0, as(s, batch(b, byte(i+1), 2))); err != nil || got.BaseOffset != int64(2*i) {
				t.Fatalf("%+v, %v", got, err)
			}
			if m, err := b.Read(t.Context(), s, top, 0, 0, 1); err != nil || m.Count != 1 {
				t.Fatalf("%d, %v", m.Count, err)
			}
		}
		join(t, b, s, "ann")
		if n := f.did("ann", iggywire.CodeLoginUser); n != 2 {
			t.Errorf("%d logins by password, of two clients", n)
		}
		if n := f.did("ann", iggywire.CodeLoginWithToken); n != 1 {
			t.Errorf("%d logins by token, for one connection that writes", n)
		}
		if n := f.did("ann", iggywire.CodeSendMessages); n != 3 {
			t.Errorf("%d of 3 sends as ann", n)
		}
		if polls := f.did("ann", iggywire.CodePollMessages); polls != 3 {
			t.Errorf("%d polls as ann, of which 3 were hers: verifying is the gateway's", polls)
		}
		s.Close(t.Context())
		if n := f.connected("ann"); n != 0 {
			t.Errorf("%d connections after Close", n)
		}
		if left := f.tokensOf("ann"); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if _, err := write(t, b, top, 0, as(s, batch(b, 9, 1))); !errors.Is(err, ErrClosed) {
			t.Errorf("a write after Close: %v", err)
		}
		if epoch := b.epoch.Load(); epoch != 0 {
			t.Errorf("%d connections counted as lost", epoch)
		}
	})
}

// Who may not sign in is told so in one class, which is not that of a fault of the gateway's own user.
func TestSignInRefused(t *testing.T) {
	withPrincipals(t, nil, []string{"ann", "ian"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.with(func() { f.users.byName["ian"].inactive = true })
		for name, password := range map[string]string{"ann": "wrong", "nobody": "password of nobody", "ian": "password of ian"} {
			secret := []byte(password)
			_, err := b.SignIn(t.Context(), name, secret)
			if !errors.Is(err, ErrRefused) || IsLoginFailed(err) || IsRetryable(err) {
				t.Errorf("%s: %v", name, err)
			}
			if slices.Max(secret) != 0 {
				t.Errorf("%s: the password is still there", name)
			}
		}
		for _, token := range []string{"", "no token", string(make([]byte, 300))} {
			if _, err := b.SignInByToken(t.Context(), []byte(token)); !errors.Is(err, ErrRefused) {
				t.Errorf("token of %d bytes: %v", len(token), err)
			}
		}
		f.with(func() { f.down = true })
		if _, err := b.SignIn(t.Context(), "ann", []byte("password of ann")); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) {
			t.Errorf("iggy is away: %v", err)
		}
		f.with(func() { f.down = false })
		f.once(iggywire.CodeLoginUser, hang)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := b.SignIn(ctx, "ann", []byte("password of ann")); !IsTimeout(err) || errors.Is(err, ErrRefused) {
			t.Errorf("iggy hangs: %v", err)
		}
		if n := f.connected("ann") + f.connected("ian"); n != 0 {
			t.Errorf("%d connections left", n)
		}
	})
}

// Where Iggy gives no token the clients' connections carry everything, and nothing goes on without them.
func TestWithoutToken(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.with(func() { f.users.byName["ann"].noTokens = iggywire.StatusTokensLimitReached })
		s := signIn(t, b, "ann")
		top := topic(t, b, "orders", 2)
		check := func(when string, connections int) {
			t.Helper()
			for p := range int32(2) {
				if _, err := write(t, b, top, p, as(s, batch(b, 1, 1))); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				if _, err := b.Read(t.Context(), s, top, p, 0, 1); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			if n := f.connected("ann"); n != connections {
				t.Errorf("%s: %d connections, want %d", when, n, connections)
			}
		}
		check("one client", 1)
		join(t, b, s, "ann")
		check("two clients", 2)
		time.Sleep(time.Hour)
		check("after an idle hour", 2)

		f.cutOff("ann")
		_, err := write(t, b, top, 0, as(s, batch(b, 2, 1)))
		if !errors.Is(err, ErrRefused) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("a write when all are lost: %v", err)
		}
		if _, err := s.User(t.Context()); !errors.Is(err, ErrRefused) {
			t.Errorf("the user when all are lost: %v", err)
		}
		if _, err := write(t, b, top, 0, batch(b, 3, 1)); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		join(t, b, s, "ann")
		check("a client is back", 1)

		f.with(func() { f.users.byName["ann"].noTokens = 0 })
		join(t, b, s, "ann")
		f.cutOff("ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 4, 1))); err != nil {
			t.Errorf("with a token at last: %v", err)
		}
	})
}

// Who came by a token of its own is given no other, which would outlive it.
func TestClientWithToken(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.with(func() {
			f.users.byName["ann"].tokens["hers"] = fakeToken{"secret", time.Now().Add(time.Hour)}
		})
		l, err := b.SignInByToken(t.Context(), []byte("secret"))
		if err != nil {
			t.Fatal(err)
		}
		if l.User().Username != "ann" {
			t.Errorf("it is %q", l.User().Username)
		}
		s, err := b.NewSession(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Join(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
			t.Error(err)
		}
		if got := f.tokensOf("ann"); len(got) != 1 {
			t.Errorf("tokens: %q", got)
		}
		join(t, b, s, "ann") // by password
		if got := f.tokensOf("ann"); len(got) != 2 {
			t.Errorf("tokens: %q", got)
		}
		s.Close(t.Context())
		if got := f.tokensOf("ann"); len(got) != 1 || got[0] != "hers" {
			t.Errorf("tokens at the end: %q", got)
		}
	})
}

// A user that Iggy deletes, or makes inactive, is out within a second, and nobody else.
func TestUserTakenAway(t *testing.T) {
	withPrincipals(t, nil, []string{"ann", "ian"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		ann, ian := signIn(t, b, "ann"), signIn(t, b, "ian")
		for _, s := range []*Session{ann, ian} {
			if _, err := s.User(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
				t.Fatal(err)
			}
		}
		f.with(func() {
			f.users.byName["ann"].gone = true
			delete(f.users.byName, "ann")
			f.users.byName["ian"].inactive = true
		})
		time.Sleep(userAge + time.Millisecond)
		for name, s := range map[string]*Session{"ann": ann, "ian": ian} {
			if _, err := s.User(t.Context()); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := write(t, b, top, 0, as(ann, batch(b, 2, 1)))
		if !errors.Is(err, ErrRefused) || IsLoginFailed(err) || IsUnknownOutcome(err) {
			t.Errorf("a write as somebody who is gone: %v", err)
		}
		if got, err := write(t, b, top, 0, batch(b, 3, 1)); err != nil || got.BaseOffset != 2 {
			t.Errorf("somebody else: %+v, %v", got, err)
		}
	})
}

// What Iggy says of a user is asked for once in a while, whoever wants to know.
func TestUserIsShared(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		s := signIn(t, b, "ann")
		before := f.did("ann", iggywire.CodeGetUser)
		first, err := s.User(t.Context())
		if err != nil || first.Username != "ann" {
			t.Fatalf("%+v, %v", first, err)
		}
		for range 10 {
			time.Sleep(userAge / 10)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if u, err := s.User(t.Context()); err != nil || u != first {
						t.Errorf("%p, %v, want %p", u, err, first)
					}
				})
			}
			wg.Wait()
		}
		if n := f.did("ann", iggywire.CodeGetUser) - before; n != 1 {
			t.Errorf("%d questions within %v", n, userAge)
		}
		time.Sleep(time.Millisecond)
		if u, err := s.User(t.Context()); err != nil || u == first {
			t.Errorf("afterwards: the same, %v", err)
		}
		if u, err := b.Self().User(t.Context()); err != nil || u.Username != "iggy" {
			t.Errorf("the gateway's own: %v", err)
		}
	})
}

// Batches of several users that meet in one lane: the refusal of one user's touches nobody else's, and no producer.
func TestRefusedBesideOthers(t *testing.T) {
	withPrincipals(t, nil, []string{"ann", "bob"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		ann, bob := signIn(t, b, "ann"), signIn(t, b, "bob")
		f.with(func() { f.users.byName["bob"].denied[iggywire.CodeSendMessages] = true })
		f.once(iggywire.CodeSendMessages, slow) // so that the rest meets in the queue
		var batches []*Append
		for i := range int32(6) {
			batches = append(batches,
				as(ann, idempotent(b, 7, 0, 2*i, 2)), as(bob, idempotent(b, 8, 0, 2*i, 2)), as(b.Self(), idempotent(b, 9, 0, 2*i, 2)))
		}
		for _, a := range batches {
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		for i, a := range batches {
			got, err := a.Wait(t.Context())
			if ofBob := a.Session == bob; ofBob && !IsUnauthorized(err) || !ofBob && err != nil {
				t.Errorf("batch %d: %+v, %v", i, got, err)
			}
		}
		if n := len(f.stored("orders")); n != 24 {
			t.Errorf("%d messages", n)
		}
		// Allowed again, the producer begins anew where it had to stop.
		f.with(func() { delete(f.users.byName["bob"].denied, iggywire.CodeSendMessages) })
		expect(t, b, top, as(bob, idempotent(b, 8, 0, 0, 2)), "at 24")
		expect(t, b, top, as(ann, idempotent(b, 7, 0, 12, 2)), "at 26")
		expect(t, b, top, as(ann, idempotent(b, 7, 0, 10, 2)), "duplicate of 20, newest 12")
	})
}

// A session closes while its batches are on their way: what is sent is waited for, what is not sent fails as not written, and those
// of others go on. A producer whose batches failed so is answered as before when it comes back.
func TestCloseUnderWay(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		ann := signIn(t, b, "ann")
		expect(t, b, top, as(ann, idempotent(b, 7, 0, 0, 2)), "at 0")
		f.once(iggywire.CodeSendMessages, slow)
		sent := as(ann, idempotent(b, 7, 0, 2, 2))
		if err := b.Append(top, 0, sent); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		queued, others := as(ann, idempotent(b, 7, 0, 4, 2)), batch(b, 1, 1)
		for _, a := range []*Append{queued, others} {
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		ann.Close(t.Context())
		if got, err := sent.Wait(t.Context()); err != nil || got.BaseOffset != 2 {
			t.Errorf("what was sent: %+v, %v", got, err)
		}
		if _, err := queued.Wait(t.Context()); !errors.Is(err, ErrClosed) || IsUnknownOutcome(err) {
			t.Errorf("what was not: %v", err)
		}
		if got, err := others.Wait(t.Context()); err != nil || got.BaseOffset != 4 {
			t.Errorf("the other user's: %+v, %v", got, err)
		}
		again := signIn(t, b, "ann")
		expect(t, b, top, as(again, idempotent(b, 7, 0, 6, 2)), "out of order")
		expect(t, b, top, as(again, idempotent(b, 7, 0, 4, 2)), "at 5")
		if epoch := b.epoch.Load(); epoch != 0 {
			t.Errorf("%d connections counted as lost", epoch)
		}
	})
}

// Iggy gives the number of a user who was deleted out again, and knows who is signed in on a connection by that number. What it
// then says of the number is about somebody else.
func TestNumberOfTheUserGivenOutAgain(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		s := signIn(t, b, "ann")
		if _, err := s.User(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.with(func() {
			ann := f.users.byName["ann"]
			delete(f.users.byName, "ann")
			f.users.byName["eve"] = &fakeUser{
				id: ann.id, created: ann.created + 1, name: "eve", password: "password of eve",
				tokens: map[string]fakeToken{}, denied: ann.denied, did: ann.did,
			}
		})
		time.Sleep(time.Second)
		if u, err := s.User(t.Context()); !errors.Is(err, ErrRefused) {
			t.Errorf("ann's session is told of %q (made at %d): %v", u.Username, u.CreatedAt, err)
		}
	})
}
