// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestDoctor has the doctor examine every target, a Kafka broker too if KAFKA_ADDR names one: each is well, and nothing of the
// examination is left.
func TestDoctor(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	kinds := harness.Kinds()
	if os.Getenv("KAFKA_ADDR") != "" { // what others are compared with need not be started for this alone
		reference, err := harness.Kafka()
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, reference)
	}
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			target := start(t, kind, build, "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")
			binaries, err := build()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(within(t, limit), binaries.Gateway, "doctor", target.Kafka, "--json", "--step-timeout=60s", "--timeout=5m")
			out, err := cmd.Output()
			if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			var report struct {
				Healthy bool
				Steps   []struct{ Step, Status, Found string }
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := map[string]string{"tls": "skipped", "login": "skipped", "readiness": "skipped"}
			for _, s := range report.Steps {
				if status := want[s.Step]; s.Status != "ok" && s.Status != status {
					t.Errorf("%s is %s: %s", s.Step, s.Status, s.Found)
				}
				if s.Step == "cleanup" && !strings.HasSuffix(s.Found, "is deleted") {
					t.Errorf("left behind: %s", s.Found)
				}
			}
			if !report.Healthy || len(report.Steps) < 10 {
				t.Errorf("healthy: %v, %d steps", report.Healthy, len(report.Steps))
			}
		})
	}
}
