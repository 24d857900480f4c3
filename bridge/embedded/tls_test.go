// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// selfSigned returns what a server on 127.0.0.1 and its clients need for TLS.
func selfSigned(tb testing.TB) (server, client *tls.Config) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: roots}
}

// TestTLS sends and polls over TLS, more at once than fits a record.
func TestTLS(t *testing.T) {
	server, client := selfSigned(t)
	s := startServer(t, Config{InMemory: true, TLS: server})
	conn, err := tls.Dial("tcp", s.Addr().String(), client)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	login(t, conn)
	createTopic(t, conn, 1)
	payload := strings.Repeat("x", 100_000)
	send(t, conn, message(1, payload), message(2, "b"))
	if got := poll(t, conn, iggywire.PollFirst, 0, 10); len(got) != 2 || got[0] != "0="+payload || got[1] != "1=b" {
		t.Errorf("polled %d messages", len(got))
	}
}

// TestTLSHandshake drops those who speak no TLS, and those who say nothing.
func TestTLSHandshake(t *testing.T) {
	server, _ := selfSigned(t)
	s := startServer(t, Config{InMemory: true, TLS: server, IOTimeout: 50 * time.Millisecond})
	for name, said := range map[string][]byte{
		"plain":  iggywire.AppendRequestHeader(nil, iggywire.CodePing, 0),
		"silent": nil,
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, s)
			if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(said); err != nil {
				t.Fatal(err)
			}
			// An alert may come before the end.
			var b [64]byte
			for {
				_, err := conn.Read(b[:])
				if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
					t.Fatal("connection is still open")
				}
				if err != nil {
					return
				}
			}
		})
	}
}
