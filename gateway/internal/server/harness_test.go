// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memListener hands out in-memory connections.
type memListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemListener() *memListener {
	return &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.conns:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memListener) Addr() net.Addr { return memAddr{} }

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// handlerFunc is a Handler made of its Start.
type handlerFunc func(ctx context.Context, conn *Conn, req *wire.Request) Pending

func (f handlerFunc) Start(ctx context.Context, conn *Conn, req *wire.Request) Pending {
	return f(ctx, conn, req)
}

// echo answers every request at once with the emptiest answer of its kind.
func echo(_ context.Context, _ *Conn, req *wire.Request) Pending {
	return now(NewReply(req.Body.ResponseKind()))
}

func now(r Reply) Pending {
	return func(context.Context) (Reply, error) { return r, nil }
}

// after answers once d has passed or the connection is closed.
func after(d time.Duration, r Reply) Pending {
	return func(ctx context.Context) (Reply, error) {
		select {
		case <-time.After(d):
			return r, nil
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
}

func testConfig() Config {
	return Config{
		Table:           wire.NewTable(),
		Logger:          slog.New(slog.DiscardHandler),
		MaxConnections:  100,
		MaxInFlight:     64,
		MaxFrameSize:    8 << 20,
		MaxResponseSize: 8 << 20,
		FrameBudget:     budget.New(32 << 20),
		DecodeBudget:    budget.New(32 << 20),
		ResponseBudget:  budget.New(32 << 20),
		IdleTimeout:     600 * time.Second,
		ReadTimeout:     15 * time.Second,
		WriteTimeout:    10 * time.Second,
	}
}

// fixture is a server with a listener in memory, within a synctest bubble.
type fixture struct {
	*testing.T
	*Server
	listener *memListener
	served   chan error
}

// inBubble runs a test against a server in a bubble, shuts the server down, and checks that it gave all memory back.
func inBubble(t *testing.T, cfg Config, h handlerFunc, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, Server: New(cfg, h), listener: newMemListener(), served: make(chan error, 1)}
		go func() { f.served <- f.Serve(Listener{f.listener, "broker.example", 9092}) }()
		synctest.Wait()
		test(f)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Shutdown(ctx)
		if err := <-f.served; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
		for name, b := range map[string]*budget.Budget{
			"frame": cfg.FrameBudget, "decode": cfg.DecodeBudget, "response": cfg.ResponseBudget,
		} {
			if used := b.Used(); used != 0 {
				t.Errorf("%s budget: %d bytes were not given back", name, used)
			}
		}
		if open := f.Stats().Open; open != 0 {
			t.Errorf("%d connections are still counted", open)
		}
	})
}

// client is the other end of a connection.
type client struct {
	*testing.T
	net.Conn
}

func (f *fixture) dial() *client {
	f.Helper()
	ours, theirs := net.Pipe()
	f.listener.conns <- theirs
	c := &client{f.T, ours}
	f.Cleanup(func() { ours.Close() })
	return c
}

// frame encodes a whole request.
func frame(correlationID int32, req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, correlationID)
}

func (c *client) send(frames ...[]byte) {
	c.Helper()
	for _, f := range frames {
		if _, err := c.Write(f); err != nil {
			c.Fatalf("send: %v", err)
		}
	}
}

// receive reads one answer and returns its correlation id and what follows it.
func (c *client) receive() (int32, []byte) {
	c.Helper()
	id, rest, err := readAnswer(c)
	if err != nil {
		c.Fatalf("receive: %v", err)
	}
	return id, rest
}

// readAnswer reads one answer; the error is io.EOF if the stream ends before it.
func readAnswer(r io.Reader) (id int32, rest []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	rest = make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return int32(binary.BigEndian.Uint32(head[4:])), rest, nil
}

// expect reads one answer for each id, in this order.
func (c *client) expect(ids ...int32) {
	c.Helper()
	for _, want := range ids {
		if got, _ := c.receive(); got != want {
			c.Fatalf("answer %d came, not %d", got, want)
		}
	}
}

// expectClosed waits until the server closes, which it must do without another byte.
func (c *client) expectClosed() {
	c.Helper()
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		c.Fatalf("read %d bytes, error %v, not the end", n, err)
	}
}

// expectCause checks why connections were closed so far.
func (f *fixture) expectCause(want CloseCause, n uint64) {
	f.Helper()
	synctest.Wait()
	if got := f.Stats().Closed; got[want] != n {
		f.Errorf("closed %v, want %d by %v", got, n, want)
	}
}

func produce(acks int16) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, acks
	return req
}

// largeProduce has a frame of about n bytes.
func largeProduce(n int) *kmsg.ProduceRequest {
	req := produce(1)
	topic, partition := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	partition.Records = make([]byte, n)
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

func fetch() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 12
	return req
}

func metadata() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	return req
}

func joinGroup() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = 5
	return req
}

func apiVersions(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test", "1.0"
	return req
}
