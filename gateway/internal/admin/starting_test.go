// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

// A gateway that starts is alive, not ready, and says what it is at wherever it is asked, until it is asked to stop.
func TestStarting(t *testing.T) {
	doing, stopping := "connecting", make(chan struct{})
	h := NewHandler(Starting(func() string { return doing }, stopping))
	ask := func(path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return fmt.Sprint(w.Code, " ", w.Body.String(), w.Header().Get("Retry-After"))
	}
	answers := func(ready, others string) {
		t.Helper()
		for path, want := range map[string]string{
			"/healthz": "200 starting\n", "/readyz": ready, "/metrics": others, "/": others, "/topics": others, "/debug/pprof/": others,
		} {
			if got := ask(path); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	answers("503 starting: connecting\n", "503 starting: connecting\n1")
	doing = "loading"
	answers("503 starting: loading\n", "503 starting: loading\n1")
	close(stopping)
	answers("503 shutting down\n", "503 shutting down\n1")
}

// What is answered may change while the server runs. A request keeps the handler that it came to.
func TestUse(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, begun, over := listen(t), make(chan struct{}), make(chan struct{})
	s := Start(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-over
		w.WriteHeader(http.StatusServiceUnavailable)
	}), slog.New(slog.DiscardHandler))
	first := make(chan int)
	go func() {
		status, _ := get(t, l, "/")
		first <- status
	}()
	<-begun
	s.Use(says("later"))
	if status, text := get(t, l, "/"); status != http.StatusOK || string(text) != "later /" {
		t.Errorf("%d %q", status, text)
	}
	close(over)
	if status := <-first; status != http.StatusServiceUnavailable {
		t.Errorf("the first request: %d", status)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
