// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/doctor"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

func quiet(doctor.Step) {}

// Where all is well, every step says so, and nothing is left behind.
func TestHealthy(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("all", func(t *testing.T) {
		p := newPKI(t, "127.0.0.1")
		at := gateway(t, append(p.settings, "IGGY_KAFKA_SASL_ENABLED=true")...)
		o := options(at.clients)
		o.Target.TLS = &tls.Config{RootCAs: p.authority.Pool()}
		o.Target.User, o.Target.Password, o.Target.Admin = "iggy", "iggy", at.admin
		var seen []doctor.Step
		r := doctor.Run(t.Context(), o, func(s doctor.Step) { seen = append(seen, s) })
		got := []string{}
		for _, s := range r.Steps {
			got = append(got, s.Name+" "+string(s.Status))
		}
		want := []string{
			"settings ok", "dns ok", "connect ok", "tls ok", "protocol ok", "login ok", "metadata ok", "advertised ok", "controller ok",
			"topic ok", "produce ok", "fetch ok", "group ok", "latency ok", "clock ok", "readiness ok", "cleanup ok",
		}
		if diff := cmp.Diff(want, got); diff != "" || !r.Healthy || len(seen) != len(want) {
			t.Errorf("(-want +got):\n%s%s", diff, text(r))
		}
		if len(r.Latencies) != 3 || r.Latencies[1].Count != 3 || r.Latencies[1].P50 <= 0 || r.Latencies[1].P50 > r.Latencies[1].Max {
			t.Errorf("latencies %+v", r.Latencies)
		}
		for _, s := range seen {
			if s.Advice != "" {
				t.Errorf("advice without need: %+v", s)
			}
		}
		made := strings.TrimSuffix(strings.Fields(outcome(r)["topic"].Found)[1], ",")
		o.Topic = made
		if s := outcome(doctor.Run(t.Context(), o, quiet))["topic"]; s.Status != doctor.Failed || !strings.Contains(s.Found, made) {
			t.Errorf("the topic of the first examination is still there: %+v", s)
		}
	})
}

// Every way in which it can go wrong is told apart, in the step where it goes wrong.
func TestTroubles(t *testing.T) {
	plain := gateway(t)
	for _, tc := range []struct {
		name   string
		setUp  func(t *testing.T) doctor.Options
		step   string
		found  []string // in what was found
		advice string   // in what is to be done
	}{
		{"unknown host", func(*testing.T) doctor.Options { return options("gateway.invalid:9093") },
			"dns", []string{"gateway.invalid"}, "typing error"},
		{"closed port", func(t *testing.T) doctor.Options { return options(closedPort(t)) },
			"connect", []string{"nobody listens"}, "IGGY_KAFKA_BIND_ADDR"},
		{"http server", func(t *testing.T) doctor.Options {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			o := options(s.Listener.Addr().String())
			o.StepTimeout = 10 * hasty // it may take the request for the beginning of one of its own, and wait for the rest
			return o
		}, "protocol", []string{"is an HTTP server"}, "9094"},
		{"http server, asked for tls", func(t *testing.T) doctor.Options {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			o := options(s.Listener.Addr().String())
			o.Target.TLS = &tls.Config{}
			return o
		}, "tls", []string{"is an HTTP server"}, "9094"},
		{"hung server", func(t *testing.T) doctor.Options {
			o := options(listener(t, func(net.Conn) {}))
			o.StepTimeout = hasty
			return o
		}, "protocol", []string{"says nothing"}, "hangs"},
		{"hung server, asked for tls", func(t *testing.T) doctor.Options {
			o := options(listener(t, func(net.Conn) {}))
			o.StepTimeout, o.Target.TLS = hasty, &tls.Config{}
			return o
		}, "tls", []string{"says nothing"}, "hangs"},
		{"server that hangs up", func(t *testing.T) doctor.Options { return options(listener(t, func(c net.Conn) { c.Close() })) },
			"protocol", []string{"closes the connection"}, "log"},
		{"server that talks nonsense", func(t *testing.T) doctor.Options {
			return options(listener(t, func(c net.Conn) { io.WriteString(c, "220 mail.example ESMTP\r\n") }))
		}, "protocol", []string{"does not speak Kafka"}, "another server's"},
		{"tls where it is plain", func(t *testing.T) doctor.Options {
			o := options(plain.clients)
			o.Target.TLS = &tls.Config{}
			return o
		}, "tls", []string{"speaks Kafka without TLS"}, "--tls"},
		{"plain where it is tls", func(t *testing.T) doctor.Options {
			return options(gateway(t, newPKI(t, "127.0.0.1").settings...).clients)
		}, "protocol", []string{"speaks TLS, and you said plain"}, "security.protocol=SSL"},
		{"unknown authority", func(t *testing.T) doctor.Options {
			o := options(gateway(t, newPKI(t, "127.0.0.1").settings...).clients)
			o.Target.TLS = &tls.Config{}
			return o
		}, "tls", []string{"of an unknown authority", "CN=authority"}, "--tls-ca-file"},
		{"certificate of another name", func(t *testing.T) doctor.Options {
			p := newPKI(t, "gateway.example")
			o := options(gateway(t, p.settings...).clients)
			o.Target.TLS = &tls.Config{RootCAs: p.authority.Pool()}
			return o
		}, "tls", []string{"for gateway.example, not for 127.0.0.1"}, "name"},
		{"no client certificate", func(t *testing.T) doctor.Options {
			p := newPKI(t, "127.0.0.1")
			o := options(gateway(t, append(p.settings, "IGGY_KAFKA_TLS_CLIENT_CA_FILE="+p.ca)...).clients)
			o.Target.TLS = &tls.Config{RootCAs: p.authority.Pool()}
			return o
		}, "protocol", []string{"client certificate"}, "--tls-cert-file"},
		{"no user where one is wanted", func(t *testing.T) doctor.Options {
			return options(gateway(t, "IGGY_KAFKA_SASL_ENABLED=true").clients)
		}, "metadata", []string{"needs a login"}, "--user"},
		{"wrong password", func(t *testing.T) doctor.Options {
			o := options(gateway(t, "IGGY_KAFKA_SASL_ENABLED=true").clients)
			o.Target.User, o.Target.Password = "iggy", "hunter2"
			return o
		}, "login", []string{"iggy is refused"}, "Wrong password"},
		{"user where none is wanted", func(t *testing.T) doctor.Options {
			o := options(plain.clients)
			o.Target.User, o.Target.Password = "iggy", "hunter2"
			return o
		}, "login", []string{"knows no logins"}, "--user"},
		{"advertised host unknown", func(t *testing.T) doctor.Options {
			return options(gateway(t, "IGGY_KAFKA_ADVERTISED_HOST=gateway.invalid", "IGGY_KAFKA_ADVERTISED_PORT=9093").clients)
		}, "advertised", []string{"told to connect to gateway.invalid:9093", "no host"}, "IGGY_KAFKA_ADVERTISED_HOST"},
		{"advertised port closed", func(t *testing.T) doctor.Options {
			_, port, _ := net.SplitHostPort(closedPort(t))
			return options(gateway(t, "IGGY_KAFKA_ADVERTISED_PORT="+port).clients)
		}, "advertised", []string{"nobody listens"}, "IGGY_KAFKA_ADVERTISED_HOST"},
		{"advertised address of another cluster", func(t *testing.T) doctor.Options {
			_, port, _ := net.SplitHostPort(gateway(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_BRIDGE_ENABLED=false").clients)
			return options(gateway(t, "IGGY_KAFKA_ADVERTISED_PORT="+port).clients)
		}, "advertised", []string{"another cluster"}, "IGGY_KAFKA_ADVERTISED_HOST"},
		{"no such topic", func(*testing.T) doctor.Options {
			o := options(gateway(t, "IGGY_KAFKA_AUTO_CREATE_TOPICS=false").clients)
			o.Topic = "nowhere"
			return o
		}, "topic", []string{"nowhere", "UNKNOWN_TOPIC_OR_PARTITION"}, "--topic"},
		{"no permission to make a topic", func(t *testing.T) doctor.Options {
			at, iggy := separate(t, "IGGY_KAFKA_SASL_ENABLED=true")
			root := (&iggytest.Server{Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy"}).Dial(t)
			root.NewUser("ann", "secret", &iggywire.Permissions{Global: iggywire.GlobalPermissions{PollMessages: true}})
			o := options(at.clients)
			o.Target.User, o.Target.Password = "ann", "secret"
			return o
		}, "topic", []string{"TOPIC_AUTHORIZATION_FAILED"}, "manage topics"},
		{"iggy away", func(t *testing.T) doctor.Options {
			at, iggy := separate(t)
			iggy.Close()
			o := options(at.clients)
			o.Target.Admin, o.StepTimeout = at.admin, 10*hasty
			return o
		}, "readiness", []string{"iggy: does not answer"}, "IGGY_KAFKA_IGGY_ADDR"},
		{"iggy away at a login", func(t *testing.T) doctor.Options {
			at, iggy := separate(t, "IGGY_KAFKA_SASL_ENABLED=true")
			iggy.Close()
			o := options(at.clients)
			o.Target.User, o.Target.Password, o.StepTimeout = "iggy", "hunter2", 10*hasty
			return o
		}, "login", []string{"the login"}, "Iggy"},
		{"no gateway's admin listener", func(t *testing.T) doctor.Options {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			o := options(plain.clients)
			o.Target.Admin = s.Listener.Addr().String()
			return o
		}, "readiness", []string{"404"}, "no gateway's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // some wait for what never comes
			r := doctor.Run(t.Context(), tc.setUp(t), quiet)
			s := outcome(r)[tc.step]
			if r.Healthy || s.Status != doctor.Failed || !strings.Contains(s.Advice, tc.advice) {
				t.Errorf("want %s failed with the advice %q:\n%s", tc.step, tc.advice, text(r))
			}
			for _, want := range tc.found {
				if !strings.Contains(s.Found, want) {
					t.Errorf("%s found %q, want %q", tc.step, s.Found, want)
				}
			}
			var encoded bytes.Buffer
			if err := r.WriteJSON(&encoded); err != nil || strings.Contains(encoded.String(), "hunter2") || strings.Contains(text(r), "hunter2") {
				t.Errorf("%v, or the password shows:\n%s", err, encoded.String())
			}
		})
	}
}

// An examination that is broken off skips what is left, and cleans up.
func TestBrokenOff(t *testing.T) {
	at := gateway(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := doctor.Run(ctx, options(at.clients), func(s doctor.Step) {
		if s.Name == "produce" {
			cancel()
		}
	})
	steps := outcome(r)
	if steps["produce"].Status != doctor.OK || steps["fetch"].Status != doctor.Skipped || steps["cleanup"].Status != doctor.OK {
		t.Error(text(r))
	}
}

// A gateway that hangs in the middle of it ends no step, and does not keep the doctor.
func TestHangs(t *testing.T) {
	var hung atomic.Bool
	var behind atomic.Value // where the gateway is
	front := listener(t, func(c net.Conn) {
		g, err := net.Dial("tcp", behind.Load().(string))
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { g.Close() })
		for from, to := range map[net.Conn]net.Conn{c: g, g: c} {
			go func() {
				for buf := make([]byte, 64<<10); ; {
					n, err := from.Read(buf)
					if err != nil || hung.Load() {
						return
					}
					to.Write(buf[:n])
				}
			}()
		}
	})
	_, port, _ := net.SplitHostPort(front)
	behind.Store(gateway(t, "IGGY_KAFKA_ADVERTISED_PORT="+port).clients)
	o := options(front)
	o.StepTimeout = 3 * hasty
	steps := outcome(doctor.Run(t.Context(), o, func(s doctor.Step) {
		if s.Name == "topic" {
			hung.Store(true)
		}
	}))
	if steps["topic"].Status == doctor.OK && (steps["produce"].Status != doctor.Failed || steps["cleanup"].Status != doctor.Warning) {
		t.Errorf("produce %+v, cleanup %+v", steps["produce"], steps["cleanup"])
	}
}

// What comes from a server cannot do anything to a terminal.
func TestTerminal(t *testing.T) {
	o := options(closedPort(t))
	o.Target.Admin = listener(t, func(c net.Conn) {
		c.Read(make([]byte, 4096))
		io.WriteString(c, "HTTP/1.1 404 \x1b]0;owned\x07\x1b[2J\r\nContent-Length: 0\r\n\r\n")
		c.Close()
	})
	s := outcome(doctor.Run(t.Context(), o, quiet))["readiness"]
	if s.Status != doctor.Failed || strings.ContainsAny(s.Found+s.Advice, "\x1b\x07") {
		t.Errorf("%+v", s)
	}
}

// The report as JSON has durations in milliseconds and the steps in their order.
func TestJSON(t *testing.T) {
	r := doctor.Run(t.Context(), options(closedPort(t)), quiet)
	var encoded bytes.Buffer
	if err := r.WriteJSON(&encoded); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Address string
		Healthy bool
		Steps   []struct {
			Step, Status, Found, Advice string
			TookMS                      float64 `json:"took_ms"`
		}
	}
	if err := json.Unmarshal(encoded.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Healthy || len(got.Steps) != len(r.Steps) || got.Steps[2].Step != "connect" || got.Steps[2].Status != "failed" || got.Steps[2].Advice == "" {
		t.Errorf("%+v", got)
	}
}
