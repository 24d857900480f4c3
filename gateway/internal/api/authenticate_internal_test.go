// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// resident is a principal that may do everything.
type resident struct{ name string }

func (r resident) Name() string             { return r.name }
func (r resident) Release()                 {}
func (r resident) Session() *bridge.Session { return nil }
func (r resident) Access(context.Context) (*permissions.Access, error) {
	return permissions.Everything(), nil
}

// checkTime is how long a check of a password takes.
const checkTime = 45 * time.Millisecond

// residence is a gateway of alice's and bob's, whose passwords are "good": all of it from the sockets to the handlers, of which
// only those about authentication are the real ones.
type residence struct {
	server *server.Server
	pipes  chan net.Conn
	closed chan struct{}

	mu     sync.Mutex
	served []int16 // the keys of requests that got as far as a handler
	down   bool
}

func (r *residence) Accept() (net.Conn, error) {
	select {
	case nc := <-r.pipes:
		return nc, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

func (r *residence) Close() error {
	select {
	case <-r.closed:
	default:
		close(r.closed)
	}
	return nil
}

func (r *residence) Addr() net.Addr { return &net.TCPAddr{} }

// fromPort is a connection with a client's address.
type fromPort struct {
	net.Conn
	addr net.TCPAddr
}

func (c *fromPort) RemoteAddr() net.Addr { return &c.addr }

func (r *residence) authenticate(ctx context.Context, user string, password []byte) (sasl.Principal, error) {
	r.mu.Lock()
	down := r.down
	r.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	select {
	case <-time.After(checkTime):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if (user != "alice" && user != "bob") || string(password) != "good" {
		return nil, fmt.Errorf("%w: by the test", sasl.ErrRefused)
	}
	return resident{user}, nil
}

// serve puts r together; what it returns ends it.
func (r *residence) serve(lifetime time.Duration) (stop func()) {
	r.pipes, r.closed = make(chan net.Conn), make(chan struct{})
	gate := sasl.NewGate(sasl.Config{
		Authenticator: r.authenticate, Concurrent: 2, Timeout: 15 * time.Second, RejectionDelay: 250 * time.Millisecond, SecretUser: "$token",
	})
	table := wire.NewTable(wire.Authentication())
	decode := budget.New(32 << 20)
	a := New(Config{}, Deps{
		Table: table, Logins: gate, DecodeBudget: decode, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Reader,
	})
	for key := range a.handlers {
		if key != 17 && key != 18 && key != 36 {
			a.handlers[key] = r.stub
		}
	}
	r.server = server.New(server.Config{
		Table: table, Logger: slog.New(slog.DiscardHandler), MaxConnections: 100, MaxInFlight: 8,
		MaxFrameSize: 8 << 20, MaxResponseSize: 8 << 20,
		FrameBudget: budget.New(32 << 20), DecodeBudget: decode, ResponseBudget: budget.New(32 << 20),
		IdleTimeout: time.Minute, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		Authentication: &server.Authentication{Rules: sasl.NewRules(lifetime), Timeout: 15 * time.Second},
	}, a)
	var serving sync.WaitGroup
	serving.Go(func() { r.server.Serve(server.Listener{Listener: r}) })
	return func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.server.Shutdown(ctx)
		serving.Wait()
		gate.Close()
	}
}

// stub answers whatever it is asked, and notes that it was, and by whom.
func (r *residence) stub(_ context.Context, conn *server.Conn, req *wire.Request) server.Pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if conn.Principal() == nil {
		panic(fmt.Sprintf("%s of nobody is served", kmsg.NameForKey(req.Header.Key)))
	}
	r.served = append(r.served, req.Header.Key)
	if p, ok := req.Body.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return answers(server.NoReply())
	}
	return answers(server.NewReply(req.Body.ResponseKind()))
}

// visitor is a client.
type visitor struct {
	*testing.T
	net.Conn
	residence *residence
	sent      int32
}

// inResidence runs a test with a fake clock.
func inResidence(t *testing.T, lifetime time.Duration, test func(t *testing.T, r *residence)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &residence{}
		stop := r.serve(lifetime)
		test(t, r)
		stop()
	})
}

func (r *residence) visit(t *testing.T) *visitor {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	r.pipes <- &fromPort{theirs, net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4711}}
	return &visitor{T: t, Conn: ours, residence: r}
}

// ask sends a request and returns its answer; nil: the connection was closed instead.
func (v *visitor) ask(req kmsg.Request) kmsg.Response {
	v.Helper()
	v.sent++
	if _, err := v.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, v.sent)); err != nil {
		return nil
	}
	return v.answer(req)
}

func (v *visitor) answer(req kmsg.Request) kmsg.Response {
	v.Helper()
	head := make([]byte, 8)
	if _, err := io.ReadFull(v, head); err != nil {
		if err != io.EOF {
			v.Fatal(err)
		}
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-4)
	if _, err := io.ReadFull(v, body); err != nil {
		v.Fatal(err)
	}
	resp := req.ResponseKind()
	if req.Key() == 18 && req.GetVersion() > 4 {
		resp.SetVersion(0)
	}
	if resp.IsFlexible() && resp.Key() != 18 {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		v.Fatal(err)
	}
	return resp
}

func (v *visitor) expectClosed() {
	v.Helper()
	if n, err := v.Read(make([]byte, 1)); err != io.EOF {
		v.Fatalf("read %d bytes, %v: not closed", n, err)
	}
}

func (v *visitor) login(user string) {
	v.Helper()
	if got := v.step("handshake1", "PLAIN"); got != "0 PLAIN" {
		v.Fatalf("handshake: %s", got)
	}
	if got := v.step("token2", "\x00"+user+"\x00good"); !strings.HasPrefix(got, "0") {
		v.Fatalf("token: %s", got)
	}
}

// step does one thing and tells what came of it.
func (v *visitor) step(what, arg string) string {
	v.Helper()
	name, version := what[:len(what)-1], int16(what[len(what)-1]-'0')
	var req kmsg.Request
	switch name {
	case "handshake":
		r := kmsg.NewPtrSASLHandshakeRequest()
		r.Mechanism = arg
		req = r
	case "token":
		r := kmsg.NewPtrSASLAuthenticateRequest()
		r.SASLAuthBytes = []byte(arg)
		req = r
	case "versions":
		r := kmsg.NewPtrApiVersionsRequest()
		r.ClientSoftwareName, r.ClientSoftwareVersion = "test", "1"
		req = r
	case "metadata":
		r := kmsg.NewPtrMetadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("t")
		r.Topics = append(r.Topics, topic)
		req = r
	case "raw":
		return v.raw(arg)
	default:
		v.Fatalf("no such step: %s", what)
	}
	req.SetVersion(version)
	switch resp := v.ask(req).(type) {
	case nil:
		return "closed"
	case *kmsg.SASLHandshakeResponse:
		return strings.TrimSpace(fmt.Sprint(resp.ErrorCode, " ", strings.Join(resp.SupportedMechanisms, ",")))
	case *kmsg.SASLAuthenticateResponse:
		text := ""
		if resp.ErrorMessage != nil {
			text = *resp.ErrorMessage
		}
		return strings.TrimSpace(fmt.Sprint(resp.ErrorCode, " ", text))
	case *kmsg.ApiVersionsResponse:
		return fmt.Sprint(resp.ErrorCode)
	case *kmsg.MetadataResponse:
		if len(resp.Topics) > 0 {
			return fmt.Sprint(resp.Topics[0].ErrorCode)
		}
		return "0"
	default:
		v.Fatalf("answered %T", resp)
		return ""
	}
}

// raw sends a token without a request header.
func (v *visitor) raw(token string) string {
	v.Helper()
	if _, err := v.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)); err != nil {
		v.Fatal(err)
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(v, answer); err == io.EOF {
		return "closed"
	}
	return fmt.Sprintf("%x", answer)
}

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
