// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// scenario is one test, run against every target.
type scenario struct {
	name string
	run  func(t *testing.T, target *harness.Target)
}

// scenarios are run in this order; the last ones end programs and start them again.
func scenarios() []scenario {
	var leaks leakCheck
	return []scenario{
		{"topics", testTopics},
		{"codecs", testCodecs},
		{"edge-records", testEdgeRecords},
		{"acks", testAcks},
		{"partitions", testPartitions},
		{"idempotent", testIdempotent},
		{"applications", testApplications},
		{"leaks-begin", leaks.begin},
		{"lost-answers", testLostAnswers},
		{"offsets", testOffsets},
		{"long-poll", testLongPoll},
		{"native", testNative},
		{"kcat", testKcat},
		{"java", testJava},
		{"consumer-groups-tool", testConsumerGroupsTool},
		{"jvm", testJVM},
		{"consoles", testConsoles},
		{"recreated-topic", testRecreatedTopic},
		{"deleted-while-waiting", testDeletedWhileWaiting},
		{"pitfalls-metadata", testMetadataPitfalls},
		{"pitfalls-produce", testProducePitfalls},
		{"pitfalls-fetch", testFetchPitfalls},
		{"pitfalls-offsets", testOffsetPitfalls},
		{"pitfalls-admin", testAdminPitfalls},
		{"parity", testParity},
		{"quotas", testQuotas},
		{"parity-over-time", testParityTimes},
		{"groups", testGroups},
		{"join-rounds", testJoinRounds},
		{"late-commit", testLateCommit},
		{"leaks-end", leaks.end},
		{"PB-38-sequences-over-restarts", testSequencesOverRestarts},
		{"group-restarts", testGroupRestarts},
		{"gateway-stopped", testGatewayStopped},
		{"gateway-killed", testGatewayKilled},
		{"iggy-killed", testIggyKilled},
	}
}

func TestSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			target := start(t, kind, build,
				"IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", // tests do not wait for members that do not come
				"IGGY_KAFKA_ADMIN_PPROF=true",
				"IGGY_KAFKA_PRODUCE_SESSION_IDLE_SECS=5") // idle connections to Iggy go before leaks are looked for
			for _, s := range scenarios() {
				t.Run(s.name, func(t *testing.T) { s.run(t, target) })
			}
		})
	}
}

// TestTopicMap and TestDetached need gateways with settings of their own.
func TestTopicMap(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		if !kind.Reference {
			t.Run(kind.Name, func(t *testing.T) { testTopicMap(t, kind, build) })
		}
	}
}

func TestDetached(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	bin, err := builder(t)()
	if err != nil {
		t.Fatal(err)
	}
	target, err := harness.StartDetached(t.Context(), bin, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, target)
	testDetached(t, target)
}

// builder builds the programs when they are first asked for.
func builder(t *testing.T) func() (harness.Binaries, error) {
	return sync.OnceValues(func() (harness.Binaries, error) { return harness.Build(t.Context()) })
}

// start starts a target for the rest of the test.
func start(t *testing.T, kind harness.Kind, build func() (harness.Binaries, error), settings ...string) *harness.Target {
	t.Helper()
	var bin harness.Binaries
	if !kind.Reference {
		var err error
		if bin, err = build(); err != nil {
			t.Fatal(err)
		}
	}
	target, err := kind.Start(t.Context(), bin, t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, target)
	return target
}

// closeAtEnd stops the target with the test; its logs are shown if the test fails.
func closeAtEnd(t *testing.T, target *harness.Target) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(target.Logs())
		}
		if err := target.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// requireTool skips or fails a test whose tool is not installed.
func requireTool(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		missing(t, tool, err)
	}
}

// missing skips a test for want of a tool or of a part of it, or fails it if REQUIRE_<TOOL>=true.
func missing(t *testing.T, tool string, err error) {
	t.Helper()
	if os.Getenv("REQUIRE_"+strings.ToUpper(tool)) == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// limit bounds one step of a test.
const limit = time.Minute

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// newTopic creates a topic of the test's own with each client's way of doing so.
func newTopic(t *testing.T, client clients.Client, partitions int) string {
	t.Helper()
	topic := topicName(t)
	if err := client.CreateTopic(within(t, limit), topic, partitions); err != nil {
		t.Fatalf("%s creates topic %s: %v", client.Name(), topic, err)
	}
	return topic
}

// topicName is the test's name in the characters that Kafka allows, and something random: topics outlive a run.
func topicName(t *testing.T) string {
	name := regexp.MustCompile(`[^a-zA-Z0-9-]+`).ReplaceAllString(strings.TrimPrefix(t.Name(), "TestSuite/"), "-")
	return name + "-" + strings.ToLower(rand.Text()[:8])
}
