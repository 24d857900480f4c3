// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig/tlstest"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// serveOn runs a server on a listener until the test ends.
func serveOn(tb testing.TB, l net.Listener, cfg Config, h handlerFunc) *Server {
	tb.Helper()
	s := New(cfg, h)
	served := make(chan error, 1)
	go func() { served <- s.Serve(Listener{l, "localhost", 9092}) }()
	tb.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		if err := <-served; !errors.Is(err, ErrServerClosed) {
			tb.Error(err)
		}
	})
	return s
}

func listenLoopback(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// On a real socket: answers large and small arrive whole and in order, and a refused frame that has unread bytes
// behind it does not reset the connection before the answers ahead of it are read.
func TestLoopback(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<14) // 256 KiB
	handler := func(ctx context.Context, c *Conn, req *wire.Request) Pending {
		if id := int(req.Header.CorrelationID); id%3 == 0 {
			return now(RawReply(pieces(body, 1+id*10), len(body), 0, nil)) // in one piece at first, later in many
		}
		return echo(ctx, c, req)
	}
	tlsConfig := selfSigned(t)
	tests := []struct {
		name   string
		listen func(net.Listener) net.Listener
		dial   func(addr string) (net.Conn, error)
	}{
		{"tcp", func(l net.Listener) net.Listener { return l },
			func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }},
		{"tls", func(l net.Listener) net.Listener { return tls.NewListener(l, tlsConfig) },
			func(addr string) (net.Conn, error) {
				return tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := listenLoopback(t)
			serveOn(t, test.listen(l), testConfig(), handler)
			nc, err := test.dial(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			var frames []byte
			for id := range int32(200) {
				frames = append(frames, frame(id, fetch())...)
			}
			unknown := []byte{0, 0, 0, 8, 0, 99, 0, 0, 0, 0, 0, 0}
			go nc.Write(slices.Concat(frames, unknown, make([]byte, 100_000)))
			for id := range int32(200) {
				got, rest, err := readAnswer(nc)
				if err != nil || got != id {
					t.Fatalf("answer %d: %d, %v", id, got, err)
				}
				if id%3 == 0 && !bytes.Equal(rest[1:], body) {
					t.Fatalf("answer %d: not the body", id)
				}
			}
			if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// pieces takes bytes apart, into n pieces of different lengths, some of them empty.
func pieces(body []byte, n int) (bufs net.Buffers) {
	for ; n > 1; n-- {
		cut := len(body) / n * (n % 3)
		bufs, body = append(bufs, body[:cut]), body[cut:]
	}
	return append(bufs, body)
}

// A client that takes nothing is closed at the write timeout on real sockets too.
func TestStalledClient(t *testing.T) {
	tlsConfig := selfSigned(t)
	tests := map[string]func(net.Listener) net.Listener{
		"tcp": func(l net.Listener) net.Listener { return l },
		"tls": func(l net.Listener) net.Listener { return tls.NewListener(l, tlsConfig) },
	}
	for name, listen := range tests {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			handler := func(context.Context, *Conn, *wire.Request) Pending {
				close(begun)
				body := make([]byte, 64<<20) // more than any socket buffers
				return now(RawReply(net.Buffers{body}, len(body), 0, nil))
			}
			cfg := testConfig()
			cfg.MaxResponseSize = 100 << 20
			cfg.WriteTimeout = 50 * time.Millisecond
			l := listenLoopback(t)
			s := serveOn(t, listen(l), cfg, handler)
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if name == "tls" {
				nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := nc.Write(frame(1, fetch())); err != nil {
				t.Fatal(err)
			}
			<-begun
			start := time.Now()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if closed := s.Stats().Closed; closed[WriteTimeout] != 1 {
				t.Errorf("closed %v", closed)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A TLS connection that does not shake hands is closed at the read timeout, not at the idle timeout.
func TestTLSHandshake(t *testing.T) {
	cfg := testConfig()
	cfg.ReadTimeout = 10 * time.Millisecond
	l := listenLoopback(t)
	s := serveOn(t, tls.NewListener(l, selfSigned(t)), cfg, echo)
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Error("the server spoke first")
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if closed := s.Stats().Closed; closed[TLSHandshake] != 1 {
		t.Errorf("closed %v", closed)
	}
}

func selfSigned(t testing.TB) *tls.Config {
	t.Helper()
	pair := tlstest.NewAuthority(t, "authority").Issue(t, "gateway", time.Now().Add(time.Hour))
	return &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}}
}

// BenchmarkRoundTrip is what the edge itself costs per request: one client that waits for each answer, and one that
// keeps 32 requests in flight.
func BenchmarkRoundTrip(b *testing.B) {
	for _, bench := range []struct {
		name     string
		inFlight int
		request  []byte
	}{
		{"metadata/1", 1, frame(1, metadata())},
		{"produce/1", 1, frame(1, largeProduce(1000))},
		{"produce/32", 32, frame(1, largeProduce(1000))},
		{"produce_1MiB/4", 4, frame(1, largeProduce(1<<20))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			l := listenLoopback(b)
			serveOn(b, l, testConfig(), echo)
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer nc.Close()
			b.SetBytes(int64(len(bench.request)))
			b.ReportAllocs()
			tokens := make(chan struct{}, bench.inFlight)
			go func() {
				for range b.N {
					tokens <- struct{}{}
					if _, err := nc.Write(bench.request); err != nil {
						return
					}
				}
			}()
			buf := make([]byte, 1<<16)
			var head [4]byte
			for range b.N {
				if _, err := io.ReadFull(nc, head[:]); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(nc, buf[:binary.BigEndian.Uint32(head[:])]); err != nil {
					b.Fatal(err)
				}
				<-tokens
			}
		})
	}
}

// BenchmarkAnswer is what it costs to write an answer of 1 MiB, in one buffer and in many, with and without TLS.
func BenchmarkAnswer(b *testing.B) {
	const size = 1 << 20
	secret := selfSigned(b)
	secret.DynamicRecordSizingDisabled = true // as the gateway's listeners have it
	for _, bench := range []struct {
		name   string
		pieces int
		tls    bool
	}{{"plain/1", 1, false}, {"plain/1024", 1024, false}, {"tls/1", 1, true}, {"tls/1024", 1024, true}} {
		b.Run(bench.name, func(b *testing.B) {
			body := make([]byte, size/bench.pieces)
			handler := func(context.Context, *Conn, *wire.Request) Pending {
				bufs := make(net.Buffers, bench.pieces)
				for i := range bufs {
					bufs[i] = body
				}
				return now(RawReply(bufs, size, 0, nil))
			}
			l := listenLoopback(b)
			listener := l
			if bench.tls {
				listener = tls.NewListener(l, secret)
			}
			serveOn(b, listener, testConfig(), handler)
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			if bench.tls {
				nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
			}
			defer nc.Close()
			b.SetBytes(size)
			b.ReportAllocs()
			buf := make([]byte, 1<<16)
			for b.Loop() {
				if _, err := nc.Write(frame(1, fetch())); err != nil {
					b.Fatal(err)
				}
				var head [4]byte
				if _, err := io.ReadFull(nc, head[:]); err != nil {
					b.Fatal(err)
				}
				for left := int(binary.BigEndian.Uint32(head[:])); left > 0; {
					n, err := nc.Read(buf[:min(left, len(buf))])
					if err != nil {
						b.Fatal(err)
					}
					left -= n
				}
			}
		})
	}
}
