// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Iggy says how a native client reaches the Iggy server behind a target, and where the gateway keeps its topics.
type Iggy struct{ Addr, Username, Password, Stream string }

// Target is something that Kafka clients can be run against. Its methods are for one goroutine at a time.
type Target struct {
	Name    string
	Kafka   string // host:port for clients
	Admin   string // host:port of the gateway's admin listener, empty for a broker
	Iggy    *Iggy  // nil: no Iggy there
	Durable bool   // records survive the end of Gateway and IggyServer, by whatever means

	// Gateway is nil where a broker is the target, IggyServer where the Iggy server is not a process of its own or
	// not this target's. An Iggy embedded in the gateway goes and comes with it. Broker is a Kafka broker, nil where
	// KAFKA_ADDR names one.
	Gateway    *Program
	IggyServer *Program
	Broker     *Program
}

// Kind is a sort of target that can be started.
type Kind struct {
	Name      string
	Reference bool // a broker to compare with, none of our programs
	Start     func(ctx context.Context, bin Binaries, dir string, settings ...string) (*Target, error)
}

// Kinds lists what is tested here: the gateway in all its forms, and what the environment asks for. Kafka is among them
// only then: a run of the tests against it says something about the tests, and nothing about a change of the gateway.
func Kinds() []Kind {
	kinds := []Kind{
		{Name: "embedded-memory", Start: startEmbeddedMemory},
		{Name: "embedded-durable", Start: startEmbeddedDurable},
		{Name: "separate", Start: startSeparate},
	}
	if os.Getenv("IGGY_ADDR") != "" {
		kinds = append(kinds, Kind{Name: "iggy", Start: startRealIggy})
	}
	if os.Getenv("KAFKA_ADDR") != "" || os.Getenv("E2E_KAFKA") == "true" {
		kafka, _ := Kafka() // without java the start says so
		kinds = append(kinds, kafka)
	}
	return kinds
}

// startEmbeddedMemory runs one gateway with Iggy in its memory. Settings are variables (NAME=value) of the gateway.
func startEmbeddedMemory(ctx context.Context, bin Binaries, dir string, settings ...string) (*Target, error) {
	return startEmbedded(ctx, "embedded-memory", bin, dir, append([]string{"IGGY_KAFKA_EMBEDDED_STORE=memory"}, settings...))
}

func startEmbeddedDurable(ctx context.Context, bin Binaries, dir string, settings ...string) (*Target, error) {
	t, err := startEmbedded(ctx, "embedded-durable", bin, dir, append([]string{"IGGY_KAFKA_DATA_DIR=" + filepath.Join(dir, "data")}, settings...))
	if err == nil {
		t.Durable = true
	}
	return t, err
}

func startEmbedded(ctx context.Context, name string, bin Binaries, dir string, settings []string) (*Target, error) {
	iggyAddr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	t := &Target{Name: name, Iggy: &Iggy{Addr: iggyAddr, Username: "iggy", Password: "iggy", Stream: "kafka"}}
	return t, t.startGateway(ctx, bin, dir, append([]string{
		"IGGY_KAFKA_EMBEDDED=true",
		"IGGY_KAFKA_EMBEDDED_ADDR=" + iggyAddr,
		"IGGY_KAFKA_AUTO_CREATE_TOPICS=false",
	}, settings...))
}

// startSeparate runs the gateway in front of the embedded server as a process of its own.
func startSeparate(ctx context.Context, bin Binaries, dir string, settings ...string) (*Target, error) {
	t := &Target{Name: "separate"}
	if err := t.StartIggy(ctx, bin, dir); err != nil {
		return nil, err
	}
	return t, t.startGateway(ctx, bin, dir, append(iggySettings(t.Iggy), settings...))
}

// StartIggy runs the embedded server as a process of its own; args are more of its arguments.
func (t *Target) StartIggy(ctx context.Context, bin Binaries, dir string, args ...string) error {
	return t.startServer(ctx, Program{
		name: "iggy-embedded", log: t.logFile(dir, "iggy-embedded"), path: bin.Iggy,
	}, func(p *Program) {
		p.args = append([]string{"--addr", t.Iggy.Addr, "--data-dir", filepath.Join(dir, "data")}, args...)
	})
}

// StartRealIggy runs the Iggy server 0.8 whose binary is at path, configured by its environment alone.
func (t *Target) StartRealIggy(ctx context.Context, path, dir string) error {
	return t.startServer(ctx, Program{
		name: "iggy-server", log: t.logFile(dir, "iggy-server"), path: path,
	}, func(p *Program) {
		p.env = []string{
			"IGGY_TCP_ADDRESS=" + t.Iggy.Addr, "IGGY_SYSTEM_PATH=" + filepath.Join(dir, "data"),
			"IGGY_ROOT_USERNAME=" + t.Iggy.Username, "IGGY_ROOT_PASSWORD=" + t.Iggy.Password,
			"IGGY_HTTP_ENABLED=false", "IGGY_QUIC_ENABLED=false", "IGGY_WEBSOCKET_ENABLED=false",
		}
	})
}

// startServer starts an Iggy server at an address of its own, once configure has said how it gets to know that.
func (t *Target) startServer(ctx context.Context, p Program, configure func(*Program)) error {
	addr, err := FreeAddr()
	if err != nil {
		return err
	}
	t.Durable, t.Iggy = true, &Iggy{Addr: addr, Username: "iggy", Password: "iggy", Stream: "kafka"}
	p.ready = accepts(addr)
	configure(&p)
	t.IggyServer, err = start(ctx, p)
	return err
}

// StartGateway starts the target's gateway: in front of the server that StartIggy or StartRealIggy has started, or with
// one that is embedded in it and durable where there is none. Settings are more of its variables, which count more.
func (t *Target) StartGateway(ctx context.Context, bin Binaries, dir string, settings ...string) error {
	if t.IggyServer != nil {
		return t.startGateway(ctx, bin, dir, append(iggySettings(t.Iggy), settings...))
	}
	started, err := startEmbeddedDurable(ctx, bin, dir, settings...)
	if err == nil {
		*t = *started
	}
	return err
}

// startRealIggy runs the gateway in front of the server that IGGY_ADDR names, on a stream of this run's own.
func startRealIggy(ctx context.Context, bin Binaries, dir string, settings ...string) (*Target, error) {
	t := &Target{Name: "iggy", Durable: true, Iggy: &Iggy{
		Addr:     os.Getenv("IGGY_ADDR"),
		Username: cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"),
		Password: cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy"),
		Stream:   "e2e-" + strings.ToLower(rand.Text()),
	}}
	return t, t.startGateway(ctx, bin, dir, append(iggySettings(t.Iggy), settings...))
}

func iggySettings(i *Iggy) []string {
	return []string{
		"IGGY_KAFKA_IGGY_ADDR=" + i.Addr,
		"IGGY_KAFKA_IGGY_USERNAME=" + i.Username,
		"IGGY_KAFKA_IGGY_PASSWORD=" + i.Password,
		"IGGY_KAFKA_IGGY_STREAM=" + i.Stream,
	}
}

// StartDetached runs a gateway that has no Iggy; it is no kind that every test can be run against.
func StartDetached(ctx context.Context, bin Binaries, dir string) (*Target, error) {
	t := &Target{Name: "detached"}
	return t, t.startGateway(ctx, bin, dir, []string{"IGGY_KAFKA_BRIDGE_ENABLED=false"})
}

// startGateway starts the target's gateway; what is running already is stopped if that fails.
func (t *Target) startGateway(ctx context.Context, bin Binaries, dir string, settings []string) error {
	addr, err := FreeAddr()
	if err != nil {
		return errors.Join(err, t.Close(ctx))
	}
	admin, err := FreeAddr()
	if err != nil {
		return errors.Join(err, t.Close(ctx))
	}
	t.Kafka, t.Admin = addr, admin
	t.Gateway, err = start(ctx, Program{
		name: "gateway", log: t.logFile(dir, "gateway"), ready: speaks(addr),
		path: bin.Gateway, env: append([]string{"IGGY_KAFKA_BIND_ADDR=" + addr, "IGGY_KAFKA_ADMIN_ADDR=" + admin, "IGGY_KAFKA_INSTANCE_ID=1"}, settings...),
	})
	if err != nil {
		return errors.Join(err, t.Close(ctx))
	}
	return nil
}

// programs lists what belongs to the target, in the order in which it is stopped.
func (t *Target) programs() []*Program {
	return slices.DeleteFunc([]*Program{t.Gateway, t.IggyServer, t.Broker}, func(p *Program) bool { return p == nil })
}

// Close stops what runs. An error says that a program did not end well, which is a fault of the program.
func (t *Target) Close(ctx context.Context) error {
	var errs []error
	for _, p := range t.programs() {
		errs = append(errs, p.Stop(ctx))
	}
	t.Gateway, t.IggyServer, t.Broker = nil, nil, nil
	return errors.Join(errs...)
}

// Logs returns the ends of the programs' logs.
func (t *Target) Logs() string {
	var logs strings.Builder
	for _, p := range t.programs() {
		fmt.Fprintln(&logs, p.tail())
	}
	return logs.String()
}

// logFile names a program's log: in dir, which goes with the run, or in the folder that E2E_LOGS keeps.
func (t *Target) logFile(dir, program string) string {
	if kept := os.Getenv("E2E_LOGS"); kept != "" {
		return filepath.Join(kept, t.Name+"-"+program+".log")
	}
	return filepath.Join(dir, program+".log")
}
