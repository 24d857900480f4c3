// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

// silent is an Iggy that takes connections and says nothing.
func silent(t *testing.T) (addr string, met <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		first := connected
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			if first != nil {
				close(first)
				first = nil
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String(), connected
}

// While a gateway waits for an Iggy that does not answer it is alive and not ready, and says so at once; a stop ends the wait.
func TestOperatorsWhileItConnects(t *testing.T) {
	iggy, met := silent(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	admin := freeAddr(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	cfg := load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_PASSWORD=x", "IGGY_KAFKA_IGGY_ADDR="+iggy, "IGGY_KAFKA_ADMIN_ADDR="+admin)
	go func() { ended <- Run(ctx, cfg, time.Now, nil, slog.New(slog.DiscardHandler)) }()
	select {
	case <-met:
	case err := <-ended:
		t.Fatalf("ended: %v", err)
	}
	const starting = "starting: connecting to iggy\n"
	for path, want := range map[string]struct {
		status int
		text   string
	}{"/healthz": {200, "starting\n"}, "/readyz": {503, starting}, "/metrics": {503, starting}, "/": {503, starting}} {
		if status, text := askPage(t, admin, path, "", ""); status != want.status || text != want.text {
			t.Errorf("%s: %d %q, want %d %q", path, status, text, want.status, want.text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a stop that was asked for: %v", err)
	}
	if c, err := net.Dial("tcp", admin); err == nil {
		c.Close()
		t.Error("operators are still listened to")
	}
}

// What a start is at follows its steps.
func TestOperatorsSeeTheSteps(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	admin, asked := freeAddr(t), make(chan string, 2)
	ask := func() {
		answer, err := askReadiness(t.Context(), admin)
		if err != nil {
			answer = err.Error()
		}
		asked <- answer
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := addrOf{"serving kafka clients", make(chan string, 1)}
	log := slog.New(atMessage{atMessage{serving, "connecting to iggy", ask}, noInstanceID, ask})
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_ADDR="+iggy.Addr().String(), "IGGY_KAFKA_IGGY_PASSWORD=iggy",
			"IGGY_KAFKA_ADMIN_ADDR="+admin), time.Now, nil, log)
	}()
	select {
	case <-serving.addr:
	case err := <-ended:
		t.Fatalf("ended: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(asked)
	var got strings.Builder
	for answer := range asked {
		got.WriteString(answer)
	}
	if want := "503 starting: connecting to iggy\n503 starting: opening the state of the consumer groups\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}

// Once Iggy is connected nobody is told any more that it fails.
func TestOperatorsSeeThatItConnected(t *testing.T) {
	addr, admin := freeAddr(t), freeAddr(t)
	var iggy *embedded.Server
	up := sync.OnceFunc(func() {
		var err error
		if iggy, err = embedded.Start(t.Context(), embedded.Config{InMemory: true, Addr: addr}); err != nil {
			t.Error(err)
		}
	})
	asked := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log := slog.New(atMessage{atMessage{addrOf{}, "iggy cannot be used yet: trying again", up}, "connected to iggy", func() {
		status, text := askPage(t, admin, "/readyz", "", "")
		asked <- fmt.Sprint(status, " ", text)
		stop()
	}})
	err := Run(ctx, load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_ADDR="+addr, "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_ADMIN_ADDR="+admin),
		time.Now, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	if got, want := <-asked, "503 starting: connected to iggy: asking which version it is\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A start that hangs can be looked into, by the names of the gateway alone; one that is asked to stop says so.
func TestOperatorsOfAStart(t *testing.T) {
	admin := freeAddr(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got []string
	ask := func(path, host string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		got = append(got, path+" "+resp.Status[:3])
		if text, err := io.ReadAll(resp.Body); path == "/readyz" {
			got = append(got, fmt.Sprint(string(text), err))
		}
	}
	log := slog.New(atMessage{addrOf{}, "connecting to iggy", func() {
		ask("/debug/pprof/", "gateway.example")
		ask("/debug/pprof/", "rebound.example")
		stop()
		ask("/readyz", "")
	}})
	if err := Run(ctx, load(t, "IGGY_KAFKA_ADMIN_ADDR="+admin, "IGGY_KAFKA_ADMIN_PPROF=true", "IGGY_KAFKA_ADVERTISED_HOST=gateway.example"), time.Now, nil, log); err != nil {
		t.Error(err)
	}
	if want := []string{"/debug/pprof/ 200", "/debug/pprof/ 421", "/readyz 503", "shutting down\n<nil>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
