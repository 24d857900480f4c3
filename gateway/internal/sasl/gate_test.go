// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// someone is a Principal that knows whether it was released.
type someone struct {
	name     string
	released atomic.Int32
}

func (p *someone) Name() string { return p.name }
func (p *someone) Release()     { p.released.Add(1) }

// users is an Authenticator that knows some, and takes its time for each.
type users struct {
	takes    time.Duration // to check a password; an unknown user is refused at once, as Iggy does
	down     bool
	checks   atomic.Int32
	at, most atomic.Int32 // at a time

	mu     sync.Mutex
	issued []*someone
	seen   [][]byte // the passwords' memory
}

func (u *users) authenticate(ctx context.Context, user string, password []byte) (Principal, error) {
	u.checks.Add(1)
	u.most.Store(max(u.most.Load(), u.at.Add(1)))
	defer u.at.Add(-1)
	u.mu.Lock()
	u.seen = append(u.seen, password)
	u.mu.Unlock()
	if u.down {
		return nil, errors.New("connection refused")
	}
	known := user == "alice" || user == "bob" || user == "$token"
	if known {
		select {
		case <-time.After(u.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !known || !bytes.HasPrefix(password, []byte("good")) {
		return nil, fmt.Errorf("%w: by the test", ErrRefused)
	}
	p := &someone{name: user}
	if user == "$token" {
		p.name = "alice"
	}
	u.mu.Lock()
	u.issued = append(u.issued, p)
	u.mu.Unlock()
	return p, nil
}

// atGate runs a test at a gate that checks two at a time, has 15 s for each thing and tells rejections after 250 ms.
func atGate(t *testing.T, u *users, test func(t *testing.T, g *Gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(Config{
			Authenticator: u.authenticate, Concurrent: 2, Timeout: 15 * time.Second,
			RejectionDelay: 250 * time.Millisecond, SecretUser: "$token",
		})
		test(t, g)
		g.Close()
		if g.slots.free != 2 {
			t.Errorf("%d slots are free at the end", g.slots.free)
		}
		if n := g.guesses.len(); n > 0 {
			t.Errorf("%d guesses are under way at the end", n)
		}
		for _, password := range u.seen {
			if len(bytes.Trim(password, "\x00")) > 0 {
				t.Errorf("a password is still there: %q", password)
			}
		}
	})
}

func from(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

func token(user, password string) []byte { return []byte("\x00" + user + "\x00" + password) }

// try logs in and returns what came of it and how long it took.
func try(ctx context.Context, g *Gate, from netip.Addr, token []byte) (Principal, time.Duration, error) {
	begun := time.Now()
	p, err := g.Login(ctx, from, token, "")
	return p, time.Since(begun), err
}

// However long a rejection took, and whatever the reason, the client hears of it at the same moment, in the same words if it is
// about the password.
func TestRejectedAtTheMoment(t *testing.T) {
	const text = "Authentication failed: Invalid username or password"
	tests := []struct {
		name  string
		token []byte
		takes time.Duration
		after time.Duration
		text  string
	}{
		{"wrong password", token("alice", "bad"), 45 * time.Millisecond, 250 * time.Millisecond, text},
		{"unknown user", token("mallory", "bad"), 45 * time.Millisecond, 250 * time.Millisecond, text},
		{"wrong token", token("$token", "bad"), 45 * time.Millisecond, 250 * time.Millisecond, text},
		{"slow", token("alice", "bad"), 300 * time.Millisecond, 500 * time.Millisecond, text},
		{"very slow", token("alice", "bad"), 2010 * time.Millisecond, 2250 * time.Millisecond, text},
		{"malformed", []byte("alice"), 0, 250 * time.Millisecond,
			"Authentication failed during authentication due to invalid credentials with SASL mechanism PLAIN"},
		{"for somebody else", []byte("bob\x00alice\x00good"), 0, 250 * time.Millisecond,
			"Authentication failed: Client requested an authorization id that is different from username"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			atGate(t, &users{takes: test.takes}, func(t *testing.T, g *Gate) {
				p, took, err := try(t.Context(), g, from(1), test.token)
				if p != nil || !errors.Is(err, ErrRefused) || took != test.after || RefusalText(err) != test.text {
					t.Errorf("%v after %v, told %q", err, took, RefusalText(err))
				}
				if len(bytes.Trim(test.token, "\x00")) > 0 {
					t.Errorf("the token is still there: %q", test.token)
				}
			})
		})
	}
}

// Success is told at once.
func TestAcceptedAtOnce(t *testing.T) {
	atGate(t, &users{takes: 45 * time.Millisecond}, func(t *testing.T, g *Gate) {
		for _, user := range []string{"alice", "$token"} {
			p, took, err := try(t.Context(), g, from(1), token(user, "good"))
			if err != nil || took != 45*time.Millisecond || p.Name() != "alice" {
				t.Errorf("%s: %v after %v", user, err, took)
			}
		}
	})
}

// Who was rejected is not checked again for a while, be his password right by then; and is told so at the same moment.
func TestPenalized(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		refused := func(at netip.Addr, user, password string, checks int32) {
			t.Helper()
			_, took, err := try(t.Context(), g, at, token(user, password))
			if !errors.Is(err, ErrRefused) || took != 250*time.Millisecond || u.checks.Load() != checks {
				t.Errorf("%v after %v, %d checks", err, took, u.checks.Load())
			}
			if RefusalText(err) != errCredentials.text {
				t.Errorf("told %q", RefusalText(err))
			}
		}
		refused(from(1), "alice", "bad", 1) // its penalty began with the check's end, 205 ms ago
		refused(from(1), "alice", "good", 1)
		time.Sleep(45*time.Millisecond - 1)
		refused(from(1), "alice", "good", 1) // the last nanosecond
		if _, _, err := try(t.Context(), g, from(2), token("alice", "good")); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
		if _, _, err := try(t.Context(), g, from(1), token("bob", "good")); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		if _, _, err := try(t.Context(), g, from(1), token("alice", "good")); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		refused(from(1), "$token", "bad", 5)
		if _, _, err := try(t.Context(), g, from(1), token("$token", "good")); err != nil {
			t.Errorf("another token: %v", err)
		}
		refused(from(1), "$token", "bad", 6)
	})
}

// Who is penalized is told so at the moment even when others are being checked.
func TestPenalizedDoNotWait(t *testing.T) {
	u := &users{takes: 10 * time.Second}
	atGate(t, u, func(t *testing.T, g *Gate) {
		if _, _, err := try(t.Context(), g, from(1), token("mallory", "bad")); !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		for i := range 2 {
			others.Go(func() { _, _, _ = try(t.Context(), g, from(i), token("alice", "good")) })
		}
		synctest.Wait()
		if _, took, err := try(t.Context(), g, from(1), token("mallory", "bad")); !errors.Is(err, ErrRefused) || took != 250*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
		others.Wait()
	})
}

// A client that keeps trying an old password keeps nobody out who shares its address and user and knows the right one; the log
// has the user's name.
func TestOldPasswordOfAnother(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		stop := make(chan struct{})
		var stubborn sync.WaitGroup
		stubborn.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
				}
				if _, _, err := try(t.Context(), g, from(1), token("alice", "bad")); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `"alice"`) {
					t.Errorf("the old password: %v", err)
				}
			}
		})
		time.Sleep(2 * time.Second) // the first penalty is over
		for range 60 {
			if _, _, err := try(t.Context(), g, from(1), token("alice", "good")); err != nil {
				t.Errorf("the right password: %v", err)
			}
			time.Sleep(5 * time.Second)
		}
		close(stop)
		stubborn.Wait()
		if n := u.checks.Load(); n < 60+10 || n > 60+20 {
			t.Errorf("%d checks, 60 of them of the right password", n)
		}
	})
}

// Who has a network of IPv6 has no more turns than who has an address.
func TestNetworkHasOneTurn(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		var many sync.WaitGroup
		for i := range 100 {
			many.Go(func() {
				if _, err := g.Login(t.Context(), addr(fmt.Sprintf("2001:db8:0:1::%x", i+1)), token("alice", "good"), ""); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, took, err := try(t.Context(), g, addr("2001:db8:0:2::1"), token("alice", "good")); err != nil || took > 3*u.takes {
			t.Errorf("another network: %v after %v", err, took)
		}
		many.Wait()
	})
}

// A burst of one wrong password costs no more checks than were under way when the first had failed.
func TestBurstOfOneWrongPassword(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		var burst sync.WaitGroup
		for range 1000 {
			burst.Go(func() {
				if _, took, err := try(t.Context(), g, from(1), token("alice", "bad")); !errors.Is(err, ErrRefused) || took != 250*time.Millisecond {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		burst.Wait()
		if n := u.checks.Load(); n > 4 {
			t.Errorf("%d checks", n)
		}
	})
}

// Bad logins from many addresses use the slots that there are and no more, do not keep a good client out, and leave no more
// behind than the bound.
func TestFlood(t *testing.T) {
	u := &users{takes: 45 * time.Millisecond}
	atGate(t, u, func(t *testing.T, g *Gate) {
		const connections, each = 500, 40 // 20,000 attempts
		var flood sync.WaitGroup
		for i := range connections {
			flood.Go(func() {
				for j := range each {
					if _, err := g.Login(t.Context(), from(i*each+j), token("alice", "bad"), ""); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrUnavailable) {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(3 * time.Second)
		for range 5 {
			if _, took, err := try(t.Context(), g, addr("192.0.2.1"), token("alice", "good")); err != nil || took > 14*time.Second {
				t.Errorf("the good client: %v after %v", err, took)
			}
		}
		flood.Wait()
		if u.most.Load() != 2 {
			t.Errorf("%d checks at a time", u.most.Load())
		}
		if n := g.penalties.len(); n > maxPenalties {
			t.Errorf("%d penalties", n)
		}
	})
}

// No slot in time, no answer in time, no Iggy: not the client's fault, and told apart from a refusal.
func TestUnavailable(t *testing.T) {
	u := &users{takes: time.Hour}
	atGate(t, u, func(t *testing.T, g *Gate) {
		var waiting sync.WaitGroup
		for i, login := range []struct{ comes, takes time.Duration }{
			{0, 15 * time.Second}, {0, 15 * time.Second}, // checked at once
			{time.Second, 29 * time.Second}, {time.Second, 29 * time.Second}, // behind the first two
			{2 * time.Second, 15 * time.Second}, // never
		} {
			waiting.Go(func() {
				time.Sleep(login.comes)
				_, took, err := try(t.Context(), g, from(1), token("alice", "good"))
				if !errors.Is(err, ErrUnavailable) || took != login.takes {
					t.Errorf("login %d: %v after %v", i, err, took)
				}
			})
		}
		waiting.Wait()
		if u.checks.Load() != 4 {
			t.Errorf("%d checks", u.checks.Load())
		}
		u.down = true
		if _, took, err := try(t.Context(), g, from(1), token("alice", "good")); !errors.Is(err, ErrUnavailable) || took != 0 {
			t.Errorf("%v after %v", err, took)
		}
		if g.penalties.len() != 0 {
			t.Error("somebody is penalized")
		}
	})
}

// Waiting for a slot and being checked each have the whole time.
func TestEachWaitHasItsTime(t *testing.T) {
	u := &users{takes: 14 * time.Second}
	atGate(t, u, func(t *testing.T, g *Gate) {
		var waiting sync.WaitGroup
		for i := range 4 {
			waiting.Go(func() {
				if _, took, err := try(t.Context(), g, from(i), token("alice", "good")); err != nil {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		waiting.Wait()
	})
}

// A client that has gone keeps its slot until Iggy has answered, as Iggy is still at it, and nobody keeps its principal.
func TestGone(t *testing.T) {
	u := &users{takes: 10 * time.Second}
	atGate(t, u, func(t *testing.T, g *Gate) {
		ctx, cancel := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for range 3 { // the third waits for a slot
			gone.Go(func() {
				if _, took, err := try(ctx, g, from(1), token("alice", "good")); !errors.Is(err, context.Canceled) || took != time.Second {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		time.Sleep(time.Second)
		cancel()
		gone.Wait()
		if _, took, err := try(t.Context(), g, from(1), token("alice", "good")); err != nil || took != 19*time.Second {
			t.Errorf("the next: %v after %v", err, took)
		}
		if u.checks.Load() != 3 || u.most.Load() != 2 {
			t.Errorf("%d checks, %d at a time", u.checks.Load(), u.most.Load())
		}
		if n := u.issued[0].released.Load() + u.issued[1].released.Load() + u.issued[2].released.Load(); n != 2 {
			t.Errorf("%d were released", n)
		}
	})
}

// KIP-368: who authenticates again stays who he is.
func TestHolder(t *testing.T) {
	u := &users{}
	atGate(t, u, func(t *testing.T, g *Gate) {
		for _, user := range []string{"alice", "$token"} {
			if p, err := g.Login(t.Context(), from(1), token(user, "good"), "alice"); err != nil || p.Name() != "alice" {
				t.Errorf("%s: %v", user, err)
			}
		}
		begun := time.Now()
		_, err := g.Login(t.Context(), from(1), token("bob", "good"), "alice")
		if !errors.Is(err, ErrRefused) || time.Since(begun) != 250*time.Millisecond {
			t.Errorf("as bob: %v after %v", err, time.Since(begun))
		}
		if u.issued[2].released.Load() != 1 {
			t.Error("bob was not released")
		}
		if g.penalties.len() != 0 {
			t.Error("bob is penalized for a good password")
		}
	})
}

// Close ends checks that are under way.
func TestCloseEndsChecks(t *testing.T) {
	u := &users{takes: time.Hour}
	atGate(t, u, func(t *testing.T, g *Gate) {
		ctx, cancel := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		gone.Go(func() { g.Login(ctx, from(1), token("alice", "good"), "") })
		synctest.Wait()
		cancel()
		gone.Wait()
		begun := time.Now()
		g.Close()
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// What came of each token is counted; nothing of who did not wait.
func TestStats(t *testing.T) {
	u := &users{takes: time.Second}
	atGate(t, u, func(t *testing.T, g *Gate) {
		for i, test := range []struct {
			token []byte
			down  bool
			want  Stats
		}{
			{token("alice", "good"), false, Stats{Accepted: 1}},
			{token("alice", "bad"), false, Stats{Accepted: 1, Refused: 1}},
			{[]byte("nonsense"), false, Stats{Accepted: 1, Refused: 2}},
			{token("bob", "good"), true, Stats{Accepted: 1, Refused: 2, Unavailable: 1}},
		} {
			u.down = test.down
			_, _, _ = try(t.Context(), g, from(i), test.token)
			if got := g.Stats(); got != test.want {
				t.Errorf("%q: %+v, want %+v", test.token, got, test.want)
			}
		}
		u.down = false
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		before := g.Stats()
		if _, _, err := try(ctx, g, from(9), token("bob", "good")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := g.Stats(); got != before {
			t.Errorf("of who has gone: %+v, before %+v", got, before)
		}
	})
}
