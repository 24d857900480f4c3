// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testTopics creates, uses at once, deletes and creates again.
func testTopics(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, client clients.Client) {
		topic := newTopic(t, client, 2)
		if err := client.CreateTopic(within(t, limit), topic, 2); err == nil {
			t.Error("a topic that exists was created")
		}
		to := clients.Destination{Topic: topic, Partition: 1, Codec: "none", Acks: clients.AcksAll}
		old := plainRecords(3)
		produce(t, client, to, old, 0)
		expectRead(t, client, topic, 1, at(0, old))
		if err := client.DeleteTopic(within(t, limit), topic); err != nil {
			t.Fatal(err)
		}
		if err := client.DeleteTopic(within(t, limit), topic); err == nil {
			t.Error("a topic that does not exist was deleted")
		}
		if err := client.CreateTopic(within(t, limit), topic, 2); err != nil {
			t.Fatal(err)
		}
		fresh := plainRecords(5)[3:]
		produce(t, client, to, fresh, 0)
		expectRead(t, client, topic, 1, at(0, fresh))
	})
}

// testCodecs writes with every client and codec and reads each back with every client.
func testCodecs(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		for _, codec := range clients.Codecs() {
			t.Run(codec, func(t *testing.T) {
				t.Parallel()
				topic := newTopic(t, writer, 1)
				records := plainRecords(500)
				produce(t, writer, clients.Destination{Topic: topic, Codec: codec, Acks: clients.AcksAll}, records, 0)
				for _, reader := range clients.All(target.Kafka) {
					expectRead(t, reader, topic, 0, at(0, records))
				}
			})
		}
	})
}

// testEdgeRecords writes what is hard to keep with every client and reads it with every client.
func testEdgeRecords(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		topic := newTopic(t, writer, 1)
		records := edgeRecords()
		produce(t, writer, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, records, 0)
		for _, reader := range clients.All(target.Kafka) {
			expectRead(t, reader, topic, 0, at(0, records))
		}
	})
}

func testAcks(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		for name, acks := range map[string]clients.Acks{"none": clients.AcksNone, "leader": clients.AcksLeader, "all": clients.AcksAll} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				topic := newTopic(t, writer, 1)
				records := plainRecords(100)
				produce(t, writer, clients.Destination{Topic: topic, Codec: "lz4", Acks: acks}, records, 0)
				expectRead(t, writer, topic, 0, at(0, records))
			})
		}
	})
}

// testPartitions keeps the partitions of a topic apart.
func testPartitions(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		const partitions = 4
		topic := newTopic(t, writer, partitions)
		records := plainRecords(50 * partitions)
		part := func(p int) []clients.Record { return records[50*p : 50*(p+1)] }
		for p := range partitions {
			produce(t, writer, clients.Destination{Topic: topic, Partition: p, Codec: "none", Acks: clients.AcksAll}, part(p), 0)
		}
		for p := range partitions {
			expectRead(t, writer, topic, p, at(0, part(p)))
		}
	})
}

// testIdempotent sends many small batches with producers that number them: all arrive once and in order.
func testIdempotent(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		if !writer.Features().Idempotent {
			t.Skip("has no idempotent producer")
		}
		topic := newTopic(t, writer, 1)
		records := plainRecords(2_000)
		to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll, Idempotent: true, BatchSize: 20}
		produce(t, writer, to, records[:1_000], 0)
		produce(t, writer, to, records[1_000:], 1_000) // another producer id
		expectRead(t, writer, topic, 0, at(0, records))
	})
}

// testOffsets appends to what is there, and reads from the middle of batches.
func testOffsets(t *testing.T, target *harness.Target) {
	everyWriter(t, target, func(t *testing.T, writer clients.Client) {
		topic := newTopic(t, writer, 1)
		records := plainRecords(300)
		for first := 0; first < len(records); first += 100 {
			produce(t, writer, clients.Destination{Topic: topic, Codec: "gzip", Acks: clients.AcksAll}, records[first:first+100], int64(first))
		}
		for _, from := range []int{0, 1, 99, 100, 150, 299} {
			expectRead(t, writer, topic, 0, at(0, records)[from:])
		}
	})
}

// everyWriter runs a test once for each client as the one that writes, several at a time.
func everyWriter(t *testing.T, target *harness.Target, run func(t *testing.T, writer clients.Client)) {
	for _, writer := range clients.All(target.Kafka) {
		t.Run(writer.Name(), func(t *testing.T) {
			t.Parallel()
			run(t, writer)
		})
	}
}

// produce writes the records and checks the offsets that the client was told: they begin at first and have no gap.
func produce(t *testing.T, writer clients.Client, to clients.Destination, records []clients.Record, first int64) {
	t.Helper()
	offsets, err := writer.Produce(within(t, limit), to, records)
	if err != nil {
		t.Fatalf("%s writes to %s: %v", writer.Name(), to.Topic, err)
	}
	if !writer.Features().TellsOffset || to.Acks == clients.AcksNone {
		return
	}
	want := make([]int64, len(records))
	for i := range want {
		want[i] = first + int64(i)
	}
	if diff := cmp.Diff(want, offsets); diff != "" {
		t.Errorf("%s is told offsets (-want +got):\n%s", writer.Name(), diff)
	}
}
