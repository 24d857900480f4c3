// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A container is healthy once clients are served, and as long as the process answers then.
func TestCheckHealth(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		text, want string // what the error mentions, empty: there is none
	}{
		"it lives":           {http.StatusOK, "ok\n", ""},
		"it starts":          {http.StatusOK, "starting\n", `answers "starting\n"`},
		"it is something":    {http.StatusOK, "<html>" + strings.Repeat("x", 1<<10), `answers "<html>xxx`},
		"it has no such way": {http.StatusNotFound, "ok\n", "answers 404"},
		"it is elsewhere":    {http.StatusFound, "ok\n", "answers 302"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/healthz" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.Header().Set("Location", "/healthz")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.text)
			}))
			defer s.Close()
			err := checkHealth(s.Listener.Addr().String())
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || len(err.Error()) > 200) {
				t.Errorf("%v, want a mention of %q", err, test.want)
			}
		})
	}
}
