// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// reloginSeconds is how long clients write over logins that they have to renew: a few sessions long.
const reloginSeconds = 10

// testRelogin has librdkafka write for longer than its logins last.
func testRelogin(t *testing.T, target *harness.Target) {
	requireTool(t, "python3")
	environment, err := exec.CommandContext(within(t, 10*limit), filepath.Join(clientsFolder, "python", "environment"), "newest").Output()
	if err != nil {
		missing(t, "python3", err)
	}
	t.Parallel()
	topic := topicName(t)
	security := clients.Security{User: appUser, Password: appPassword}
	if err := (clients.Franz{Addr: target.Kafka, Security: security}).CreateTopic(within(t, limit), topic, 1); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"broker": target.Kafka, "topic": topic, "user": appUser, "password": appPassword, "seconds": reloginSeconds,
	})
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(strings.TrimSpace(string(environment)), "bin", "python")
	cmd := exec.CommandContext(within(t, 2*limit), python, "-B", filepath.Join(clientsFolder, "python", "relogin.py"), string(config))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || n < 10*reloginSeconds {
		t.Errorf("%s records were written, in %d s", out, reloginSeconds)
	}
}

// testNoRelogin: who does not renew its login is closed when that is over. Those before it have renewed theirs: Java does so
// 150 ms before the end at the earliest, which on a busy machine may be too late once, and not again and again.
func testNoRelogin(t *testing.T, target *harness.Target) {
	before := gatewayLog(t, target)
	closed := strings.Count(before, sessionOver)
	if closed > 2 {
		t.Errorf("clients that renew their logins were closed %d times:\n%s", closed, before)
	}
	conn, since := dialRaw(t, target), time.Now()
	lifetime := loginRaw(t, conn, appUser, appPassword)
	if lifetime <= 0 || lifetime > sessionSeconds*time.Second {
		t.Fatalf("the login is said to last %v, want at most %d s", lifetime, sessionSeconds)
	}
	if !await(t, func() bool {
		_, err := conn.Ask(within(t, limit), metadataOfAll())
		return err != nil
	}) {
		t.Fatal("the connection is open still")
	}
	if open := time.Since(since); open < lifetime || open > lifetime+15*time.Second {
		t.Errorf("it was closed after %v, want %v", open, lifetime)
	}
	if !await(t, func() bool { return strings.Count(gatewayLog(t, target), sessionOver) > closed }) {
		t.Errorf("no %s in the log", sessionOver)
	}
}

// sessionOver is what the log says of a connection whose login has ended.
const sessionOver = "cause=session_expired"

func gatewayLog(t *testing.T, target *harness.Target) string {
	t.Helper()
	text, err := os.ReadFile(target.Gateway.Log())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// loginRaw logs a connection in by SASL/PLAIN and returns how long that lasts.
func loginRaw(t *testing.T, conn *clients.Raw, user, password string) time.Duration {
	t.Helper()
	if resp := askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(1, "PLAIN")); resp.ErrorCode != 0 {
		t.Fatalf("SaslHandshake: %d", resp.ErrorCode)
	}
	resp := askRaw[*kmsg.SASLAuthenticateResponse](t, conn, authenticateWith(plainToken(user, password)))
	if resp.ErrorCode != 0 {
		t.Fatalf("SaslAuthenticate: %d", resp.ErrorCode)
	}
	return time.Duration(resp.SessionLifetimeMillis) * time.Millisecond
}
