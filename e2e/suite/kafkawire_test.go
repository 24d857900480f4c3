// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestKafkawire has kafkawire ask every target something of every API and version that it advertises, and of those just
// outside: each is answered whole or refused as the firewall says. Of the gateway it is also checked that it advertises
// what this release serves, and that the questions leave no topic behind where naming one could create it.
func TestKafkawire(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	tool := buildKafkawire(t)
	kafkawire := func(t *testing.T, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(within(t, limit), tool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("kafkawire %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			target := start(t, kind, build, "IGGY_KAFKA_AUTO_CREATE_TOPICS=true")
			if kind.Reference {
				kafkawire(t, "verify", target.Kafka)
				return
			}
			newTopic(t, clients.Franz{Addr: target.Kafka}, 2)
			topics := func() string { return kafkawire(t, "send", "-api", "Metadata", "-version", "1", target.Kafka) }
			before := topics()
			kafkawire(t, "verify", "-table", target.Kafka)
			if diff := cmp.Diff(before, topics()); diff != "" {
				t.Errorf("kafkawire has changed the topics (-before +after):\n%s", diff)
			}
		})
	}
}

func buildKafkawire(t *testing.T) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "kafkawire")
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./cmd/kafkawire")
	compile.Dir = "../../wire"
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("building kafkawire: %v\n%s", err, out)
	}
	return tool
}
