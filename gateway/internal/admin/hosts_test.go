// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestKnownHost(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:9094": true, "[::1]:9094": true, "[::1]": true, "10.0.0.3:80": true, "localhost:9094": true, "LOCALHOST": true,
		"gateway": true, "gateway:9094": true, "gateway.example": true, "Gateway.Example.:9094": true, "gw.monitoring.svc": true,
		"gw.monitoring.svc.cluster.local:9094": true, "printer.local": true, "a.test": true, "x.internal": true, "": true,
		"evil.example": false, "evil.example:9094": false, "127.0.0.1.evil.example": false, "gateway.example.evil.com": false, "localhost.evil.com": false, "evil.svc.com": false,
	} {
		if got := KnownHost(host, []string{"gateway.example"}); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// A page of the internet whose name was made to point here gets no profiles of a browser; scrapers call the gateway as they like.
func TestForeignHosts(t *testing.T) {
	counts := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "counts") })
	handler := NewHandler(Parts{Metrics: counts, Profiles: true, Hosts: []string{"gateway.example"}})
	for _, test := range []struct {
		host, path string
		status     int
	}{
		{"rebound.example", "/debug/pprof/", http.StatusMisdirectedRequest},
		{"rebound.example", "/debug/pprof/cmdline", http.StatusMisdirectedRequest},
		{"gateway.example", "/debug/pprof/cmdline", http.StatusOK},
		{"rebound.example", "/metrics", http.StatusOK},
		{"rebound.example", "/healthz", http.StatusOK},
	} {
		r, w := httptest.NewRequest(http.MethodGet, test.path, nil), httptest.NewRecorder()
		r.Host = test.host
		if handler.ServeHTTP(w, r); w.Code != test.status {
			t.Errorf("%s%s: %d, want %d", test.host, test.path, w.Code, test.status)
		}
	}
}
