// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testRecreatedTopic deletes a topic and creates another one of that name. Clients that hold on to the old id (KIP-516)
// are told so, and find the new topic, which is empty, once they let go of it.
func testRecreatedTopic(t *testing.T, target *harness.Target) {
	by := clients.Franz{Addr: target.Kafka}
	topic := newTopic(t, by, 1)
	from := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}
	consumer := franz(t, target.Kafka, kgo.ConsumePartitions(from))
	producer := franz(t, target.Kafka, kgo.RecordPartitioner(kgo.ManualPartitioner()))

	write := func(value string, want int64) {
		t.Helper()
		r, err := producer.ProduceSync(within(t, limit), &kgo.Record{Topic: topic, Value: []byte(value)}).First()
		if err != nil || r.Offset != want {
			t.Fatalf("%q is written at %d (%v), want %d", value, r.Offset, err, want)
		}
	}
	read := func(want string) {
		t.Helper()
		fetches := consumer.PollFetches(within(t, limit))
		if err := fetches.Err(); err != nil || fetches.NumRecords() != 1 || string(fetches.Records()[0].Value) != want {
			t.Fatalf("read %d records (%v), want %q alone", fetches.NumRecords(), err, want)
		}
	}
	id := func() (id [16]byte) {
		t.Helper()
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
		if !await(t, func() bool { // a broker takes a moment to know a topic that was created
			answer := ask[*kmsg.MetadataResponse](t, producer, req).Topics[0]
			id = answer.TopicID
			return answer.ErrorCode == 0
		}) {
			t.Fatal("the metadata do not have the topic")
		}
		return id
	}

	write("old 0", 0)
	read("old 0")
	write("old 1", 1)
	read("old 1")
	old := id()
	if err := by.DeleteTopic(within(t, limit), topic); err != nil {
		t.Fatal(err)
	}
	if err := by.CreateTopic(within(t, limit), topic, 2); err != nil {
		t.Fatal(err)
	}
	if fresh := id(); fresh == old || fresh == [16]byte{} {
		t.Errorf("the id of the new topic is %x, the old one's %x", fresh, old)
	}
	// By id, the old topic is unknown. By name, as before version 13 of Fetch, its offset is beyond the new one's end.
	err := consumer.PollFetches(within(t, limit)).Err()
	if loss := (*kgo.ErrDataLoss)(nil); !errors.Is(err, kerr.UnknownTopicID) && !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.As(err, &loss) {
		t.Errorf("a consumer of the old topic is told: %v", err)
	}
	for _, client := range []*kgo.Client{producer, consumer} {
		client.PurgeTopicsFromClient(topic)
	}
	consumer.AddConsumePartitions(from)
	write("new", 0)
	read("new")
}
