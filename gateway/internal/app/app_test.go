// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// load reads settings as the program does; every gateway here keeps its Iggy in memory and takes any free ports.
func load(t *testing.T, settings ...string) config.Config {
	t.Helper()
	cfg, err := config.Load(nil, append([]string{
		"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_EMBEDDED_STORE=memory", "IGGY_KAFKA_BIND_ADDR=127.0.0.1:0",
		"IGGY_KAFKA_ADMIN_ADDR=127.0.0.1:0",
	}, settings...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// addrOf is a log handler that passes on the address of a message.
type addrOf struct {
	message string
	addr    chan string
}

func (h addrOf) Enabled(context.Context, slog.Level) bool { return true }
func (h addrOf) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h addrOf) WithGroup(string) slog.Handler            { return h }
func (h addrOf) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == h.message && a.Key == "addr" {
			h.addr <- a.Value.String()
		}
		return true
	})
	return nil
}

// start runs a gateway and returns where it serves and what ends it.
func start(t *testing.T, cfg config.Config) (addr string, stop func() error) {
	t.Helper()
	serving := addrOf{"serving kafka clients", make(chan string, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, time.Now, nil, slog.New(serving)) }()
	select {
	case addr = <-serving.addr:
	case err := <-ended:
		cancel()
		t.Fatalf("did not start: %v", err)
	}
	return addr, func() error {
		cancel()
		return <-ended
	}
}

func TestRunAndStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	addr, stop := start(t, load(t))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := stop(); err != nil {
		t.Errorf("a stop that was asked for: %v", err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("still listening")
	}
}

func TestDetached(t *testing.T) {
	addr, stop := start(t, load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_BRIDGE_ENABLED=false"))
	if addr == "" {
		t.Error("no address")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	notADir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notADir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"port taken", []string{"IGGY_KAFKA_BIND_ADDR=" + taken.Addr().String()}, "IGGY_KAFKA_BIND_ADDR=" + taken.Addr().String()},
		{"admin port taken", []string{"IGGY_KAFKA_ADMIN_ADDR=" + taken.Addr().String()}, "IGGY_KAFKA_ADMIN_ADDR=" + taken.Addr().String()},
		{"data folder is a file", []string{"IGGY_KAFKA_EMBEDDED_STORE=durable", "IGGY_KAFKA_DATA_DIR=" + notADir}, notADir},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Run(t.Context(), load(t, tc.settings...), time.Now, nil, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want a mention of %q", err, tc.want)
			}
		})
	}
}

// A wrong password ends the start at once, and the message says what to look at.
func TestWrongPassword(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true, Username: "iggy", Password: "right"})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	cfg := load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=wrong", "IGGY_KAFKA_IGGY_ADDR="+iggy.Addr().String())
	err = Run(t.Context(), cfg, time.Now, nil, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("started")
	}
	got := err.Error()
	known := (*Mistake)(nil)
	if !errors.As(err, &known) || !strings.Contains(got, `user "iggy"`) || !strings.Contains(known.Do, "IGGY_KAFKA_IGGY_PASSWORD") ||
		strings.Contains(got, "unavailable") || strings.Count(got, "status") != 1 {
		t.Error(got)
	}
}

// A stop while the gateway tries again and again to reach Iggy, as those who ask are told, is no failure.
func TestStopWhileConnecting(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	admin := freeAddr(t)
	cfg := load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=x", "IGGY_KAFKA_IGGY_ADDR=127.0.0.1:1", "IGGY_KAFKA_ADMIN_ADDR="+admin)
	ctx, cancel := context.WithCancel(t.Context())
	retrying, ended := make(chan struct{}), make(chan error, 1)
	log := slog.New(atMessage{addrOf{}, "iggy cannot be used yet: trying again", sync.OnceFunc(func() { close(retrying) })})
	go func() { ended <- Run(ctx, cfg, time.Now, nil, log) }()
	<-retrying
	if status, text := askPage(t, admin, "/readyz", "", ""); status != 503 || text != "starting: connecting to iggy, which fails: the log says why\n" {
		t.Errorf("%d %q", status, text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDetachedClusterID(t *testing.T) {
	if a, b := detachedClusterID(0), detachedClusterID(1); len(a) != 22 || a == b || a != detachedClusterID(0) {
		t.Errorf("%q %q", a, b)
	}
}

// What is set about groups reaches the coordinator.
func TestCoordinatorConfig(t *testing.T) {
	got := coordinatorConfig(load(t, "IGGY_KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS=1", "IGGY_KAFKA_GROUP_MAX_SESSION_TIMEOUT_MS=2",
		"IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=3", "IGGY_KAFKA_GROUP_MAX_SIZE=4", "IGGY_KAFKA_GROUP_MAX_GROUPS=5",
		"IGGY_KAFKA_GROUP_MAX_MEMBERS=6", "IGGY_KAFKA_OFFSETS_RETENTION_MINUTES=7"))
	want := coordinator.DefaultConfig()
	want.MinSessionTimeout, want.MaxSessionTimeout, want.InitialRebalanceDelay = time.Millisecond, 2*time.Millisecond, 3*time.Millisecond
	want.MaxGroupSize, want.MaxGroups, want.MaxMembers, want.OffsetsRetention = 4, 5, 6, 7*time.Minute
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := coordinatorConfig(load(t)); got != coordinator.DefaultConfig() {
		t.Errorf("defaults: %+v", got)
	}
}

// A state log that cannot be read ends the gateway, and the message says which and why.
func TestUnreadableState(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), InternalTopics: []string{"my-state"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	storage, err := b.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: "my-state", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Append(t.Context(), 1, []statelog.Message{{Checkpoint: -1, Payload: []byte("not a record")}}); err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_IGGY_ADDR="+iggy.Addr().String(),
		"IGGY_KAFKA_STATE_TOPIC=my-state"), time.Now, nil, slog.New(slog.DiscardHandler))
	if !errors.Is(err, statelog.ErrUnknownRecord) && !errors.Is(err, statelog.ErrCorrupt) {
		t.Fatalf("Run = %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "my-state") || strings.Count(text, "not a record") > 0 {
		t.Errorf("it says: %s", text)
	}
}
