// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun starts the server, reads its first line, connects and stops it.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	result := make(chan error, 1)
	go func() {
		result <- run(ctx, []string{"--addr", "127.0.0.1:0", "--data-dir", t.TempDir()}, noEnv, in, io.Discard)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "iggy-embedded listening on ")
	if !found {
		t.Fatalf("first line %q", line)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	stop()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func noEnv(string) string { return "" }

func TestParse(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"IGGY_USERNAME": "root", "IGGY_PASSWORD": "secret"}[name]
	}
	cfg, err := parse([]string{"--memory", "--password", "other"}, env, io.Discard)
	if err != nil || cfg.Username != "root" || cfg.Password != "other" || !cfg.InMemory {
		t.Errorf("flags before variables: %+v, %v", cfg, err)
	}
	cfg, err = parse([]string{"--memory"}, env, io.Discard)
	if err != nil || cfg.Password != "secret" {
		t.Errorf("password of the environment: %+v, %v", cfg, err)
	}
	cfg, err = parse([]string{
		"--data-dir", "d", "--segment-size", "4096", "--cleaner-interval", "-1s", "--test-lose-unflushed",
	}, noEnv, io.Discard)
	if err != nil || cfg.SegmentSize != 4096 || cfg.CleanerInterval >= 0 || !cfg.LoseUnflushed || cfg.TLS != nil {
		t.Errorf("flags: %+v, %v", cfg, err)
	}
	for _, args := range [][]string{
		{"--unknown"}, {"--memory", "stray"}, {"--memory", "--tls-cert-file", "cert.pem"},
		{"--memory", "--tls-cert-file", "none.pem", "--tls-key-file", "none.pem"},
	} {
		if _, err := parse(args, noEnv, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if err := run(t.Context(), nil, noEnv, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("without a place for data: %v", err)
	}
	var usage strings.Builder
	if err := run(t.Context(), []string{"--help"}, noEnv, io.Discard, &usage); err != nil || !strings.Contains(usage.String(), "-data-dir") {
		t.Errorf("help: %v, %q", err, usage.String())
	}
}

// TestTLS connects with the certificate that the flags name.
func TestTLS(t *testing.T) {
	certFile, keyFile, roots := writeCertificate(t)
	cfg, err := parse([]string{
		"--memory", "--addr", "127.0.0.1:0", "--tls-cert-file", certFile, "--tls-key-file", keyFile,
	}, noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", server.Addr().String(), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

func writeCertificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	if err := errors.Join(os.WriteFile(certFile, certPEM, 0o600), os.WriteFile(keyFile, keyPEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, roots
}
