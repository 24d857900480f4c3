// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func TestTokenNames(t *testing.T) {
	b := &Bridge{cfg: Config{TokenPrefix: "iggy-kafka-65535"}, boot: newBoot()}
	if name := b.tokenName(36*36*36*36 - 1); len(name) > 30 {
		t.Errorf("%q has %d bytes", name, len(name))
	}
	for name, stale := range map[string]bool{
		"iggy-kafka-65535-0123abcd-1":          true,
		"iggy-kafka-65535-0123abcd-zz":         true,
		b.tokenName(7):                         false, // of this process
		"iggy-kafka-6553-0123abcd-1":           false, // of another instance
		"iggy-kafka-65535-0123abcd":            false,
		"iggy-kafka-65535-0123abc-1":           false,
		"iggy-kafka-65535-backup":              false, // the user's own
		"iggy-kafka-65535-0123abcd-of my own!": false,
		"mine":                                 false,
	} {
		if got := b.isStale(name); got != stale {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// One token for each user, however many clients come at once; what predecessors left behind goes, what is not theirs stays.
func TestTokenMade(t *testing.T) {
	numbered := func(c *Config) { c.TokenPrefix = "gw-3" }
	withPrincipals(t, numbered, []string{"ann", "bob"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.with(func() {
			for _, name := range []string{"gw-3-00000000-1", "gw-3-ffffffff-a", "gw-33-00000000-1", "gw-3-mine", "hers"} {
				f.users.byName["ann"].tokens[name] = fakeToken{name, time.Now().Add(time.Hour)}
			}
		})
		l, err := b.SignIn(t.Context(), "ann", []byte("password of ann"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.NewSession(l)
		if err != nil {
			t.Fatal(err)
		}
		joined := make(chan error, 5)
		go func() { joined <- s.Join(t.Context(), l) }()
		for range cap(joined) - 1 {
			go func() {
				l, err := b.SignIn(t.Context(), "ann", []byte("password of ann"))
				if err == nil {
					err = s.Join(t.Context(), l)
				}
				joined <- err
			}()
		}
		for range cap(joined) {
			if err := <-joined; err != nil {
				t.Error(err)
			}
		}
		got := f.tokensOf("ann")
		ours := slices.IndexFunc(got, regexp.MustCompile(`^gw-3-[0-9a-f]{8}-1$`).MatchString)
		if ours < 0 {
			t.Fatalf("tokens: %q", got)
		}
		if rest := strings.Join(slices.Delete(slices.Clone(got), ours, ours+1), " "); rest != "gw-3-mine gw-33-00000000-1 hers" {
			t.Errorf("tokens: %q", got)
		}
		signIn(t, b, "bob")
		b.Close(t.Context())
		if got := f.tokensOf("ann"); slices.Contains(got, got[0][:5]+b.boot) || len(got) != 3 {
			t.Errorf("tokens at the end: %q", got)
		}
		if got := f.tokensOf("bob"); len(got) != 0 {
			t.Errorf("bob's tokens at the end: %q", got)
		}
		if n := f.connected("ann") + f.connected("bob") + f.connected("iggy"); n != 0 {
			t.Errorf("%d connections at the end", n)
		}
	})
}

// A token is replaced long before it expires, and then opens connections as before.
func TestTokenRenewed(t *testing.T) {
	withPrincipals(t, func(c *Config) { c.TokenLife = 20 * time.Minute }, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		s := signIn(t, b, "ann")
		top := topic(t, b, "orders", 1)
		first := f.tokensOf("ann")
		for range 10 {
			time.Sleep(10 * time.Minute)
			synctest.Wait() // it is renewed at this very moment
			f.cutOff("ann")
			if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
				t.Fatal(err)
			}
			if got := f.tokensOf("ann"); len(got) != 1 {
				t.Errorf("tokens: %q", got)
			}
		}
		if got := f.tokensOf("ann"); slices.Equal(got, first) {
			t.Errorf("still %q", got)
		}
		// For as long as Iggy gives no new one the old one serves.
		f.with(func() { f.users.byName["ann"].noTokens = iggywire.StatusTokensLimitReached })
		time.Sleep(12 * time.Minute)
		f.cutOff("ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Minute)
		f.cutOff("ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); !errors.Is(err, ErrRefused) {
			t.Errorf("after it has expired: %v", err)
		}
	})
}

// Iggy goes away while a token is replaced: what it may have kept is deleted at the next tick, before another one is made.
func TestTokenLeftOver(t *testing.T) {
	for _, test := range []struct {
		code  iggywire.Code
		fault fault
		left  int // how many tokens there are after it
	}{
		{iggywire.CodeCreateToken, dropBefore, 1},
		{iggywire.CodeCreateToken, dropAfter, 2},
		{iggywire.CodeDeleteToken, dropBefore, 2},
		{iggywire.CodeDeleteToken, dropAfter, 1},
	} {
		withPrincipals(t, func(c *Config) { c.TokenLife, c.IdleTimeout = 20*time.Minute, time.Hour }, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
			s := signIn(t, b, "ann")
			first := f.tokensOf("ann")
			f.setFault(func(c iggywire.Code) fault {
				if c == test.code {
					return test.fault
				}
				return behave
			})
			time.Sleep(10 * time.Minute) // half its life
			synctest.Wait()
			if got := f.tokensOf("ann"); len(got) != test.left {
				t.Errorf("%v %v: %q, want %d", test.code, test.fault, got, test.left)
			}
			f.setFault(nil)
			time.Sleep(5 * time.Minute) // a tick
			synctest.Wait()
			if got := f.tokensOf("ann"); len(got) != 1 || slices.Equal(got, first) {
				t.Errorf("%v %v: a tick later %q, at first %q", test.code, test.fault, got, first)
			}
			s.Close(t.Context())
			if got := f.tokensOf("ann"); len(got) != 0 {
				t.Errorf("%v %v: at the end %q", test.code, test.fault, got)
			}
		})
	}
}

// Somebody deletes the token: over a connection that is left another one is made.
func TestTokenDeletedByOthers(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		s := signIn(t, b, "ann")
		top := topic(t, b, "orders", 1)
		f.with(func() { clear(f.users.byName["ann"].tokens) })
		if _, err := write(t, b, top, 0, as(s, batch(b, 1, 1))); err != nil {
			t.Error(err)
		}
		f.cutOff("ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 2, 1))); err != nil {
			t.Errorf("with the other one: %v", err)
		}
		f.with(func() { clear(f.users.byName["ann"].tokens) })
		f.cutOff("ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 3, 1))); !errors.Is(err, ErrRefused) {
			t.Errorf("with neither: %v", err)
		}
		join(t, b, s, "ann")
		if _, err := write(t, b, top, 0, as(s, batch(b, 4, 1))); err != nil {
			t.Errorf("with a client back: %v", err)
		}
	})
}

// A session of a user who had one before in this process finds that its token could not be deleted then: it is now.
func TestTokenNameTaken(t *testing.T) {
	withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		before := signIn(t, b, "ann")
		f.with(func() { f.users.byName["ann"].denied[iggywire.CodeDeleteToken] = true })
		before.Close(t.Context())
		f.with(func() { clear(f.users.byName["ann"].denied) })
		left := f.tokensOf("ann")
		if len(left) != 1 {
			t.Fatalf("left: %q", left)
		}
		s := signIn(t, b, "ann")
		if got := f.tokensOf("ann"); len(got) != 1 || got[0] == left[0] {
			t.Errorf("tokens: %q, before %q", got, left)
		}
		f.cutOff("ann")
		if _, err := s.User(t.Context()); err != nil {
			t.Errorf("by the second one: %v", err)
		}
	})
}

// Iggy goes away while the token is made: the sign-in fails, and leaves nothing behind.
func TestTokenLostConnection(t *testing.T) {
	for _, code := range []iggywire.Code{iggywire.CodeGetTokens, iggywire.CodeCreateToken} {
		withPrincipals(t, nil, []string{"ann"}, func(t *testing.T, f *fakeIggy, b *Bridge) {
			f.once(code, dropBefore)
			l, err := b.SignIn(t.Context(), "ann", []byte("password of ann"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.NewSession(l)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Join(t.Context(), l); !IsRetryable(err) {
				t.Errorf("%v: %v", code, err)
			}
			synctest.Wait()
			if n := f.connected("ann"); n != 0 {
				t.Errorf("%v: %d connections", code, n)
			}
			if b.epoch.Load() == 0 {
				t.Errorf("%v: not counted as a loss", code)
			}
			join(t, b, s, "ann")
			if got := f.tokensOf("ann"); len(got) != 1 {
				t.Errorf("%v: tokens: %q", code, got)
			}
		})
	}
}
