// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// echo answers every request at once with the emptiest answer of its kind.
type echo struct{}

func (echo) Start(_ context.Context, _ *server.Conn, req *wire.Request) server.Pending {
	return func(context.Context) (server.Reply, error) { return server.NewReply(req.Body.ResponseKind()), nil }
}

// BenchmarkRequest is a heartbeat there and back over loopback, from a handler that does nothing, with and without metrics: what
// they add to the shortest request that there is.
func BenchmarkRequest(b *testing.B) {
	for name, observer := range map[string]server.Observer{"without": nil, "with": newTestMetrics().Observer()} {
		b.Run(name, func(b *testing.B) {
			s := server.New(server.Config{
				Table: wire.NewTable(), Logger: slog.New(slog.DiscardHandler), Observer: observer,
				MaxConnections: 10, MaxInFlight: 64, MaxFrameSize: 1 << 20, MaxResponseSize: 1 << 20,
				FrameBudget: budget.New(32 << 20), DecodeBudget: budget.New(32 << 20), ResponseBudget: budget.New(32 << 20),
				IdleTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
			}, echo{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			served := make(chan error, 1)
			go func() {
				served <- s.Serve(server.Listener{Listener: l, AdvertisedHost: "localhost", AdvertisedPort: 9092})
			}()
			heartbeats(b, l.Addr().String())
			if err := s.Shutdown(context.Background()); err != nil {
				b.Error(err)
			}
			if err := <-served; !errors.Is(err, server.ErrServerClosed) {
				b.Error(err)
			}
		})
	}
}

// heartbeats sends them one after the other.
func heartbeats(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = 4
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 1)
	answers := bufio.NewReader(c)
	var length [4]byte
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(answers, length[:]); err != nil {
			b.Fatal(err)
		}
		if _, err := answers.Discard(int(binary.BigEndian.Uint32(length[:]))); err != nil {
			b.Fatal(err)
		}
	}
}
