// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
)

// pair is both ends of a connection over TLS, of which the server's reads what through makes of the socket.
func pair(t *testing.T, version uint16, through func(net.Conn) net.Conn) (client, server *tls.Conn) {
	t.Helper()
	authority := tlstest.NewAuthority(t, "authority")
	identity := authority.Issue(t, "gateway", time.Now().Add(time.Hour), "127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client = tls.Client(dialled, &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1", MaxVersion: version})
	server = tls.Server(through(accepted), &tls.Config{Certificates: []tls.Certificate{identity.TLS(t)}})
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	if err := server.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	return client, server
}

// trickle reads random pieces, and whole records never.
type trickle struct {
	net.Conn
	rand *rand.Rand
}

func (c trickle) Read(b []byte) (int, error) {
	return c.Conn.Read(b[:min(len(b), 1+c.rand.IntN(700))])
}

// Whatever the sizes of records, writes and reads, what arrives is what was sent.
func TestForgetfulChangesNothing(t *testing.T) {
	for name, through := range map[string]func(net.Conn) net.Conn{
		"as it comes": func(nc net.Conn) net.Conn { return &forgetful{Conn: nc} },
		"in pieces": func(nc net.Conn) net.Conn {
			return &forgetful{Conn: trickle{nc, rand.New(rand.NewPCG(1, 2))}}
		},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+" "+tls.VersionName(version), func(t *testing.T) {
				client, server := pair(t, version, through)
				source := rand.New(rand.NewPCG(3, 4))
				sent := make([]byte, 1<<20)
				for i := range sent {
					sent[i] = byte(source.Uint32())
				}
				go func() {
					for rest := sent; len(rest) > 0; {
						n := min(len(rest), 1+source.IntN(40_000))
						if _, err := client.Write(rest[:n]); err != nil {
							t.Error(err)
							return
						}
						rest = rest[n:]
					}
					_ = client.CloseWrite()
				}()
				got, err := io.ReadAll(server)
				if err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes of %d, %v", len(got), len(sent), err)
				}
			})
		}
	}
}

// While the server waits for more, nothing is left of what it has read.
func TestForgetful(t *testing.T) {
	text := make([]byte, 60)
	for i := range text {
		text[i] = byte('a' + i*5%26)
	}
	secret := bridgetest.Disguise(text)
	count := func(t *testing.T, through func(net.Conn) net.Conn) int {
		client, server := pair(t, tls.VersionTLS13, through)
		password := secret.Reveal()
		_, err := client.Write(password)
		clear(password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(server, password); err != nil {
			t.Fatal(err)
		}
		clear(password)
		// A read that finds nothing leaves the connection as it is while one waits.
		if err := server.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(password); err == nil {
			t.Fatal("there was more")
		}
		n, err := secret.InMemory()
		if err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(server)
		return n
	}
	t.Run("without", func(t *testing.T) {
		if n := count(t, func(nc net.Conn) net.Conn { return nc }); n == 0 {
			t.Error("crypto/tls forgets by itself by now: forgetful can go")
		}
	})
	t.Run("with", func(t *testing.T) {
		if n := count(t, func(nc net.Conn) net.Conn { return &forgetful{Conn: nc} }); n != 0 {
			t.Errorf("left in %d places", n)
		}
	})
}
