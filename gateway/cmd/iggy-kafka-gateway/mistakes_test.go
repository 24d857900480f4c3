// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/app"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/doctor"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file instead of comparing it")

// patience is how long anything may take that has to happen.
const patience = 60 * time.Second

// TestMistakes makes each of the most likely mistakes for real, and compares what is said to whoever makes it with a file, which the
// documentation quotes: it must say what is wrong and what to do.
func TestMistakes(t *testing.T) {
	type mistake struct {
		name    string
		provoke func(*testing.T) string
	}
	mistakes := []mistake{
		{"wrong advertised host", wrongAdvertisedHost},
		{"wildcard address without an advertised host", func(*testing.T) string {
			return command([]string{"check", "--embedded", "--bind-addr=0.0.0.0:9093"})
		}},
		{"wrong password of the gateway's Iggy user", func(t *testing.T) string {
			return command(serving(iggy(t, embedded.Config{}), "--iggy-password=wrong"))
		}},
		{"the gateway's Iggy user may not write", func(t *testing.T) string {
			addr := iggy(t, embedded.Config{})
			root := (&iggytest.Server{Addr: addr, Username: "iggy", Password: "iggy"}).Dial(t)
			root.NewTopic(root.NewStream("kafka").Name, "__iggy_kafka_state")
			root.NewUser("reader", "secret", &iggywire.Permissions{Global: iggywire.GlobalPermissions{ReadStreams: true}})
			said := command(serving(addr, "--iggy-username=reader", "--iggy-password=secret"))
			return regexp.MustCompile(`(?m)^.*level=WARN.*\n|^.*msg="state log".*\n`).ReplaceAllString(said, "")
		}},
		{"client without TLS where it is spoken", func(t *testing.T) string {
			g := start(t, newPKI(t).settings...)
			g.send(t, kmsg.NewPtrMetadataRequest())
			return g.line(t, "cause=plain_text")
		}},
		{"client with TLS where it is not spoken", func(t *testing.T) string {
			g := start(t)
			if c, err := tls.Dial("tcp", g.addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
				c.Close()
				t.Error("there is TLS")
			}
			return g.line(t, "cause=unexpected_tls")
		}},
		{"Iggy with TLS, gateway without", func(t *testing.T) string {
			p := newPKI(t)
			return command(serving(iggy(t, embedded.Config{TLS: p.server}), "--iggy-password=iggy"))
		}},
		{"Iggy without TLS, gateway with", func(t *testing.T) string {
			return command(serving(iggy(t, embedded.Config{}), "--iggy-password=iggy", "--iggy-tls-enabled"))
		}},
		{"Iggy's authority unknown", func(t *testing.T) string {
			p := newPKI(t)
			return command(serving(iggy(t, embedded.Config{TLS: p.server}), "--iggy-password=iggy", "--iggy-tls-enabled"))
		}},
		{"Iggy's certificate for another name", func(t *testing.T) string {
			p := newPKI(t)
			return command(serving(iggy(t, embedded.Config{TLS: p.server}), "--iggy-password=iggy", "--iggy-tls-enabled",
				"--iggy-tls-domain=iggy.example", "--iggy-tls-ca-file="+p.ca))
		}},
		{"Iggy not there", func(*testing.T) string {
			return command(serving("127.0.0.1:1", "--iggy-password=iggy")) // a port that nobody is given who asks for any
		}},
		{"Iggy's host unknown", func(*testing.T) string {
			return command(serving("iggy..example:8090", "--iggy-password=iggy"))
		}},
		{"port taken", func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Error(err)
				return ""
			}
			defer l.Close()
			return command([]string{"--embedded", "--embedded-store=memory", "--admin-addr=", "--bind-addr=" + l.Addr().String()})
		}},
		{"data folder in use", func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "data")
			iggy(t, embedded.Config{DataDir: dir})
			return command([]string{"--embedded", "--data-dir=" + dir, "--admin-addr=", "--bind-addr=127.0.0.1:0"})
		}},
		{"unknown variables", func(*testing.T) string {
			return command([]string{"check", "--embedded"}, "IGGY_KAFKA_ADVERTISED_HOSTNAME=gateway.example", "IGGY_KAFKA_IGGY_PASSWRD=hunter2", "IGGY_KAFKA_BROKERS=3")
		}},
		{"bad topic map", func(t *testing.T) string {
			return command([]string{"check", "--embedded", "--topic-map-path=" + write(t, "topics.toml", "[topics.orders]\nstream = \"shop\"\n")})
		}},
		{"topic map with a stream that is not there", func(t *testing.T) string {
			topics := write(t, "topics.toml", "default_stream = \"kafka\"\n[topics.orders]\nstream = \"shop\"\ntopic = \"orders\"\n")
			return command(serving(iggy(t, embedded.Config{}), "--iggy-password=iggy", "--topic-map-path="+topics))
		}},
		{"old client", func(t *testing.T) string {
			g := start(t)
			req := kmsg.NewPtrProduceRequest()
			req.Version = 2
			g.send(t, req)
			return g.line(t, "cause=unsupported_version")
		}},
		{"Iggy's clock an hour ahead", func(t *testing.T) string {
			ahead := func() time.Time { return time.Now().Add(time.Hour) }
			g := start(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_IGGY_ADDR="+iggy(t, embedded.Config{Now: ahead}))
			return g.line(t, "clock")
		}},
		{"producer's clock two hours ahead", func(t *testing.T) string {
			g := start(t)
			client, err := kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.AllowAutoTopicCreation())
			if err != nil {
				t.Error(err)
				return ""
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			record := &kgo.Record{Topic: "orders", Value: []byte("v"), Timestamp: time.Now().Add(2 * time.Hour)}
			if client.ProduceSync(ctx, record).FirstErr() == nil {
				t.Error("the record was taken")
			}
			return g.line(t, "clock")
		}},
	}
	// All at once, as some wait for an Iggy that does not come.
	said := make([]string, len(mistakes))
	var making sync.WaitGroup
	for i, m := range mistakes {
		making.Go(func() { said[i] = m.provoke(t) })
	}
	making.Wait()
	var got strings.Builder
	for i, m := range mistakes {
		fmt.Fprintf(&got, "== %s\n%s\n", m.name, strings.TrimSpace(anonymous(said[i])))
		if strings.Contains(said[i], "hunter2") {
			t.Errorf("%s: a secret shows", m.name)
		}
	}
	const golden = "testdata/mistakes.golden"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s is not what is said; run with -rewrite (-file +said):\n%s", golden, diff)
	}
}

// anonymous replaces what is different each time.
func anonymous(said string) string {
	for _, r := range []struct{ pattern, by string }{
		{`(?m)^time=\S+ `, ""},
		{`(127\.0\.0\.1|localhost):\d+`, "$1:PORT"},
		{`[^\s"=]*/TestMistakes[^\s"]*/`, "DIR/"},
		{`conn=\d+ remote=\S+`, "conn=N remote=ADDRESS"},
		{`open_for=\S+`, "open_for=TIME"},
		{`(latest|now)=\S+`, "$1=TIME"},
		{`iggy_ahead=(1h0m\d+s|59m\d+s)`, "iggy_ahead=1h0m0s"},
		{`(?m)^level=INFO .*\n`, ""},
	} {
		said = regexp.MustCompile(r.pattern).ReplaceAllString(said, r.by)
	}
	return said
}

// command runs the program and returns all that it prints.
func command(args []string, environ ...string) string {
	var out bytes.Buffer
	run(args, environ, &out, &out)
	return out.String()
}

// serving are the arguments of a gateway in front of an Iggy.
func serving(iggyAddr string, more ...string) []string {
	return append([]string{"--bind-addr=127.0.0.1:0", "--admin-addr=", "--instance-id=1", "--iggy-addr=" + iggyAddr}, more...)
}

// iggy runs an Iggy until the test ends, in memory unless it has a folder.
func iggy(t *testing.T, cfg embedded.Config) (addr string) {
	cfg.InMemory = cfg.DataDir == ""
	s, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Error(err)
		return ""
	}
	t.Cleanup(func() { s.Close() })
	return s.Addr().String()
}

// gateway is a gateway whose log is kept.
type gateway struct {
	addr string

	mu      sync.Mutex
	log     bytes.Buffer
	written chan struct{} // closed and made anew with each line
}

func (g *gateway) Write(line []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.written)
	g.written = make(chan struct{})
	return g.log.Write(line)
}

// line waits for a line that has a text behind its first words.
func (g *gateway) line(t *testing.T, text string) string {
	late := time.After(patience)
	for {
		g.mu.Lock()
		log, written := g.log.String(), g.written
		g.mu.Unlock()
		for line := range strings.Lines(log) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return strings.Replace(line, "level=INFO ", "", 1)
			}
		}
		select {
		case <-written:
		case <-late:
			t.Errorf("no %q in the log:\n%s", text, log)
			return ""
		}
	}
}

// start runs a gateway with an Iggy in its memory, unless the settings say otherwise, until the test ends.
func start(t *testing.T, settings ...string) *gateway {
	g := &gateway{written: make(chan struct{})}
	cfg, err := config.Load(nil, append([]string{
		"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_EMBEDDED_STORE=memory", "IGGY_KAFKA_BIND_ADDR=127.0.0.1:0", "IGGY_KAFKA_ADMIN_ADDR=",
	}, settings...))
	if err != nil {
		t.Error(err)
		return g
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, cfg, time.Now, nil, slog.New(slog.NewTextHandler(g, nil))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	found := regexp.MustCompile(`serving kafka clients" addr=(\S+)`).FindStringSubmatch(g.line(t, "serving kafka clients"))
	if found != nil {
		g.addr = found[1]
	}
	return g
}

// send sends a request as a client that calls itself old-app does, and waits for the connection's end.
func (g *gateway) send(t *testing.T, req kmsg.Request) {
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("old-app")).AppendRequest(nil, req, 1))
	for buf := make([]byte, 1024); err == nil; {
		_, err = c.Read(buf)
	}
}

// wrongAdvertisedHost is said by the gateway, and by the doctor. The name is none that could be looked up anywhere.
func wrongAdvertisedHost(t *testing.T) string {
	g := start(t, "IGGY_KAFKA_ADVERTISED_HOST=gateway..example", "IGGY_KAFKA_ADVERTISED_PORT=9093")
	said := g.line(t, "told to connect")
	var examination bytes.Buffer
	if _, err := doctor.Command(t.Context(), []string{g.addr}, nil, "test", &examination); err != nil {
		t.Error(err)
	}
	_, advertised, _ := strings.Cut(examination.String(), "failed ")
	advertised, _, _ = strings.Cut(advertised, "\nok ")
	return said + "failed " + advertised
}

// pki is a certificate for 127.0.0.1.
type pki struct {
	server   *tls.Config
	settings []string // of the gateway whose it is
	ca       string
}

func newPKI(t *testing.T) pki {
	authority := tlstest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "server", time.Now().Add(time.Hour), "127.0.0.1")
	dir := t.TempDir()
	return pki{
		server: &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}},
		settings: []string{
			"IGGY_KAFKA_TLS_CERT_FILE=" + tlstest.Write(t, filepath.Join(dir, "cert.pem"), pair.Cert),
			"IGGY_KAFKA_TLS_KEY_FILE=" + tlstest.Write(t, filepath.Join(dir, "key.pem"), pair.Key),
		},
		ca: tlstest.Write(t, filepath.Join(dir, "ca.pem"), authority.PEM),
	}
}

func write(t *testing.T, name, text string) string {
	return tlstest.Write(t, filepath.Join(t.TempDir(), name), []byte(text))
}
