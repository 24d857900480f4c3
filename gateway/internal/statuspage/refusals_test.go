// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

// Whoever guesses passwords shows in the log, and cannot fill it; what he typed does not.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &directory{}
		gate := sasl.NewGate(sasl.Config{Authenticator: d.signIn, Concurrent: 2, Timeout: 4 * time.Second, RejectionDelay: 1, SecretUser: "$token"})
		defer gate.Close()
		c := newWorld(time.Now()).config(time.Now)
		c.Login = NewLogin(gate, slog.New(slog.NewTextHandler(&log, nil)))
		defer c.Login.Close()
		p := newPage(t, c)
		for _, name := range numbered("guessed", 3) {
			wantStatus(t, p, http.StatusUnauthorized, "/", as(name, "wrong"))
		}
		time.Sleep(time.Minute)
		page(t, p, "/", as("right", "right"))
		wantStatus(t, p, http.StatusUnauthorized, "/")
		wantStatus(t, p, http.StatusUnauthorized, "/", as("guessed", "wrong"))
		text := log.String()
		if strings.Count(text, "a login to the status page was refused") != 2 || !strings.Contains(text, "remote=192.0.2.7 suppressed=0") || !strings.Contains(text, "suppressed=2") {
			t.Error(text)
		}
		if strings.Contains(text, "guessed") || strings.Contains(text, "wrong") {
			t.Errorf("tells what was typed: %s", text)
		}
	})
}
