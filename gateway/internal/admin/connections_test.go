// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

// pipes is a listener whose clients are the other ends of pipes.
type pipes struct{ coming chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	nc, ok := <-p.coming
	if !ok {
		return nil, net.ErrClosed
	}
	return nc, nil
}
func (p pipes) Close() error   { close(p.coming); return nil }
func (p pipes) Addr() net.Addr { return nil }

// connect returns a client's end, and what the listener accepts.
func (p pipes) connect(t *testing.T, l *boundedListener) (client net.Conn, accepted <-chan net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	got := make(chan net.Conn, 1)
	go func() {
		nc, err := l.Accept()
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		got <- nc
	}()
	p.coming <- server
	synctest.Wait()
	return client, got
}

// gone says whether the server has closed a connection.
func gone(client net.Conn) bool {
	closed := make(chan struct{})
	go func() {
		if _, err := client.Read(make([]byte, 1)); err == io.EOF {
			close(closed)
		}
	}()
	synctest.Wait()
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// Whoever comes when all places are taken gets that of the connection that has waited for a request the longest, be it the first
// or the next; one that is being answered keeps its own.
func TestWhoHasToGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipes{make(chan net.Conn)}
		l := bound(p, 3)
		var clients [3]net.Conn
		var conns [3]net.Conn
		for i := range clients {
			client, accepted := p.connect(t, l)
			clients[i], conns[i] = client, <-accepted
		}
		l.note(conns[0], http.StateActive)
		l.note(conns[1], http.StateActive)
		l.note(conns[1], http.StateIdle) // conns[2] has not asked for anything since before

		_, fourth := p.connect(t, l)
		if nc := <-fourth; nc == nil || gone(clients[0]) || gone(clients[1]) || !gone(clients[2]) {
			t.Error("the third was to go")
		} else {
			l.note(nc, http.StateActive)
		}
		_, fifth := p.connect(t, l)
		if nc := <-fifth; nc == nil || gone(clients[0]) || !gone(clients[1]) {
			t.Error("the second was to go")
		} else {
			l.note(nc, http.StateActive)
		}
		_, sixth := p.connect(t, l)
		if len(sixth) > 0 {
			t.Error("one that is being answered had to go")
		}
		l.note(conns[0], http.StateIdle)
		if nc := <-sixth; nc == nil || !gone(clients[0]) {
			t.Error("the first was to go when it had been answered")
		} else {
			l.note(nc, http.StateActive)
		}
		_, seventh := p.connect(t, l)
		if len(seventh) > 0 {
			t.Error("there was no room")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if nc := <-seventh; nc != nil {
			t.Error("accepted after the end")
		}
	})
}

// However many connections somebody keeps open who asks for nothing, or seldom, health is told.
func TestHealthBesideIdleConnections(t *testing.T) {
	for name, request := range map[string]string{"after an answer": "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "before a request": ""} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			l := listen(t)
			s := Start(l, NewHandler(Parts{}), slog.New(slog.DiscardHandler))
			for range maxConns {
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if request == "" {
					continue
				}
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			if status, _ := get(t, l, "/healthz"); status != http.StatusOK {
				t.Errorf("%d", status)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
