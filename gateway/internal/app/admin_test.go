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
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

// TestReady asks a gateway that has all it needs, one that needs less, and one whose Iggy goes away.
func TestReady(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{Addr: "127.0.0.1:0", InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	for _, test := range []struct {
		name     string
		settings []string
		want     string
		without  string // what is answered once Iggy is gone
	}{
		{"embedded", nil, "200 consumer groups: ok\niggy: ok\n", ""},
		{"detached", []string{"IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_BRIDGE_ENABLED=false"}, "200 consumer groups: ok\n", ""},
		{"in front of a server", []string{
			"IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_ADDR=" + iggy.Addr().String(), "IGGY_KAFKA_IGGY_PASSWORD=iggy",
		}, "200 consumer groups: ok\niggy: ok\n", "503 consumer groups: ok\niggy: does not answer\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			admin := freeAddr(t)
			_, stop := start(t, load(t, append(test.settings, "IGGY_KAFKA_ADMIN_ADDR="+admin)...))
			awaitAnswer(t, admin, test.want) // groups may still be loading
			if test.without != "" {
				if err := iggy.Close(); err != nil {
					t.Fatal(err)
				}
				awaitAnswer(t, admin, test.without)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// atMessage is a log handler that calls a function with each line of a message, and holds up who logs until it returns.
type atMessage struct {
	slog.Handler
	message string
	do      func()
}

func (h atMessage) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.do()
	}
	return h.Handler.Handle(ctx, r)
}

// From the moment on at which a gateway is asked to stop it is not ready, though it still serves who is there.
func TestNotReadyWhileItDrains(t *testing.T) {
	admin, asked := freeAddr(t), make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	serving := addrOf{"serving kafka clients", make(chan string, 1)}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, load(t, "IGGY_KAFKA_ADMIN_ADDR="+admin), time.Now, nil, slog.New(atMessage{serving, "shutting down", func() {
			status, err := askReadiness(t.Context(), admin)
			asked <- fmt.Sprint(status, err)
		}}))
	}()
	<-serving.addr
	awaitAnswer(t, admin, "200 consumer groups: ok\niggy: ok\n")
	stop()
	if got, want := <-asked, "503 shutting down\n<nil>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The status page is everybody's where clients do not authenticate, and else that of Iggy's users.
func TestStatusPage(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const secret = "a-secret-password"
	for _, test := range []struct {
		name     string
		settings []string
		guarded  bool
	}{
		{"open", nil, false},
		{"with logins", []string{"IGGY_KAFKA_SASL_ENABLED=true", "IGGY_KAFKA_SASL_REJECTION_DELAY_MS=1", "IGGY_KAFKA_IGGY_PASSWORD=" + secret}, true},
		{"detached", []string{"IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_BRIDGE_ENABLED=false"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			admin := freeAddr(t)
			cfg := load(t, append(test.settings, "IGGY_KAFKA_ADMIN_ADDR="+admin, "IGGY_KAFKA_INSTANCE_ID=7")...)
			addr, stop := start(t, cfg)
			ready := "200 consumer groups: ok\n"
			if cfg.BridgeEnabled {
				ready += "iggy: ok\n"
			}
			awaitAnswer(t, admin, ready) // before, nothing is known of groups
			if status, _ := askPage(t, admin, "/", "", ""); (status == http.StatusUnauthorized) != test.guarded || status != http.StatusOK && !test.guarded {
				t.Errorf("without a login: %d", status)
			}
			if status, _ := askPage(t, admin, "/clients", "somebody", "wrong"); test.guarded && status != http.StatusUnauthorized {
				t.Errorf("somebody: %d", status)
			}
			for path, want := range map[string]string{"/": addr, "/clients": "Nobody is connected", "/settings": "IGGY_KAFKA_INSTANCE_ID", "/topics": "Topics", "/groups": "no groups"} {
				status, text := askPage(t, admin, path, "iggy", secret)
				if status != http.StatusOK || !strings.Contains(text, want) {
					t.Errorf("%s: %d, has no %q", path, status, want)
				}
				if strings.Contains(text, secret) {
					t.Errorf("%s tells the password", path)
				}
			}
			if status, _ := askPage(t, admin, "/healthz", "", ""); status != http.StatusOK {
				t.Errorf("health: %d", status)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// When Iggy has gone, the page shows what was known last, and says so.
func TestStatusPageWithoutIggy(t *testing.T) {
	iggy, err := embedded.Start(t.Context(), embedded.Config{Addr: "127.0.0.1:0", InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer iggy.Close()
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), CreateStreams: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: "orders", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	b.Close(t.Context())
	admin := freeAddr(t)
	_, stop := start(t, load(t, "IGGY_KAFKA_EMBEDDED=false", "IGGY_KAFKA_IGGY_ADDR="+iggy.Addr().String(), "IGGY_KAFKA_IGGY_PASSWORD=iggy", "IGGY_KAFKA_ADMIN_ADDR="+admin))
	if _, text := askPage(t, admin, "/topics", "", ""); !strings.Contains(text, ">orders</a>") || strings.Contains(text, "does not answer") {
		t.Errorf("while Iggy is there: %s", text)
	}
	if err := iggy.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, text := askPage(t, admin, "/topics", "", "")
		if strings.Contains(text, "does not answer") {
			if !strings.Contains(text, ">orders</a>") {
				t.Error("what was known is not shown")
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the page does not say that Iggy is away")
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// askPage asks for a page as a user, or as nobody.
func askPage(t *testing.T, admin, path, user, password string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// awaitAnswer asks whether the gateway is ready until it gets the answer that is wanted.
func awaitAnswer(t *testing.T, admin, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for got := ""; got != want; {
		answer, err := askReadiness(ctx, admin)
		if err != nil {
			t.Fatalf("%v; the last answer was %q, want %q", err, got, want)
		}
		got = answer
	}
}

// askReadiness returns the status and the text of /readyz.
func askReadiness(ctx context.Context, admin string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.Status[:4] + string(text), err
}

// freeAddr returns an address that nothing listens on now.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
