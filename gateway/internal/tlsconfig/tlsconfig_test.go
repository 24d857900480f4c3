// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package tlsconfig

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// files writes a certificate for localhost, its key, and the authority's own certificate for clients.
func files(t *testing.T, authority *tlstest.Authority, name string) Files {
	t.Helper()
	dir, pair := t.TempDir(), authority.Issue(t, name, time.Now().Add(time.Hour), "localhost", "127.0.0.1")
	return Files{
		Cert:     tlstest.Write(t, filepath.Join(dir, "cert.pem"), pair.Cert),
		Key:      tlstest.Write(t, filepath.Join(dir, "key.pem"), pair.Key),
		ClientCA: tlstest.Write(t, filepath.Join(dir, "ca.pem"), authority.PEM),
	}
}

// TestLoadFaults: every file that is at fault is named, with what is wrong.
func TestLoadFaults(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	good, other := files(t, authority, "good"), files(t, authority, "other")
	empty := tlstest.Write(t, filepath.Join(t.TempDir(), "empty.pem"), nil)
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, test := range []struct {
		name  string
		files Files
		want  map[string]string // by file
	}{
		{"missing", Files{missing, missing + "2", missing + "3"}, map[string]string{
			missing: "no such file", missing + "2": "no such file", missing + "3": "no such file",
		}},
		{"the key of another", Files{good.Cert, other.Key, ""}, map[string]string{good.Cert: "does not match"}},
		{"the files changed about", Files{good.Key, good.Cert, ""}, map[string]string{good.Key: "certificate"}},
		{"nothing in them", Files{empty, empty, empty}, map[string]string{empty: "PEM"}},
		{"no authority", Files{good.Cert, good.Key, good.Key}, map[string]string{good.Key: "no certificate in it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(test.files)
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok {
				t.Fatalf("Load = %v", err)
			}
			named := map[string]bool{}
			for _, err := range joined.Unwrap() {
				var fault *FileError
				if !errors.As(err, &fault) {
					t.Fatalf("%v is no FileError", err)
				}
				named[fault.File] = true
				if want, ok := test.want[fault.File]; !ok || !strings.Contains(err.Error(), want) && len(joined.Unwrap()) == 1 {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if len(named) != len(test.want) {
				t.Errorf("at fault are %v, want %v", named, test.want)
			}
		})
	}
}

// shown returns the name in the certificate that a new client is shown, and whether the client was let in.
func shown(t *testing.T, l net.Listener, config *tls.Config) (name string, err error) {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		nc, err := l.Accept()
		if err == nil {
			err = nc.(*tls.Conn).Handshake()
			nc.Close()
		}
		served <- err
	}()
	client, err := tls.Dial("tcp", l.Addr().String(), config)
	if err == nil {
		name = client.ConnectionState().PeerCertificates[0].Subject.CommonName
		client.Close()
	}
	return name, errors.Join(err, <-served)
}

// lines takes what a logger writes, line by line.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestFollow replaces the files while they are in use: what is new counts for who connects then, what is broken does not
// count and is told once.
func TestFollow(t *testing.T) {
	authority, stranger := tlstest.NewAuthority(t, "authority"), tlstest.NewAuthority(t, "stranger")
	first := files(t, authority, "first")
	identity, err := Load(first)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := identity.Listen(plain)
	defer l.Close()
	client := &tls.Config{RootCAs: authority.Pool(), Certificates: []tls.Certificate{
		authority.Issue(t, "client", time.Now().Add(time.Hour)).TLS(t),
	}}
	expect := func(want string) {
		t.Helper()
		if name, err := shown(t, l, client); name != want || err != nil {
			t.Errorf("a client is shown %q, %v; want %q", name, err, want)
		}
	}
	expect("first")

	second := authority.Issue(t, "second", time.Now().Add(time.Hour), "localhost") // by the clock outside
	synctest.Test(t, func(t *testing.T) {
		const every = 5 * time.Second
		log := make(lines, 10)
		asked := make(chan os.Signal)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			identity.Follow(ctx, every, asked, "localhost", slog.New(slog.NewTextHandler(log, nil)))
		}()
		defer func() {
			cancel()
			<-ended
		}()
		logged := func() string {
			synctest.Wait()
			var text strings.Builder
			for range len(log) {
				text.WriteString(<-log)
			}
			return text.String()
		}
		look := func() string { // what is logged when the follower looks
			time.Sleep(every)
			return logged()
		}
		ask := func() string { // and when it is asked to
			asked <- syscall.SIGHUP
			return logged()
		}
		contains := func(got string, wants ...string) {
			t.Helper()
			if strings.Count(got, "\n") != min(len(wants), 1) {
				t.Errorf("logs %q, want a line with %q", got, wants)
			}
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("logs %q, want %q", got, want)
				}
			}
		}
		contains(look()) // nothing has changed

		tlstest.Write(t, first.Cert, second.Cert)
		contains(look(), "level=WARN", "does not match", first.Cert, "stays in use")
		contains(look()) // told already
		contains(ask(), "does not match")
		tlstest.Write(t, first.Key, second.Key)
		contains(ask(), "level=INFO", "tls certificate read", "names=[localhost]", "client_certificates=required")
		contains(ask(), "tls certificate read")

		if err := os.Remove(first.ClientCA); err != nil {
			t.Fatal(err)
		}
		contains(look(), "level=WARN", "no such file", first.ClientCA)
		contains(look())
		tlstest.Write(t, first.ClientCA, stranger.PEM)
		contains(look(), "level=INFO")
	})
	if name, err := shown(t, l, client); err == nil {
		t.Errorf("a client whose authority is trusted no more was let in, and shown %q", name)
	}
	client.Certificates = []tls.Certificate{stranger.Issue(t, "client", time.Now().Add(time.Hour)).TLS(t)}
	client.ServerName = "localhost"
	expect("second")
}

// TestReport: what clients would refuse the certificate for is warned of.
func TestReport(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	identity, err := Load(files(t, authority, "good"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, test := range []struct {
		name, host string
		now        time.Time
		warnings   []string
	}{
		{"good", "localhost", now, nil},
		{"an address", "127.0.0.1", now, nil},
		{"another host", "gateway.example", now, []string{"does not name the advertised host", "advertised=gateway.example"}},
		{"expired", "localhost", now.Add(2 * time.Hour), []string{"is not valid now"}},
		{"not valid yet", "localhost", time.Unix(0, 0), []string{"is not valid now"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			identity.Report(test.now, test.host, slog.New(slog.NewTextHandler(&log, nil)))
			if got, want := strings.Count(log.String(), "level=WARN"), min(len(test.warnings), 1); got != want {
				t.Errorf("%d warnings, want %d:\n%s", got, want, log.String())
			}
			for _, want := range test.warnings {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in\n%s", want, log.String())
				}
			}
		})
	}
}

// TestMinimalVersion: what is older than TLS 1.2 is not spoken.
func TestMinimalVersion(t *testing.T) {
	authority := tlstest.NewAuthority(t, "authority")
	f := files(t, authority, "good")
	f.ClientCA = ""
	identity, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := identity.Listen(plain)
	defer l.Close()
	for version, spoken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		config := &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: version}
		if _, err := shown(t, l, config); (err == nil) != spoken {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}
