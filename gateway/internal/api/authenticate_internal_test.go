// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

const (
	goodToken   = "\x00alice\x00good"
	wrongAnswer = "58 Authentication failed: Invalid username or password"
)

// What a client may send when, and what it is told.
func TestAuthentication(t *testing.T) {
	type step struct{ what, arg, want string }
	tests := []struct {
		name  string
		steps []step
		// closed: the connection is, behind the last answer.
		closed server.CloseCause
	}{
		{"login", []step{
			{"versions3", "", "0"}, {"versions0", "", "0"}, {"versions9", "", "35"}, {"versions4", "", "0"},
			{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", goodToken, "0"}, {"metadata9", "", "0"}, {"versions3", "", "0"}}, 0},
		{"token v0", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token0", goodToken, "0"}, {"metadata0", "", "0"}}, 0},
		{"token v1", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token1", "alice" + goodToken, "0"}, {"metadata9", "", "0"}}, 0},
		{"old framing", []step{{"handshake0", "PLAIN", "0 PLAIN"}, {"raw0", goodToken, "00000000"}, {"metadata9", "", "0"}}, 0},
		{"old framing, wrong password", []step{{"handshake0", "PLAIN", "0 PLAIN"}, {"raw0", "\x00alice\x00bad", "closed"}}, server.AuthenticationFailed},
		{"wrong password", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", "\x00alice\x00bad", wrongAnswer}}, server.AuthenticationFailed},
		{"unknown user", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", "\x00mallory\x00bad", wrongAnswer}}, server.AuthenticationFailed},
		{"malformed", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", "alice",
			"58 Authentication failed during authentication due to invalid credentials with SASL mechanism PLAIN"}}, server.AuthenticationFailed},
		{"as somebody else", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", "bob" + goodToken,
			"58 Authentication failed: Client requested an authorization id that is different from username"}}, server.AuthenticationFailed},
		{"another mechanism", []step{{"versions3", "", "0"}, {"handshake1", "SCRAM-SHA-256", "33 PLAIN"}}, server.AuthenticationFailed},
		{"no mechanism", []step{{"handshake0", "", "33 PLAIN"}}, server.AuthenticationFailed},
		{"mechanism in another case", []step{{"handshake1", "plain", "33 PLAIN"}}, server.AuthenticationFailed},
		{"a request before the handshake", []step{{"metadata9", "", "closed"}}, server.Unauthenticated},
		{"a request behind ApiVersions", []step{{"versions3", "", "0"}, {"metadata9", "", "closed"}}, server.Unauthenticated},
		{"a token before the handshake", []step{{"token2", goodToken, "closed"}}, server.Unauthenticated},
		{"a request instead of the token", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"metadata9", "", "34"}}, server.Unauthenticated},
		{"ApiVersions instead of the token", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"versions3", "", "34"}}, server.Unauthenticated},
		{"unknown ApiVersions instead of the token", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"versions9", "", "34"}}, server.Unauthenticated},
		{"a second handshake", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"handshake1", "PLAIN", "34"}}, server.Unauthenticated},
		{"a handshake after the login", []step{{"handshake1", "PLAIN", "0 PLAIN"}, {"token2", goodToken, "0"}, {"handshake1", "PLAIN", "34"}, {"metadata9", "", "0"},
			{"handshake1", "X", "34"}, {"token2", goodToken, "34 SaslAuthenticate request received after successful authentication"}, {"metadata9", "", "0"}}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inResidence(t, 0, func(t *testing.T, r *residence) {
				v := r.visit(t)
				for i, s := range test.steps {
					if got := v.step(s.what, s.arg); got != s.want {
						t.Fatalf("step %d, %s: %s, not %s", i, s.what, got, s.want)
					}
				}
				if test.closed == 0 {
					return
				}
				v.expectClosed()
				synctest.Wait()
				if got := r.server.Stats().Closed; got[test.closed] != 1 {
					t.Errorf("closed by %v, not %v", got, test.closed)
				}
				if len(r.served) > 0 {
					t.Errorf("served: %v", r.served)
				}
			})
		})
	}
}

// After a handshake every API is refused in its own shape; before, every one is closed. (The shapes: package refusals.)
func TestEveryAPIBeforeLogin(t *testing.T) {
	for _, api := range wire.NewTable().APIs() {
		if !api.Served || api.Key == 17 || api.Key == 18 || api.Key == 36 {
			continue
		}
		for _, version := range []int16{api.Min, api.Max} {
			inResidence(t, 0, func(t *testing.T, r *residence) {
				req := kmsg.RequestForKey(api.Key)
				req.SetVersion(version)
				if resp := r.visit(t).ask(req); resp != nil {
					t.Errorf("%s v%d before the handshake: %+v", api.Name, version, resp)
				}
				v := r.visit(t)
				v.step("handshake1", "PLAIN")
				if v.ask(req) == nil {
					t.Errorf("%s v%d after the handshake: no answer", api.Name, version)
				}
				v.expectClosed()
				if len(r.served) > 0 {
					t.Errorf("served: %v", r.served)
				}
			})
		}
	}
}

// Rejections are told at their moment, whatever the check took, and a penalized one too.
func TestRejectionsTakeTheirTime(t *testing.T) {
	inResidence(t, 0, func(t *testing.T, r *residence) {
		for _, token := range []string{"\x00alice\x00bad", "\x00mallory\x00bad", goodToken, "alice"} { // alice is penalized by the third
			v := r.visit(t)
			v.step("handshake1", "PLAIN")
			begun := time.Now()
			if got := v.step("token2", token); !strings.HasPrefix(got, "58 ") {
				t.Errorf("%q: %s", token, got)
			}
			if took := time.Since(begun); took != 250*time.Millisecond {
				t.Errorf("%q: after %v", token, took)
			}
		}
	})
}

// A login that Iggy does not answer does not hold up a stop.
func TestStopDuringLogin(t *testing.T) {
	inResidence(t, 0, func(t *testing.T, r *residence) {
		v := r.visit(t)
		v.step("handshake1", "PLAIN")
		begun := time.Now()
		time.AfterFunc(checkTime/2, r.stop)
		if got := v.step("token2", goodToken); got != "closed" || time.Since(begun) != checkTime/2 {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
		synctest.Wait()
		if got := r.server.Stats().Closed; got[server.AuthenticationUnavailable] != 1 {
			t.Errorf("closed by %v", got)
		}
	})
}

// Iggy that cannot be reached closes the connection, from which clients try again; 58 would be final.
func TestIggyUnreachable(t *testing.T) {
	inResidence(t, 0, func(t *testing.T, r *residence) {
		r.down = true
		for _, framing := range []struct{ handshake, token string }{{"handshake1", "token2"}, {"handshake0", "raw0"}} {
			v := r.visit(t)
			v.step(framing.handshake, "PLAIN")
			if got := v.step(framing.token, goodToken); got != "closed" {
				t.Errorf("%s: %s", framing.token, got)
			}
		}
		synctest.Wait()
		if got := r.server.Stats().Closed; got[server.AuthenticationUnavailable] != 2 {
			t.Errorf("closed by %v", got)
		}
	})
}

// PB-19: who authenticates again before the end of each lifetime goes on, in either framing; who does not is closed at the next
// request, and not before.
func TestReauthentication(t *testing.T) {
	inResidence(t, 3*time.Second, func(t *testing.T, r *residence) {
		faithful, old, careless := r.visit(t), r.visit(t), r.visit(t)
		for _, v := range []*visitor{faithful, careless} {
			v.step("handshake1", "PLAIN")
			req := kmsg.NewPtrSASLAuthenticateRequest()
			req.Version, req.SASLAuthBytes = 1, []byte(goodToken)
			if resp := v.ask(req).(*kmsg.SASLAuthenticateResponse); resp.SessionLifetimeMillis != 3000 {
				t.Errorf("the session lasts %d ms", resp.SessionLifetimeMillis)
			}
		}
		old.step("handshake0", "PLAIN")
		old.step("raw0", goodToken)
		for range 10 {
			time.Sleep(2 * time.Second)
			for _, v := range []*visitor{faithful, old} {
				framing := map[*visitor][2]string{faithful: {"handshake1", "token2"}, old: {"handshake0", "raw0"}}[v]
				if got := v.step(framing[0], "PLAIN"); got != "0 PLAIN" {
					t.Fatalf("%s: %s", framing[0], got)
				}
				if got := v.step(framing[1], goodToken); got != "0" && got != "00000000" {
					t.Fatalf("%s: %s", framing[1], got)
				}
				if got := v.step("metadata9", ""); got != "0" {
					t.Fatalf("metadata: %s", got)
				}
			}
		}
		if got := careless.step("metadata9", ""); got != "closed" {
			t.Errorf("without: %s", got)
		}
		synctest.Wait()
		if got := r.server.Stats().Closed; got[server.SessionExpired] != 1 {
			t.Errorf("closed by %v", got)
		}

		time.Sleep(10 * time.Second) // late, and still welcome to a handshake
		faithful.login("alice")
		if got := faithful.step("handshake1", "PLAIN"); got != "34" {
			t.Errorf("again at once: %s", got)
		}
		if got := faithful.step("metadata9", ""); got != "0" {
			t.Errorf("after that: %s", got)
		}
	})
}

// Authenticating again, a client can neither become another nor go on without.
func TestReauthenticationFails(t *testing.T) {
	for name, test := range map[string]struct{ what, arg, want string }{
		"as another":        {"token2", "\x00bob\x00good", "58 Authentication failed: Cannot change principals during re-authentication"},
		"wrong password":    {"token2", "\x00alice\x00bad", wrongAnswer},
		"a request instead": {"metadata9", "", "34"},
	} {
		t.Run(name, func(t *testing.T) {
			inResidence(t, time.Hour, func(t *testing.T, r *residence) {
				v := r.visit(t)
				v.login("alice")
				v.step("handshake1", "PLAIN")
				if got := v.step(test.what, test.arg); got != test.want {
					t.Errorf("%s", got)
				}
				v.expectClosed()
			})
		})
	}
	inResidence(t, time.Hour, func(t *testing.T, r *residence) {
		v := r.visit(t)
		v.login("alice")
		if got := v.step("handshake1", "SCRAM-SHA-512"); got != "33 PLAIN" {
			t.Errorf("by another mechanism: %s", got)
		}
		v.expectClosed()
	})
}

// FuzzUnauthenticated: whatever a client sends that does not know a password, in whatever order and pieces, no request of it gets
// to a handler but those about authentication. (stub panics when it is nobody's, and a panic is counted.)
func FuzzUnauthenticated(f *testing.F) {
	frames := func(reqs ...kmsg.Request) (stream []byte) {
		for i, req := range reqs {
			stream = append(stream, kmsg.NewRequestFormatter().AppendRequest(nil, req, int32(i))...)
		}
		return stream
	}
	versions, metadata, fetch := kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrMetadataRequest(), kmsg.NewPtrFetchRequest()
	fetch.Version = 4
	shake, old, foreign := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLHandshakeRequest()
	shake.Version, shake.Mechanism, old.Mechanism, foreign.Mechanism = 1, "PLAIN", "PLAIN", "GSSAPI"
	wrong, malformed := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateRequest()
	wrong.SASLAuthBytes, malformed.SASLAuthBytes = []byte("\x00alice\x00bad"), []byte("alice")
	f.Add(frames(versions, metadata))
	f.Add(frames(versions, shake, wrong, metadata, fetch))
	f.Add(frames(shake, malformed, fetch, fetch))
	f.Add(frames(shake, metadata, metadata))
	f.Add(frames(foreign, metadata))
	f.Add(frames(wrong, metadata))
	f.Add(append(frames(old), frames(metadata, fetch)...))
	f.Add(append(append(frames(old), "\x00\x00\x00\x0a\x00alice\x00bad"...), frames(metadata)...))
	f.Add(append(append(frames(old), 0, 0, 0, 0), frames(fetch)...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) > 4096 || bytes.Contains(stream, []byte("good")) {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			r := &residence{}
			stop := r.serve(0)
			v := r.visit(t)
			go func() {
				v.Write(stream)
				v.Close()
			}()
			io.Copy(io.Discard, v)
			synctest.Wait()
			stop()
			if len(r.served) > 0 {
				t.Errorf("served: %v", r.served)
			}
			if n := r.server.Stats().Closed[server.HandlerPanicked]; n > 0 {
				t.Errorf("%d panics", n)
			}
		})
	})
}

// The stub would notice: a client that does know a password is served.
func TestServedAfterLogin(t *testing.T) {
	inResidence(t, 0, func(t *testing.T, r *residence) {
		v := r.visit(t)
		v.login("alice")
		v.step("metadata9", "")
		if !slices.Equal(r.served, []int16{3}) {
			t.Errorf("served: %v", r.served)
		}
	})
}
