// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// says is a handler that answers with a word.
func says(word string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, word+" "+r.URL.Path) })
}

// ready are parts that say whether checks pass.
func ready(stopping <-chan struct{}, checks ...Check) Parts {
	return Parts{Readiness: NewReadiness(checks, stopping)}
}

func TestHandler(t *testing.T) {
	fine := func(context.Context) error { return nil }
	missing := func(context.Context) error { return errors.New("does not answer") }
	all := Parts{Page: says("page"), Metrics: says("metrics")}
	over := make(chan struct{})
	close(over)
	for _, test := range []struct {
		name, method, path string
		parts              Parts
		status             int
		text               string
	}{
		{"alive", "GET", "/healthz", ready(nil, Check{"iggy", missing}), 200, "ok\n"},
		{"alive while it shuts down", "GET", "/healthz", ready(over), 200, "ok\n"},
		{"ready", "GET", "/readyz", ready(nil, Check{"iggy", fine}, Check{"groups", fine}), 200, "iggy: ok\ngroups: ok\n"},
		{"nothing to check", "GET", "/readyz", Parts{}, 200, ""},
		{"one is missing", "GET", "/readyz", ready(nil, Check{"iggy", missing}, Check{"groups", fine}), 503, "iggy: does not answer\ngroups: ok\n"},
		{"a probe without a body", "HEAD", "/readyz", ready(nil, Check{"iggy", missing}), 503, "iggy: does not answer\n"}, // net/http drops it
		{"shutting down", "GET", "/readyz", ready(over, Check{"iggy", fine}), 503, "shutting down\n"},
		{"not yet", "GET", "/readyz", ready(make(chan struct{}), Check{"iggy", fine}), 200, "iggy: ok\n"},
		{"page", "GET", "/", all, 200, "page /"},
		{"a path of the page", "GET", "/topics", all, 200, "page /topics"},
		{"metrics", "GET", "/metrics", all, 200, "metrics /metrics"},
		{"no page", "GET", "/", Parts{}, 404, "404 page not found\n"},
		{"no metrics", "GET", "/metrics", Parts{}, 404, "404 page not found\n"},
		{"no profiles", "GET", "/debug/pprof/", Parts{}, 404, "404 page not found\n"},
		{"no such method", "POST", "/readyz", Parts{}, 405, "Method Not Allowed\n"},
		{"the page is read", "POST", "/topics", all, 405, "Method Not Allowed\n"},
		{"metrics are read", "DELETE", "/metrics", all, 405, "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		NewHandler(test.parts).ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
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
		NewHandler(ready(nil, Check{"iggy", hangs})).ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if took := time.Since(begin); w.Code != 503 || took != checkTimeout {
			t.Errorf("%d after %v", w.Code, took)
		}
	})
}

func TestProfiles(t *testing.T) {
	handler := NewHandler(Parts{Profiles: true})
	for path, want := range map[string]string{
		"/healthz":                       "ok\n",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"/debug/pprof/heap?gc=1&debug=1": "# HeapAlloc = ",
	} {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Host = "127.0.0.1"
		handler.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
}

// One request too many of a kind is refused; the other kinds, health above all, are answered.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end })
		handler := NewHandler(Parts{Page: says("page"), Metrics: slow})
		ask := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w
		}
		for range maxScrapes {
			go ask("/metrics")
		}
		synctest.Wait()
		for path, want := range map[string]int{"/": 200, "/metrics": 503, "/healthz": 200, "/readyz": 200} {
			if w := ask(path); w.Code != want {
				t.Errorf("%s: %d, want %d", path, w.Code, want)
			} else if want == 503 && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: does not say when to come again", path)
			}
		}
		close(end)
		synctest.Wait()
		if w := ask("/metrics"); w.Code != 200 {
			t.Errorf("when there is room again: %d", w.Code)
		}
	})
}
