// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// lockedLog is a log that a test reads while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// take returns what was logged since the last time.
func (l *lockedLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// TestHandshakeFailures connects with each kind of client that is set up wrongly. Each gets one line in the log, which says
// what is wrong, the client is told as far as TLS has words for it, and a client beside it is served all the while.
func TestHandshakeFailures(t *testing.T) {
	authority, stranger := tlstest.NewAuthority(t, "authority"), tlstest.NewAuthority(t, "stranger")
	good, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	server := func(pair tlstest.Pair, clients bool) *tls.Config {
		config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair.TLS(t)}}
		if clients {
			config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
		}
		return config
	}
	issued := authority.Issue(t, "gateway", good, "localhost")
	once, mutual := server(issued, false), server(issued, true)
	expired := server(authority.Issue(t, "gateway", past, "localhost"), false)
	client := func(change func(*tls.Config)) *tls.Config {
		config := &tls.Config{RootCAs: authority.Pool(), ServerName: "localhost"}
		change(config)
		return config
	}
	showing := func(pair tlstest.Pair) func(*tls.Config) {
		// Else it shows nothing that the server has not asked for.
		shown := pair.TLS(t)
		return func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
		}
	}
	own := authority.Issue(t, "app 7", good)
	nothing := func(*tls.Config) {}

	for _, test := range []struct {
		name     string
		listener *tls.Config // nil: plain
		client   *tls.Config // nil: plain
		cause    CloseCause
		logged   string
		told     string // what the client's own error says, if it is known
	}{
		{"plain text to a TLS port", once, nil, PlainText, "the client is not set up for TLS", ""},
		{"plain text where certificates are asked for", mutual, nil, PlainText, "the client is not set up for TLS", ""},
		{"TLS to a plain port", nil, client(nothing), UnexpectedTLS, "the client is set up for TLS, the listener is not", ""},
		{"unknown authority", once, &tls.Config{ServerName: "localhost", RootCAs: stranger.Pool()}, TLSHandshake,
			"the client refuses the certificate or the handshake: tls: bad certificate", "unknown authority"},
		{"wrong name", once, client(func(c *tls.Config) { c.ServerName = "example.com" }), TLSHandshake,
			"the client refuses the certificate or the handshake: tls: bad certificate", "not example.com"},
		{"expired", expired, client(nothing), TLSHandshake,
			"the client refuses the certificate or the handshake: tls: bad certificate", "expired"},
		{"old version", once, client(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), TLSHandshake,
			"client offered only unsupported versions", "protocol version not supported"},
		{"no client certificate", mutual, client(nothing), TLSHandshake,
			"client didn't provide a certificate", "certificate required"},
		{"no client certificate, TLS 1.2", mutual, client(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), TLSHandshake,
			"client didn't provide a certificate", "handshake failure"},
		{"client certificate of a stranger", mutual, client(showing(stranger.Issue(t, "app 8", good))), TLSHandshake,
			"the client's certificate \\\"CN=app 8\\\" is refused: x509: certificate signed by unknown authority", "unknown certificate authority"},
		{"client certificate expired", mutual, client(showing(authority.Issue(t, "app 9", past))), TLSHandshake,
			"the client's certificate \\\"CN=app 9\\\" is refused: x509: certificate has expired", "expired certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := &lockedLog{}
			cfg := testConfig()
			cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			l := listenLoopback(t)
			dialGood := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
			listener := l
			if test.listener != nil {
				listener = tls.NewListener(l, test.listener)
				dialGood = func() (net.Conn, error) {
					config := client(showing(own))
					config.InsecureSkipVerify = true // of what has expired
					return tls.Dial("tcp", l.Addr().String(), config)
				}
			}
			serveOn(t, listener, cfg, echo)
			beside, err := dialGood()
			if err != nil {
				t.Fatal(err)
			}
			defer beside.Close()
			served := func(id int32) {
				t.Helper()
				if _, err := beside.Write(frame(id, metadata())); err != nil {
					t.Fatal(err)
				}
				if got, _, err := readAnswer(beside); got != id || err != nil {
					t.Fatalf("the client beside it got answer %d, %v, want %d", got, err, id)
				}
			}
			served(1)

			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if test.client != nil {
				nc = tls.Client(nc, test.client)
			}
			// A client may notice only when it waits for an answer; by then it has sent more.
			_, told := nc.Write(frame(1, apiVersions(3)))
			if told == nil {
				_, told = io.Copy(io.Discard, nc)
			}
			nc.Close()
			if test.told != "" && (told == nil || !strings.Contains(told.Error(), test.told)) {
				t.Errorf("the client is told %v, want %q", told, test.told)
			}
			served(2)
			line := ""
			for ; line == ""; line = log.take() {
				served(3)
			}
			if strings.Count(line, "\n") != 1 || !strings.Contains(line, "cause="+test.cause.String()) || !strings.Contains(line, test.logged) {
				t.Errorf("logs %s want one line with the cause %s and %s", line, test.cause, test.logged)
			}
		})
	}
}

// TestPortProbe: who only looks whether a TLS port is open, as load balancers do, has done nothing wrong.
func TestPortProbe(t *testing.T) {
	l := listenLoopback(t)
	s := serveOn(t, tls.NewListener(l, selfSigned(t)), testConfig(), echo)
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	for s.Stats().Closed[PeerClosed] == 0 {
		if closed := s.Stats().Closed; len(closed) > 0 || t.Context().Err() != nil {
			t.Fatalf("closed by %v", closed)
		}
		time.Sleep(time.Millisecond)
	}
}
