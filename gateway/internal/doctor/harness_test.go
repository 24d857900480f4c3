// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/app"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/doctor"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// places are the addresses that a gateway's log tells.
type places struct{ clients, admin string }

// told is a log handler that passes on where a gateway serves.
type told struct{ lines chan [2]string }

func (h told) Enabled(context.Context, slog.Level) bool { return true }
func (h told) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h told) WithGroup(string) slog.Handler            { return h }
func (h told) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "addr" && (r.Message == "serving kafka clients" || r.Message == "serving operators") {
			h.lines <- [2]string{r.Message, a.Value.String()}
		}
		return true
	})
	return nil
}

// gateway runs a gateway until the test ends, with an Iggy in its memory unless the settings say otherwise.
func gateway(t *testing.T, settings ...string) (p places) {
	t.Helper()
	cfg, err := config.Load(nil, append([]string{
		"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_EMBEDDED_STORE=memory", "IGGY_KAFKA_BIND_ADDR=127.0.0.1:0", "IGGY_KAFKA_ADMIN_ADDR=127.0.0.1:0",
		"IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", "IGGY_KAFKA_SASL_REJECTION_DELAY_MS=1",
	}, settings...))
	if err != nil {
		t.Fatal(err)
	}
	h := told{make(chan [2]string, 8)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, cfg, time.Now, nil, slog.New(h)) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for p.clients == "" {
		select {
		case line := <-h.lines:
			if line[0] == "serving operators" {
				p.admin = line[1]
			} else {
				p.clients = line[1]
			}
		case err := <-ended:
			ended <- err
			t.Fatalf("did not start: %v", err)
		}
	}
	return p
}

// separate runs an Iggy, and a gateway in front of it.
func separate(t *testing.T, settings ...string) (p places, iggy *embedded.Server) {
	t.Helper()
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { iggy.Close() })
	return gateway(t, append(settings, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_IGGY_ADDR="+iggy.Addr().String())...), iggy
}

// listener accepts connections and does with each what serve does, until the test ends.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			serve(c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// pki is a certificate for a gateway, as its settings, and its authority.
type pki struct {
	authority *tlstest.Authority
	settings  []string
	ca        string
}

func newPKI(t *testing.T, names ...string) pki {
	t.Helper()
	dir := t.TempDir()
	a := tlstest.NewAuthority(t, "authority")
	pair := a.Issue(t, "gateway", time.Now().Add(30*24*time.Hour), names...)
	return pki{a, []string{
		"IGGY_KAFKA_TLS_CERT_FILE=" + tlstest.Write(t, filepath.Join(dir, "cert.pem"), pair.Cert),
		"IGGY_KAFKA_TLS_KEY_FILE=" + tlstest.Write(t, filepath.Join(dir, "key.pem"), pair.Key),
	}, tlstest.Write(t, filepath.Join(dir, "ca.pem"), a.PEM)}
}

// patience is how long a step may take in which something is to be done; hasty is for those that shall find that nothing comes.
const (
	patience = 60 * time.Second
	hasty    = time.Second
)

func options(address string) doctor.Options {
	return doctor.Options{
		Target: doctor.Target{Address: address, Origin: "the test"}, Probes: 3, StepTimeout: patience, Timeout: 10 * patience, Version: "v1 (test)",
	}
}

// outcome is a report's steps by name.
func outcome(r *doctor.Report) map[string]doctor.Step {
	steps := map[string]doctor.Step{}
	for _, s := range r.Steps {
		steps[s.Name] = s
	}
	return steps
}

// text is the report in words, for failures of tests.
func text(r *doctor.Report) string {
	var out string
	for _, s := range r.Steps {
		out += fmt.Sprintf("%s %s: %s | %s\n", s.Status, s.Name, s.Found, s.Advice)
	}
	return out
}
