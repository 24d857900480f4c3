// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// What is examined comes from the arguments, or from the settings of the gateway.
func TestTarget(t *testing.T) {
	dir := t.TempDir()
	authority := tlstest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "gateway", time.Now().Add(time.Hour), "gateway.example")
	write := func(name string, text []byte) string { return tlstest.Write(t, filepath.Join(dir, name), text) }
	cert, key, ca := write("cert.pem", pair.Cert), write("key.pem", pair.Key), write("ca.pem", authority.PEM)
	password := write("password", []byte("from a file\n"))
	empty := write("empty", nil)

	type want struct {
		address, user, password, admin string
		tls, ca, pair                  bool
		fault                          string // of the settings
		usage                          string
	}
	for _, tc := range []struct {
		name    string
		args    []string
		environ []string
		want    want
	}{
		{"an address", []string{"gateway.example:9093"}, []string{"IGGY_KAFKA_BOGUS=1"}, want{address: "gateway.example:9093"}},
		{"the settings", nil, []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_BIND_ADDR=127.0.0.1:1234"},
			want{address: "127.0.0.1:1234", admin: "127.0.0.1:9094"}},
		{"every address", nil, []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_BIND_ADDR=0.0.0.0:1234", "IGGY_KAFKA_ADVERTISED_HOST=x", "IGGY_KAFKA_ADMIN_ADDR=[::]:5"},
			want{address: "127.0.0.1:1234", admin: "[::1]:5"}},
		{"any port", nil, []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_BIND_ADDR=127.0.0.1:0"}, want{fault: "port"}},
		{"bad settings", nil, []string{"IGGY_KAFKA_EMBEDDED=yes"}, want{fault: "neither true nor false"}},
		{"with TLS", nil, []string{"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_TLS_CERT_FILE=" + cert, "IGGY_KAFKA_TLS_KEY_FILE=" + key,
			"IGGY_KAFKA_BIND_ADDR=0.0.0.0:1234", "IGGY_KAFKA_ADVERTISED_HOST=gateway.example", "IGGY_KAFKA_ADMIN_ADDR="},
			want{address: "gateway.example:1234", tls: true}},
		{"a login of the gateway's own", nil, []string{"IGGY_KAFKA_IGGY_PASSWORD=own", "IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_ADMIN_ADDR="},
			want{address: "127.0.0.1:9093", user: "iggy", password: "own"}},
		{"another login", []string{"--user=ann"}, []string{"IGGY_KAFKA_IGGY_PASSWORD=own", "IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_ADMIN_ADDR=", "KAFKA_PASSWORD=hers"},
			want{address: "127.0.0.1:9093", user: "ann", password: "hers"}},
		{"a password in a file", []string{"a:1", "--user=ann", "--password-file=" + password}, []string{"KAFKA_PASSWORD=x"}, want{address: "a:1", user: "ann", password: "from a file"}},
		{"files", []string{"a:1", "--tls", "--tls-ca-file=" + ca, "--tls-cert-file=" + cert, "--tls-key-file=" + key, "--admin=b:2"}, nil,
			want{address: "a:1", admin: "b:2", tls: true, ca: true, pair: true}},
		{"no password", []string{"a:1", "--user=ann"}, nil, want{usage: "KAFKA_PASSWORD"}},
		{"an empty file", []string{"a:1", "--user=ann", "--password-file=" + empty}, nil, want{usage: "has no password"}},
		{"no such file", []string{"a:1", "--user=ann", "--password-file=" + filepath.Join(dir, "none")}, nil, want{usage: "--password-file"}},
		{"a file without TLS", []string{"a:1", "--tls-ca-file=" + ca}, nil, want{usage: "without --tls"}},
		{"no authority", []string{"a:1", "--tls", "--tls-ca-file=" + key}, nil, want{usage: "no certificate"}},
		{"a key that does not fit", []string{"a:1", "--tls", "--tls-cert-file=" + cert, "--tls-key-file=" + ca}, nil, want{usage: "--tls-key-file"}},
		{"no port", []string{"gateway.example"}, nil, want{usage: "HOST:PORT"}},
		{"no host", []string{":9093"}, nil, want{usage: "HOST:PORT"}},
		{"port 0", []string{"a:0"}, nil, want{usage: "port"}},
		{"no admin port", []string{"a:1", "--admin=b"}, nil, want{usage: "--admin"}},
		{"no probes", []string{"a:1", "--probes=0"}, nil, want{usage: "--probes"}},
		{"no time", []string{"a:1", "--timeout=-1s"}, nil, want{usage: "timeouts"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var line arguments
			parser, err := newParser(&line)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			o, err := line.options(tc.environ)
			if tc.want.usage != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want.usage) {
					t.Errorf("%v, want %q", err, tc.want.usage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.fault != "" {
				if o.Fault == nil || !strings.Contains(o.Fault.Error(), tc.want.fault) {
					t.Errorf("%v, want %q", o.Fault, tc.want.fault)
				}
				return
			}
			if o.Fault != nil {
				t.Fatal(o.Fault)
			}
			got := want{address: o.Target.Address, user: o.Target.User, password: o.Target.Password.Reveal(), admin: o.Target.Admin, tls: o.Target.TLS != nil}
			if got.tls {
				got.ca, got.pair = o.Target.TLS.RootCAs != nil, len(o.Target.TLS.Certificates) == 1
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Arguments that are wrong are told from an examination that has found something.
func TestUsage(t *testing.T) {
	var out bytes.Buffer
	_, err := Command(t.Context(), []string{"--password=hunter2"}, nil, "test", &out)
	if wrong := (*Usage)(nil); !errors.As(err, &wrong) || out.Len() > 0 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v, %q", err, out.String())
	}
}

// An answer's texts cannot do anything to a terminal, nor fill it.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"gateway.example": "gateway.example", "": `""`, "a b": `"a b"`, "\x1b[2J": `"\x1b[2J"`, "größe": "größe",
		strings.Repeat("x", 300): strings.Repeat("x", 200) + "...",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := printable("a\x1b\r\nb\"c\""); got != `a???b"c"` {
		t.Error(got)
	}
	if got := softwareVersion("(devel) v1.2"); got != "devel--v1.2" {
		t.Error(got)
	}
	if got := softwareVersion("()"); got != "unknown" {
		t.Error(got)
	}
}
