// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// The bridge's own suite: on both stores, over TLS, and on a real server where IGGY_ADDR names one (IGGY_USERNAME and
// IGGY_PASSWORD, iggy by default).
func TestBridgeContract(t *testing.T) {
	serverTLS, clientTLS := selfSigned(t)
	for _, tc := range []struct {
		name string
		cfg  Config
		tls  *tls.Config
	}{
		{"memory", Config{InMemory: true}, nil},
		{"durable", Config{DataDir: t.TempDir()}, nil},
		{"tls", Config{InMemory: true, TLS: serverTLS}, clientTLS},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startServer(t, tc.cfg)
			bridgetest.Run(t, bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy", TLS: tc.tls})
		})
	}
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("IGGY_ADDR")
		if addr == "" {
			t.Skip("IGGY_ADDR names no real server")
		}
		bridgetest.Run(t, bridge.Config{
			Addr:     addr,
			Username: cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"),
			Password: cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy"),
		})
	})
}

// A bridge stays open while its server goes and comes back on the same address: it goes on where the log ends.
func TestBridgeOverRestarts(t *testing.T) {
	cfg := Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = s.Addr().String()
	b, err := bridge.Open(t.Context(), bridge.Config{Addr: cfg.Addr, Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	top, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		if got := appendOne(t, b, top, round); got != int64(round) {
			t.Errorf("round %d went to offset %d", round, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Start(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// appendOne writes a message, again and again while nothing was sent, as a client does.
func appendOne(t *testing.T, b *bridge.Bridge, top *bridge.Topic, n int) int64 {
	t.Helper()
	ids := mapping.IDs{ProducerID: int64(n)}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		a := &bridge.Append{Session: b.Self(), Count: 1, Deadline: deadline}
		a.Messages = mapping.AppendMessage(nil, &mapping.Message{ID: ids.ID(0), Payload: fmt.Appendf(nil, "message %d", n)})
		err := b.Append(top, 0, a)
		if err == nil {
			var got bridge.Appended
			if got, err = a.Wait(t.Context()); err == nil {
				return got.BaseOffset
			}
		}
		if !bridge.IsRetryable(err) || bridge.IsUnknownOutcome(err) {
			t.Fatal(err)
		}
	}
	t.Fatal("the bridge did not come back")
	return 0
}
