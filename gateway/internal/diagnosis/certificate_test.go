// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// shake is a TLS handshake, and how it ended on either side.
func shake(t *testing.T, server, client *tls.Config) (served, called error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var serving sync.WaitGroup
	serving.Go(func() {
		var nc net.Conn
		if nc, served = l.Accept(); served != nil {
			return
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(time.Minute))
		served = tls.Server(nc, server).HandshakeContext(t.Context())
	})
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	called = tls.Client(nc, client).HandshakeContext(t.Context())
	serving.Wait()
	return served, called
}

func TestCertificate(t *testing.T) {
	until := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(now time.Time) func() time.Time { return func() time.Time { return now } }
	authority, stranger := tlstest.NewAuthority(t, "authority"), tlstest.NewAuthority(t, "stranger")
	named := &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "server", until, "iggy.example", "127.0.0.1").TLS(t)}}
	nameless := &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "server", until).TLS(t)}}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("host-%d.example", i))
	}
	popular := &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "server", until, many...).TLS(t)}}
	for _, test := range []struct {
		name           string
		server, client *tls.Config
		flaw           Flaw
		is             string
	}{
		{"sound", named, &tls.Config{RootCAs: authority.Pool(), ServerName: "iggy.example"}, NoFlaw, ""},
		{"unknown authority", named, &tls.Config{RootCAs: stranger.Pool(), ServerName: "iggy.example"}, UnknownAuthority, "of an unknown authority: CN=authority"},
		{"another name", named, &tls.Config{RootCAs: authority.Pool(), ServerName: "kafka.example"},
			OtherName, "for iggy.example, 127.0.0.1, not for kafka.example"},
		{"another address", named, &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.2"}, OtherName, "for iggy.example, 127.0.0.1, not for 127.0.0.2"},
		{"no name", nameless, &tls.Config{RootCAs: authority.Pool(), ServerName: "iggy.example"}, OtherName, "for no name at all, not for iggy.example"},
		{"many names", popular, &tls.Config{RootCAs: authority.Pool(), ServerName: "iggy.example"},
			OtherName, "for " + strings.Join(many[:maxNames], ", ") + ", ..., not for iggy.example"},
		{"too old", named, &tls.Config{RootCAs: authority.Pool(), ServerName: "iggy.example", Time: at(until.Add(time.Hour))},
			Invalid, "not valid any more: it was good until 2100-01-02T03:04:05Z"},
		{"too young", named, &tls.Config{RootCAs: authority.Pool(), ServerName: "iggy.example", Time: at(time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC))},
			Invalid, "not valid yet: it is good from 1999-12-31T00:00:00Z on, and here it is 1998-01-01T00:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := shake(t, test.server, test.client)
			if (err == nil) != (test.flaw == NoFlaw) {
				t.Fatal(err)
			}
			now := time.Now()
			if test.client.Time != nil {
				now = test.client.Time()
			}
			if flaw, is := Certificate(fmt.Errorf("wrapped: %w", err), now); flaw != test.flaw || is != test.is {
				t.Errorf("%d, %q, want %d, %q", flaw, is, test.flaw, test.is)
			}
		})
	}
	if flaw, is := Certificate(x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}, time.Now()); flaw != Invalid || !strings.HasPrefix(is, "not valid: x509: ") {
		t.Errorf("not fit: %d, %q", flaw, is)
	}
	if flaw, is := Certificate(x509.UnknownAuthorityError{}, time.Now()); flaw != UnknownAuthority || is != "of an unknown authority: not named" {
		t.Errorf("no certificate in the error: %d, %q", flaw, is)
	}
}

func TestAlert(t *testing.T) {
	authority, stranger := tlstest.NewAuthority(t, "authority"), tlstest.NewAuthority(t, "stranger")
	server := &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "server", time.Now().Add(time.Hour), "iggy.example").TLS(t)}}
	served, called := shake(t, server, &tls.Config{RootCAs: stranger.Pool(), ServerName: "iggy.example"})
	if alert := Alert(served); alert == nil || !strings.Contains(alert.Error(), "bad certificate") {
		t.Errorf("the server was told %v", alert)
	}
	for _, err := range []error{nil, called, errors.New("remote error"), &net.OpError{Op: "read", Err: syscall.ECONNRESET}} {
		if alert := Alert(err); alert != nil {
			t.Errorf("%v: told %v", err, alert)
		}
	}
}

func TestHungUp(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, fmt.Errorf("send: %w", syscall.EPIPE)} {
		if !HungUp(err) {
			t.Errorf("%v: the connection is taken to be there", err)
		}
	}
	for _, err := range []error{nil, net.ErrClosed, syscall.ECONNREFUSED, &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}} {
		if HungUp(err) {
			t.Errorf("%v: the other side is taken to have hung up", err)
		}
	}
}

func TestClocksApart(t *testing.T) {
	for _, test := range []struct {
		ahead, within time.Duration
		want          bool
	}{
		{0, 0, false},
		{5 * time.Second, 0, false},
		{5*time.Second + 1, 0, true},
		{-5*time.Second - 1, 0, true},
		{6 * time.Second, time.Second, false},
		{-7 * time.Second, time.Second, true},
	} {
		if got := ClocksApart(test.ahead, test.within); got != test.want {
			t.Errorf("%v ahead, give or take %v: %v", test.ahead, test.within, got)
		}
	}
}
