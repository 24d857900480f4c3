// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/principals"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// patience is how long a test waits for what must happen: generous, because machines that run tests are busy.
const patience = 30 * time.Second

const (
	nodeID        = 1
	advertised    = "broker.example"
	internalTopic = "__transaction_state"
	stateTopic    = "__iggy_kafka_state"
)

// common is the gateway that tests share; each uses topics of its own. It is started by the first who needs it.
var common struct {
	once sync.Once
	gw   *gateway
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if common.gw != nil {
		if err := common.gw.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// gateway is the whole of it in one process: an Iggy, the bridge to it, the API, and a server on loopback.
type gateway struct {
	iggy   *embedded.Server // nil when it is somebody else's, or there is none
	bridge *bridge.Bridge   // nil when detached
	people *principals.Directory
	gate   *sasl.Gate // nil when clients do not authenticate
	state  *state.State
	api    *api.API
	server *server.Server
	addr   string
	port   int32
	logs   *logBuffer

	stopping context.Context
	stop     context.CancelFunc
	served   chan error
	budgets  map[string]*budget.Budget
}

// setup is what a test wants otherwise than usual.
type setup struct {
	tune     func(*api.Config)
	detached bool
	// authenticate: clients have to.
	authenticate bool
	gate         func(*sasl.Config)
	// iggyAddr is where Iggy is; empty: a new embedded one.
	iggyAddr string
	bridge   func(*bridge.Config)
	groups   func(*coordinator.Config)
	deps     func(*api.Deps)
	now      func() time.Time // nil: time.Now
	budget   int64
}

// shared returns the gateway that tests share.
func shared(tb testing.TB) *gateway {
	tb.Helper()
	common.once.Do(func() { common.gw, common.err = openGateway(setup{}) })
	if common.err != nil {
		tb.Fatal(common.err)
	}
	return common.gw
}

// start returns a gateway for one test, which ends with it; everything it borrowed must be back by then.
func start(tb testing.TB, s setup) *gateway {
	tb.Helper()
	gw, err := openGateway(s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := gw.close(); err != nil {
			tb.Error(err)
		}
	})
	return gw
}

func openGateway(s setup) (*gateway, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gw := &gateway{served: make(chan error, 1), logs: new(logBuffer)}
	log := slog.New(slog.NewTextHandler(gw.logs, nil))
	if err := gw.openIggy(ctx, s, log); err != nil {
		return nil, errors.Join(err, gw.close())
	}
	if s.budget == 0 {
		s.budget = 128 << 20
	}
	decode, response, frame := budget.New(s.budget), budget.New(s.budget), budget.New(s.budget)
	gw.budgets = map[string]*budget.Budget{"decode": decode, "response": response, "frame": frame}

	cfg := api.Config{
		NodeID: nodeID, ClusterID: "detached",
		InternalTopics:    []string{stateTopic, internalTopic},
		DefaultPartitions: 1,
		FetchCompression:  recordcodec.CodecNone,
		FetchMaxBytes:     55 << 20,
		FetchWaitMax:      18 * time.Second,
		ProduceTimeoutMax: 20 * time.Second,
		PartitionCap:      32 << 20,
		MaxMessageSize:    64 << 20,
		MaxResponseSize:   64 << 20,
		WriteTimeout:      10 * time.Second,
	}
	if gw.bridge != nil {
		cfg.ClusterID = gw.bridge.ClusterID()
	}
	if s.tune != nil {
		s.tune(&cfg)
	}
	table := wire.NewTable()
	if s.authenticate {
		table = wire.NewTable(wire.Authentication())
	}
	if err := gw.openState(ctx, s, log); err != nil {
		return nil, errors.Join(err, gw.close())
	}
	gw.stopping, gw.stop = context.WithCancel(context.Background())
	deps := api.Deps{
		Table: table, Bridge: gw.bridge, DecodeBudget: decode, ResponseBudget: response,
		Groups: gw.state.Groups, Topics: gw.state.Log, ReserveIDs: gw.state.ReserveIDs, Quotas: gw.state.Quotas, Fenced: gw.state.Fenced(), Stopping: gw.stopping,
		Logger: log, Now: time.Now, Rand: rand.Reader,
	}
	var authentication *server.Authentication
	if s.authenticate {
		gw.openGate(s.gate)
		deps.Logins = gw.gate
		authentication = &server.Authentication{Rules: sasl.NewRules(0), Timeout: patience}
	}
	if s.now != nil {
		deps.Now = s.now
	}
	if s.deps != nil {
		s.deps(&deps)
	}
	gw.api = api.New(cfg, deps)
	gw.budgets["fetching"] = gw.api.Fetching()
	gw.server = server.New(server.Config{
		Authentication: authentication,
		Table:          table, Logger: log, MaxConnections: 2048, MaxInFlight: 64,
		MaxFrameSize: 100 << 20, MaxResponseSize: int64(cfg.MaxResponseSize),
		FrameBudget: frame, DecodeBudget: decode, ResponseBudget: response,
		IdleTimeout: 10 * time.Minute, ReadTimeout: 15 * time.Second, WriteTimeout: 10 * time.Second,
	}, gw.api)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, gw.close())
	}
	gw.addr, gw.port = l.Addr().String(), int32(l.Addr().(*net.TCPAddr).Port)
	go func() {
		gw.served <- gw.server.Serve(server.Listener{Listener: l, AdvertisedHost: advertised, AdvertisedPort: gw.port})
	}()
	return gw, nil
}

func (gw *gateway) openIggy(ctx context.Context, s setup, log *slog.Logger) (err error) {
	if s.detached {
		return nil
	}
	if s.iggyAddr == "" {
		if gw.iggy, err = embedded.Start(ctx, embedded.Config{InMemory: true}); err != nil {
			return err
		}
		s.iggyAddr = gw.iggy.Addr().String()
	}
	cfg := bridge.Config{
		Addr: s.iggyAddr, Username: "iggy", Password: "iggy",
		Names: bridge.NewNames("kafka"), InternalTopics: []string{stateTopic, internalTopic}, Logger: log,
	}
	if s.bridge != nil {
		s.bridge(&cfg)
	}
	gw.bridge, err = bridge.Open(ctx, cfg)
	return err
}

// openGate lets Iggy's users in.
func (gw *gateway) openGate(tune func(*sasl.Config)) {
	gw.people = principals.Open(gw.bridge, time.Minute)
	cfg := sasl.Config{
		Authenticator: func(ctx context.Context, user string, password []byte) (sasl.Principal, error) {
			p, err := gw.people.SignIn(ctx, user, password)
			switch {
			case errors.Is(err, principals.ErrRefused):
				return nil, fmt.Errorf("%w: %w", sasl.ErrRefused, err)
			case err != nil:
				return nil, err
			}
			return p, nil
		},
		Concurrent: 4, Timeout: patience, SecretUser: principals.TokenUser,
	}
	if tune != nil {
		tune(&cfg)
	}
	gw.gate = sasl.NewGate(cfg)
}

// openState starts the coordinator and waits for its state, as tests ask at once.
func (gw *gateway) openState(ctx context.Context, s setup, log *slog.Logger) (err error) {
	cfg := state.Config{
		Groups: coordinator.DefaultConfig(), Bridge: gw.bridge, Topic: stateTopic, Partitions: 2, Expiry: 90 * 24 * time.Hour,
		InstanceID: nodeID, Logger: log,
	}
	cfg.Groups.InitialRebalanceDelay = 0
	if s.groups != nil {
		s.groups(&cfg.Groups)
	}
	if gw.state, err = state.Start(ctx, cfg); err != nil {
		return err
	}
	select {
	case <-gw.state.Groups.Loaded():
		return nil
	case <-gw.state.Failed():
		return errors.New("the state was not loaded")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends everything, the server first, and says what was not given back.
func (gw *gateway) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var faults []error
	if gw.stop != nil {
		gw.stop()
	}
	if gw.server != nil {
		faults = append(faults, gw.server.Shutdown(ctx))
		if gw.addr != "" {
			if err := <-gw.served; !errors.Is(err, server.ErrServerClosed) {
				faults = append(faults, err)
			}
		}
	}
	if gw.gate != nil {
		gw.gate.Close()
		gw.people.Close(ctx)
	}
	if gw.state != nil {
		faults = append(faults, gw.state.Stop())
	}
	if gw.bridge != nil {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // to sign out; an Iggy that is silent does not hold it up
		defer cancel()
		gw.bridge.Close(ctx) // lanes that still hold a batch release it
	}
	if gw.iggy != nil {
		faults = append(faults, gw.iggy.Close())
	}
	for name, b := range gw.budgets {
		if used := b.Used(); used != 0 {
			faults = append(faults, fmt.Errorf("%s budget: %d bytes were not given back", name, used))
		}
	}
	return errors.Join(faults...)
}

// until waits for what others bring about.
func until(tb testing.TB, what string, reached func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// untilWaiting waits until so many fetches, of a topic each, are woken when something happens to it. What others fetch from the
// gateway counts, too.
func (gw *gateway) untilWaiting(tb testing.TB, fetches int) {
	tb.Helper()
	until(tb, "fetches wait", func() bool { return gw.bridge.Stats().Watches == fetches })
}

// logBuffer holds what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), s)
}

var lastTopic atomic.Int64

// newName returns a topic name that nothing has.
func newName() string { return fmt.Sprintf("topic-%d", lastTopic.Add(1)) }

// newTopic makes a topic behind the API's back.
func (gw *gateway) newTopic(tb testing.TB, partitions int32) string {
	tb.Helper()
	name := newName()
	gw.createTopic(tb, name, partitions)
	return name
}

func (gw *gateway) createTopic(tb testing.TB, name string, partitions int32) *bridge.Topic {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	topic, err := gw.bridge.CreateTopic(ctx, gw.bridge.Self(), bridge.TopicSpec{Name: name, Partitions: partitions})
	if err != nil {
		tb.Fatal(err)
	}
	return topic
}
