// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

// One line per connection says who it was and why it closed; above the rate, lines are left out and counted.
func TestCloseLog(t *testing.T) {
	var log strings.Builder
	cfg := testConfig()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	inBubble(t, cfg, echo, func(f *fixture) {
		c := f.dial()
		c.send(frame(1, metadata()))
		c.expect(1)
		time.Sleep(2 * time.Second)
		c.send([]byte{0, 0, 0, 8, 0, 99, 0, 0})
		c.expectClosed()
		synctest.Wait()
		line := log.String()
		for _, want := range []string{
			"level=INFO", `msg="connection closed"`, "conn=1", "remote=pipe", "cause=unknown_api", "requests=1", "open_for=2s",
			"remote=pipe client_id=test cause=", "bytes_in=", "bytes_out=",
			`error="wire: API not served: key 99 version 0"`,
		} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in %s", want, line)
			}
		}

		for range 100 {
			f.dial().Close()
			synctest.Wait()
		}
		if lines := strings.Count(log.String(), "\n"); lines != closeLogBurst {
			t.Errorf("%d lines in a second", lines)
		}
		time.Sleep(time.Second)
		log.Reset()
		f.dial().Close()
		synctest.Wait()
		if !strings.Contains(log.String(), "cause=peer_closed") || !strings.Contains(log.String(), "suppressed=81") {
			t.Errorf("the next second: %s", log.String())
		}
	})
}

// Whose client it is that asks for a version that is not served is said by its id, which is in the part of the request that is read;
// not where it could be a password out of place.
func TestCloseLogOfOldClient(t *testing.T) {
	old := metadata()
	old.Version = -1
	short := frame(1, old)[:14] // without the id
	for _, test := range []struct {
		name  string
		sent  []byte
		early bool // nobody has authenticated, where clients have to
		want  bool
	}{
		{"old", frame(1, old), false, true},
		{"cut short", short, false, false},
		{"no id", append(append([]byte{}, short[:12]...), 0xff, 0xff), false, false},
		{"no text", append(append([]byte{}, short[:12]...), 0, 4, 't', 'e', 0xff, 't'), false, false},
		{"early", frame(1, old), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			cfg := testConfig()
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if test.early {
				cfg.Authentication = &Authentication{Rules: sasl.NewRules(0), Timeout: time.Minute}
			}
			inBubble(t, cfg, echo, func(f *fixture) {
				c := f.dial()
				c.send(test.sent)
				c.expectClosed()
				synctest.Wait()
				line := log.String()
				if !strings.Contains(line, "cause=unsupported_version") || !strings.Contains(line, "served are v0 to ") {
					t.Errorf("no cause in %s", line)
				}
				if got := strings.Contains(line, "client_id=test"); got != test.want {
					t.Errorf("the client's id: %v in %s", got, line)
				}
			})
		})
	}
}

// Every cause has a name of its own.
func TestCloseCauseNames(t *testing.T) {
	seen := map[string]CloseCause{}
	for cause := PeerClosed; cause < numCauses; cause++ {
		name := cause.String()
		if other, twice := seen[name]; name == "" || twice {
			t.Errorf("cause %d is named %q, as is %d", uint8(cause), name, uint8(other))
		}
		seen[name] = cause
	}
	if got := CloseCause(0).String(); got != "cause_0" {
		t.Error(got)
	}
}
