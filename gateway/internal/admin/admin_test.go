// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestHandler(t *testing.T) {
	fine := func(context.Context) error { return nil }
	missing := func(context.Context) error { return errors.New("does not answer") }
	for _, test := range []struct {
		name, method, path string
		checks             []Check
		status             int
		text               string
	}{
		{"alive", "GET", "/healthz", []Check{{"iggy", missing}}, 200, "ok\n"},
		{"ready", "GET", "/readyz", []Check{{"iggy", fine}, {"groups", fine}}, 200, "iggy: ok\ngroups: ok\n"},
		{"nothing to check", "GET", "/readyz", nil, 200, ""},
		{"one is missing", "GET", "/readyz", []Check{{"iggy", missing}, {"groups", fine}}, 503, "iggy: does not answer\ngroups: ok\n"},
		{"a probe without a body", "HEAD", "/readyz", []Check{{"iggy", missing}}, 503, "iggy: does not answer\n"}, // net/http drops it
		{"no such path", "GET", "/", nil, 404, "404 page not found\n"},
		{"no such method", "POST", "/readyz", nil, 405, "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		NewHandler(test.checks).ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		if w.Code != test.status || w.Body.String() != test.text {
			t.Errorf("%s: %d %q, want %d %q", test.name, w.Code, w.Body, test.status, test.text)
		}
	}
}

// A check that hangs ends with the time that all have.
func TestReadyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context) error { <-ctx.Done(); return errors.New("does not answer in time") }
		begin, w := time.Now(), httptest.NewRecorder()
		NewHandler([]Check{{"iggy", hangs}}).ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if took := time.Since(begin); w.Code != 503 || took != checkTimeout {
			t.Errorf("%d after %v", w.Code, took)
		}
	})
}

func TestProfiles(t *testing.T) {
	handler := WithProfiles(NewHandler(nil))
	for path, want := range map[string]string{
		"/healthz":                       "ok\n",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"/debug/pprof/heap?gc=1&debug=1": "# HeapAlloc = ",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	NewHandler(nil).ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/", nil))
	if w.Code != 404 {
		t.Errorf("profiles that nobody asked for: %d", w.Code)
	}
}

func TestServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(l, NewHandler(nil), slog.New(slog.DiscardHandler))
	client := &http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || string(text) != "ok\n" {
		t.Errorf("%d %q %v", resp.StatusCode, text, err)
	}
	resp.Body.Close()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()

	broken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken.Close()
	s = Start(broken, NewHandler(nil), slog.New(slog.DiscardHandler))
	s.served <- <-s.served // it has ended
	if err := s.Stop(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that fails: %v", err)
	}
}
