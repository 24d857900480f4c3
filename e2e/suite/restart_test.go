// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testRestart stops the gateway in good order: records and offsets stay, appends go on where they were.
func testRestart(t *testing.T, target *harness.Target) {
	testDurability(t, target, func(t *testing.T) {
		if err := target.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// testCrash kills the gateway: what was acknowledged stays.
func testCrash(t *testing.T, target *harness.Target) {
	testDurability(t, target, func(t *testing.T) {
		if err := target.Crash(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func testDurability(t *testing.T, target *harness.Target, interrupt func(t *testing.T)) {
	if !target.Durable {
		t.Skip("keeps nothing over a restart, or is not ours to restart")
	}
	records := append(plainRecords(500), edgeRecords()...)
	topics := map[string]string{}
	for _, writer := range clients.All(target.Kafka) {
		topics[writer.Name()] = newTopic(t, writer, 1)
		to := clients.Destination{Topic: topics[writer.Name()], Codec: "zstd", Acks: clients.AcksAll, Idempotent: writer.Features().Idempotent}
		produce(t, writer, to, records, 0)
	}
	interrupt(t)
	for _, client := range clients.All(target.Kafka) {
		t.Run(client.Name(), func(t *testing.T) {
			expectRead(t, client, topics[client.Name()], 0, at(0, records))
			more := plainRecords(20)
			produce(t, client, clients.Destination{Topic: topics[client.Name()], Codec: "none", Acks: clients.AcksAll}, more, int64(len(records)))
			expectRead(t, client, topics[client.Name()], 0, at(int64(len(records)), more))
		})
	}
}
