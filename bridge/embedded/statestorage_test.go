// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// The state log's storage: on both stores, and on a real server where IGGY_ADDR names one.
func TestStateStorage(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			bridgetest.RunStateStorage(t, bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy"})
		})
	}
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("IGGY_ADDR")
		if addr == "" {
			t.Skip("IGGY_ADDR names no real server")
		}
		bridgetest.RunStateStorage(t, bridge.Config{
			Addr:     addr,
			Username: cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"),
			Password: cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy"),
		})
	})
}

// A server that is killed loses what it had not flushed, the log's owner record included. The gateway, which goes on, writes
// again what it had acknowledged, so that the next one finds all of it.
func TestStateLogOverLoss(t *testing.T) {
	server := apartConfig{DataDir: t.TempDir(), LoseUnflushed: true}
	var addr atomic.Value
	at, kill := serveApart(t, server)
	addr.Store(at)
	cfg := bridge.Config{
		Addr: at, Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), InternalTopics: []string{"__state"},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr.Load().(string))
		},
	}
	first, stop := startStateLog(t, cfg, "first")
	settings := func(i int) map[string]string { return map[string]string{"i": fmt.Sprint(i)} }
	const topics = 40
	for i := range topics {
		// What is written after a loss is acknowledged only when all of it is there again.
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			err := first.SetTopicSettings(t.Context(), fmt.Sprint("id", i), "name", settings(i))
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		if i%10 == 9 && i < topics-1 {
			kill()
			at, kill = serveApart(t, server)
			addr.Store(at)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	second, stop := startStateLog(t, cfg, "second")
	for i := range topics {
		if got, ok := second.TopicSettings(fmt.Sprint("id", i)); !ok || got["i"] != fmt.Sprint(i) {
			t.Errorf("topic %d has %v", i, got)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func startStateLog(t testing.TB, cfg bridge.Config, boot string) (log *statelog.Log, stop func() error) {
	t.Helper()
	b, err := bridge.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	storage, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: "__state", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	log, err = statelog.New(statelog.Config{
		Storage: storage, BootID: boot, TailInterval: 100 * time.Millisecond,
		Observe: func(e statelog.Event) { t.Logf("%s: %v", boot, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- log.Run(ctx) }()
	<-log.Loaded()
	return log, func() error {
		cancel()
		err := <-ran
		b.Close(t.Context())
		return err
	}
}

// BenchmarkStateLog is 100 callers that each wait for their last change, all in one partition.
func BenchmarkStateLog(b *testing.B) {
	for name, cfg := range map[string]Config{"memory": {InMemory: true}, "durable": {DataDir: b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			s := startServer(b, cfg)
			log, stop := startStateLog(b, bridge.Config{
				Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), InternalTopics: []string{"__state"},
			}, "boot")
			b.ResetTimer()
			var all sync.WaitGroup
			for caller := range 100 {
				all.Go(func() {
					for i := caller; i < b.N; i += 100 {
						if err := log.SetLogStart(b.Context(), "id", "topic", int32(caller), statelog.LogStart{Offset: int64(i)}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
			if err := stop(); err != nil {
				b.Error(err)
			}
		})
	}
}
