// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"testing"
	"time"
)

// epoch is when sessions begin in tests.
func epoch() time.Time { return time.Unix(1_000_000_000, 0) }

// login takes a session through a handshake and a good token.
func login(t *testing.T, s *Session, now time.Time) {
	t.Helper()
	if v := s.Take(Handshake, now); v != Agree {
		t.Fatalf("handshake: %v", v)
	}
	if v := s.Take(Token, now); v != Check {
		t.Fatalf("token: %v", v)
	}
	if _, v := s.Accept("alice", now); v != Admit {
		t.Fatalf("accepted: %v", v)
	}
}

func TestSessionWithoutLifetime(t *testing.T) {
	s := NewRules(0).NewSession()
	login(t, s, epoch())
	if s.Holder() != "alice" {
		t.Errorf("holder %q", s.Holder())
	}
	for _, after := range []time.Duration{0, time.Second, 365 * 24 * time.Hour} {
		now := epoch().Add(after)
		for in, want := range map[Input]Verdict{Request: Serve, Versions: Serve, Handshake: Decline, RawHandshake: Decline, Foreign: Decline, Token: Decline} {
			if got := s.Take(in, now); got != want {
				t.Errorf("after %v: %v: %v, not %v", after, in, got, want)
			}
		}
	}
}

// KIP-368: at the end of its lifetime a session is good for nothing but a handshake.
func TestSessionLifetime(t *testing.T) {
	rules := NewRules(3 * time.Second)
	s := rules.NewSession()
	login(t, s, epoch())
	last := epoch().Add(3*time.Second - 1)
	if got := s.Take(Request, last); got != Serve {
		t.Errorf("at the last moment: %v", got)
	}
	for _, in := range []Input{Request, Versions, Token} {
		s := rules.NewSession()
		login(t, s, epoch())
		if got := s.Take(in, epoch().Add(3*time.Second)); got != Expire {
			t.Errorf("%v when it is over: %v", in, got)
		}
		if got := s.Take(Handshake, epoch().Add(3*time.Second)); got != Close {
			t.Errorf("and then: %v", got)
		}
	}
	login(t, s, epoch().Add(time.Hour)) // late, and good for another lifetime
	if got := s.Take(Request, epoch().Add(time.Hour+3*time.Second-1)); got != Serve {
		t.Errorf("after the second login: %v", got)
	}
}

// The first re-authentication may come at once; others are declined within a second of the beginning of the last.
func TestRenewalInterval(t *testing.T) {
	s := NewRules(time.Hour).NewSession()
	login(t, s, epoch())
	login(t, s, epoch())
	if got := s.Take(Handshake, epoch().Add(time.Second-1)); got != Decline {
		t.Errorf("within a second: %v", got)
	}
	if got := s.Take(Request, epoch().Add(time.Second-1)); got != Serve {
		t.Errorf("the declined session: %v", got)
	}
	login(t, s, epoch().Add(time.Second))
}

// Who authenticates again has lost what he had until he succeeds.
func TestRenewalFails(t *testing.T) {
	s := NewRules(time.Hour).NewSession()
	login(t, s, epoch())
	s.Take(Handshake, epoch())
	s.Take(Token, epoch())
	if got := s.Take(Rejected, epoch()); got != Refuse {
		t.Errorf("rejected: %v", got)
	}
	if got := s.Take(Request, epoch()); got != Close {
		t.Errorf("a request afterwards: %v", got)
	}
}

func TestRawToken(t *testing.T) {
	s := NewRules(0).NewSession()
	if s.ExpectsRawToken() {
		t.Error("before the handshake")
	}
	s.Take(RawHandshake, epoch())
	if !s.ExpectsRawToken() {
		t.Error("not after the handshake")
	}
	if got := s.Take(Token, epoch()); got != Check || s.ExpectsRawToken() {
		t.Errorf("the token: %v, another is expected: %v", got, s.ExpectsRawToken())
	}
}

// FuzzSession: whatever is sent, and whenever, nothing is served before a token was accepted, after one was not, or after the
// lifetime; and who was told to close stays closed.
func FuzzSession(f *testing.F) {
	f.Add(int64(0), []byte{0, 1, 4, 6, 5})
	f.Add(int64(3), []byte{0, 2, 4, 6, 5, 41, 5})
	f.Add(int64(3), []byte{1, 4, 6, 17, 20, 6, 5})
	f.Add(int64(1), []byte{1, 5, 5})
	f.Fuzz(func(t *testing.T, lifetime int64, script []byte) {
		rules := NewRules(time.Duration(lifetime%100) * time.Second)
		s, now := rules.NewSession(), epoch()
		var accepted time.Time // when the last good token was; zero: none
		asked, over := false, false
		for i, step := range script {
			in := Input(step % 16)
			now = now.Add(time.Duration(step/16) * 400 * time.Millisecond)
			var v Verdict
			switch {
			case in >= numInputs:
				continue
			case in == Accepted:
				_, v = s.Accept("alice", now)
			default:
				v = s.Take(in, now)
			}
			if over && v != Close {
				t.Fatalf("step %d: %v is answered %v after the end", i, in, v)
			}
			switch v {
			case Admit:
				if !asked || in != Accepted {
					t.Fatalf("step %d: %v admits", i, in)
				}
				accepted, asked = now, false
			case Check:
				asked = true
			case Serve:
				if in == Versions && accepted.IsZero() && !asked {
					break
				}
				if accepted.IsZero() || asked || in != Request && in != Versions {
					t.Fatalf("step %d: %v is served", i, in)
				}
				if rules.Lifetime > 0 && now.Sub(accepted) >= rules.Lifetime {
					t.Fatalf("step %d: %v is served %v after the login", i, in, now.Sub(accepted))
				}
			case Close, Expire, Offer, Refuse, Illegal:
				over = true
			}
		}
	})
}
