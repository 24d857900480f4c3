// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// running is a gateway whose log is read line by line.
type running struct {
	*testing.T
	lines  *bufio.Scanner
	reload chan os.Signal
}

// run runs a gateway until the test ends.
func run(t *testing.T, cfg config.Config) *running {
	t.Helper()
	from, to := io.Pipe()
	r := &running{t, bufio.NewScanner(from), make(chan os.Signal)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, cfg, time.Now, r.reload, slog.New(slog.NewTextHandler(to, nil)))
		to.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		io.Copy(io.Discard, from)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// line returns the next line of the log that has a text.
func (r *running) line(text string) string {
	r.Helper()
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), text) {
			return r.lines.Text()
		}
	}
	r.Fatalf("the log ends without %q", text)
	return ""
}

// addr is the address in a line of the log.
func (r *running) addr(line string) string {
	r.Helper()
	found := regexp.MustCompile(` addr=(\S+)`).FindStringSubmatch(line)
	if found == nil {
		r.Fatalf("no address in %s", line)
	}
	return found[1]
}

// ask sends a request and returns its answer. Its version must not be flexible.
func ask(t *testing.T, nc net.Conn, req kmsg.Request) kmsg.Response {
	t.Helper()
	if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		t.Fatal(err)
	}
	var length [4]byte
	if _, err := io.ReadFull(nc, length[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(nc, body); err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body[4:]); err != nil {
		t.Fatal(err)
	}
	return resp
}

// advertised asks which address a connection's clients are told.
func advertised(t *testing.T, nc net.Conn) (host string, port int32) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 8
	resp := ask(t, nc, req).(*kmsg.MetadataResponse)
	return resp.Brokers[0].Host, resp.Brokers[0].Port
}

// pemFiles writes a pair for the gateway and an authority for its clients, and returns them as settings.
func pemFiles(t *testing.T, pair tlstest.Pair) (settings []string, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert = tlstest.Write(t, filepath.Join(dir, "cert.pem"), pair.Cert)
	key = tlstest.Write(t, filepath.Join(dir, "key.pem"), pair.Key)
	return []string{"IGGY_KAFKA_TLS_CERT_FILE=" + cert, "IGGY_KAFKA_TLS_KEY_FILE=" + key}, cert, key
}

// TestTLSListener: with a certificate and no second listener, the main one speaks TLS.
func TestTLSListener(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	settings, _, _ := pemFiles(t, authority.Issue(t, "gateway", time.Now().Add(time.Hour), "127.0.0.1"))
	r := run(t, load(t, append(settings, "IGGY_KAFKA_ADVERTISED_HOST=gateway.example")...))
	r.line("tls certificate does not name the advertised host") // 127.0.0.1 alone
	addr := r.addr(r.line("serving kafka clients"))
	nc, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: authority.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if host, _ := advertised(t, nc); host != "gateway.example" {
		t.Errorf("clients are told %s", host)
	}
}

// TestTwoListeners: each answers its own address. The certificate is read again when it is asked for; open connections stay.
func TestTwoListeners(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	issue := func(name string) tlstest.Pair {
		return authority.Issue(t, name, time.Now().Add(time.Hour), "127.0.0.1", "tls.example")
	}
	settings, cert, key := pemFiles(t, issue("first"))
	r := run(t, load(t, append(settings,
		"IGGY_KAFKA_ADVERTISED_HOST=plain.example", "IGGY_KAFKA_ADVERTISED_PORT=1111",
		"IGGY_KAFKA_TLS_BIND_ADDR=127.0.0.1:0", "IGGY_KAFKA_TLS_ADVERTISED_HOST=tls.example", "IGGY_KAFKA_TLS_ADVERTISED_PORT=2222")...))
	plainLine, tlsLine := r.line("serving kafka clients"), r.line("serving kafka clients")
	if !strings.Contains(plainLine, "tls=false") || !strings.Contains(tlsLine, "tls=true") {
		t.Fatalf("%s\n%s", plainLine, tlsLine)
	}
	dial := func() *tls.Conn {
		t.Helper()
		nc, err := tls.Dial("tcp", r.addr(tlsLine), &tls.Config{RootCAs: authority.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		return nc
	}
	name := func(nc *tls.Conn) string { return nc.ConnectionState().PeerCertificates[0].Subject.CommonName }
	plain, err := net.Dial("tcp", r.addr(plainLine))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	before := dial()
	expect := func(nc net.Conn, wantHost string, wantPort int32) {
		t.Helper()
		if host, port := advertised(t, nc); host != wantHost || port != wantPort {
			t.Errorf("clients are told %s:%d, want %s:%d", host, port, wantHost, wantPort)
		}
	}
	expect(plain, "plain.example", 1111)
	expect(before, "tls.example", 2222)

	second := issue("second")
	tlstest.Write(t, cert, second.Cert)
	tlstest.Write(t, key, second.Key)
	r.reload <- syscall.SIGHUP
	r.line("tls certificate read")
	after := dial()
	if got := name(before) + " " + name(after); got != "first second" {
		t.Errorf("the certificates before and after are %s", got)
	}
	expect(after, "tls.example", 2222)
	expect(before, "tls.example", 2222)
	expect(plain, "plain.example", 1111)
}

// TestTLSPortTaken: a second port that is taken ends the start, and frees the first one.
func TestTLSPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	settings, _, _ := pemFiles(t, tlstest.NewAuthority(t, "authority").Issue(t, "gateway", time.Now().Add(time.Hour)))
	main := freeAddr(t)
	cfg := load(t, append(settings, "IGGY_KAFKA_BIND_ADDR="+main, "IGGY_KAFKA_TLS_BIND_ADDR="+taken.Addr().String())...)
	err = Run(t.Context(), cfg, time.Now, nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "IGGY_KAFKA_TLS_BIND_ADDR="+taken.Addr().String()) {
		t.Errorf("%v; want a mention of the setting", err)
	}
	again, err := net.Listen("tcp", main)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
