// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testGatewayStopped stops the gateway in good order, under load.
func testGatewayStopped(t *testing.T, target *harness.Target) {
	const drain = 25 * time.Second // the setting's default; requests in flight are answered, but new ones not waited for
	testSurvival(t, target, target.Gateway, func(gateway *harness.Program) {
		begin := time.Now()
		if err := gateway.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		t.Logf("stopped within %v", took)
		if took > drain {
			t.Errorf("stopped after %v, want at most %v", took, drain)
		}
	})
}

// testGatewayKilled kills the gateway, with the Iggy server if that is embedded in it.
func testGatewayKilled(t *testing.T, target *harness.Target) {
	testSurvival(t, target, target.Gateway, (*harness.Program).Kill)
}

// testIggyKilled kills the Iggy server behind the gateway, which goes on without a restart.
func testIggyKilled(t *testing.T, target *harness.Target) {
	testSurvival(t, target, target.IggyServer, (*harness.Program).Kill)
}

// testSurvival ends a program under load and starts it again, a few times: what was acknowledged stays, clients go on,
// appends go on where they were.
func testSurvival(t *testing.T, target *harness.Target, program *harness.Program, end func(*harness.Program)) {
	if !target.Durable || program == nil {
		t.Skip("keeps nothing over a restart, or is not ours to restart")
	}
	records := append(plainRecords(500), edgeRecords()...)
	topics := map[string]string{}
	for _, writer := range clients.All(target.Kafka) {
		topics[writer.Name()] = newTopic(t, writer, 1)
		to := clients.Destination{Topic: topics[writer.Name()], Codec: "zstd", Acks: clients.AcksAll, Idempotent: writer.Features().Idempotent}
		produce(t, writer, to, records, 0)
	}
	traffic := startLoad(t, target.Kafka)
	for range 3 {
		end(program)
		if err := program.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		traffic.awaitProgress(t)
	}
	traffic.finish(t)
	for _, client := range clients.All(target.Kafka) {
		t.Run(client.Name(), func(t *testing.T) {
			expectRead(t, client, topics[client.Name()], 0, at(0, records))
			more := plainRecords(20)
			produce(t, client, clients.Destination{Topic: topics[client.Name()], Codec: "none", Acks: clients.AcksAll}, more, int64(len(records)))
			expectRead(t, client, topics[client.Name()], 0, at(int64(len(records)), more))
		})
	}
}
