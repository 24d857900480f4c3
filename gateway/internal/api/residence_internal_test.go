// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
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

	stopping context.Context
	stop     context.CancelFunc // of stopping
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
	r.stopping, r.stop = context.WithCancel(context.Background())
	a := New(Config{}, Deps{
		Stopping: r.stopping, Table: table, Logins: gate, DecodeBudget: decode, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Reader,
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
		r.stop()
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
