// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds what should take no time.
const patience = 30 * time.Second

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get asks on a connection of its own.
func get(t *testing.T, l net.Listener, path string) (int, []byte) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + l.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, body
}

func TestServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	l := listen(t)
	s := Start(l, NewHandler(Parts{}), slog.New(slog.DiscardHandler))
	if status, text := get(t, l, "/healthz"); status != 200 || string(text) != "ok\n" {
		t.Errorf("%d %q", status, text)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}

	broken := listen(t)
	broken.Close()
	s = Start(broken, NewHandler(Parts{}), slog.New(slog.DiscardHandler))
	s.served <- <-s.served // it has ended
	if err := s.Stop(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that fails: %v", err)
	}
}

// Stop ends what is being answered and waits for it: what a handler uses may be gone right after.
func TestStopWaits(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, begun, ended := listen(t), make(chan struct{}), make(chan struct{})
	s := Start(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}), slog.New(slog.DiscardHandler))
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	default:
		t.Error("the handler is still at work")
	}
}

// A page that is read slowly may take longer than other answers. (Profiles give themselves more time: net/http/pprof.)
func TestDeadlines(t *testing.T) {
	defer goleak.VerifyNone(t)
	large := bytes.Repeat([]byte("x"), 1<<20)
	writes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	l, log := listen(t), slog.New(slog.DiscardHandler)
	s := newServer(NewHandler(Parts{Page: writes, Metrics: writes}), log)
	s.http.WriteTimeout = time.Nanosecond // what is not given more has none
	s.start(l, log)
	defer s.Stop()
	for _, path := range []string{"/", "/metrics"} {
		if status, body := get(t, l, path); status != 200 || len(body) != len(large) {
			t.Errorf("%s: %d, %d bytes", path, status, len(body))
		}
	}
}
