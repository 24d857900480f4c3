// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
