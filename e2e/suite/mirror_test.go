// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestNativeOffsetMirror replaces an application's Kafka consumer by one on Iggy's own SDK, which goes on where the
// first one stopped.
func TestNativeOffsetMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		if !kind.Reference {
			t.Run(kind.Name, func(t *testing.T) { testNativeOffsetMirror(t, kind, build) })
		}
	}
}

func testNativeOffsetMirror(t *testing.T, kind harness.Kind, build func() (harness.Binaries, error)) {
	const stored, committed = 10, 6
	target := start(t, kind, build, "IGGY_KAFKA_NATIVE_OFFSET_MIRROR=true", "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")
	writer := clients.Franz{Addr: target.Kafka}
	topic := newTopic(t, writer, 1)
	produce(t, writer, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, plainRecords(stored), 0)

	consumer := franz(t, target.Kafka, kgo.ConsumerGroup("application"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	var read []*kgo.Record
	for len(read) < committed {
		fetches := consumer.PollRecords(within(t, limit), committed-len(read))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read = append(read, fetches.Records()...)
	}
	if err := consumer.CommitRecords(within(t, limit), read...); err != nil {
		t.Fatal(err)
	}
	consumer.Close()

	native, partition := dialIggy(t, target), uint32(0)
	group := identifier(t, "kafka.cg.application")
	// A member of the native group would keep the mirror from writing.
	if !await(t, func() bool {
		offset, err := native.client.GetConsumerOffset(iggcon.NewGroupConsumer(group), native.stream, identifier(t, topic), &partition)
		return err == nil && offset != nil && offset.StoredOffset == committed-1 // Iggy stores the last that was read
	}) {
		t.Fatal("the committed offset does not reach the native group")
	}
	if err := native.client.JoinConsumerGroup(native.stream, identifier(t, topic), group); err != nil {
		t.Fatal(err)
	}
	var polled *iggcon.PolledMessage
	if !await(t, func() (some bool) { // the mirror's own member has the partition until it leaves
		var err error
		polled, err = native.client.PollMessages(native.stream, identifier(t, topic), iggcon.NewGroupConsumer(group),
			iggcon.NextPollingStrategy(), 100, false, nil)
		return err == nil && len(polled.Messages) > 0
	}) {
		t.Fatal("the native consumer reads nothing")
	}
	if n := len(polled.Messages); n != stored-committed || polled.Messages[0].Header.Offset != committed {
		t.Errorf("the native consumer reads %d messages, want %d from %d on: %+v", n, stored-committed, committed, polled.Messages)
	}
}
