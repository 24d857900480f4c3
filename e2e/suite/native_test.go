// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testNative shares topics between Kafka clients and Iggy's own SDK.
func testNative(t *testing.T, target *harness.Target) {
	native := dialIggy(t, target)
	t.Run("iggy-to-kafka", func(t *testing.T) { testNativeToKafka(t, target, native) })
	t.Run("kafka-to-iggy", func(t *testing.T) { testKafkaToNative(t, target, native) })
	t.Run("both-write", func(t *testing.T) { testBothWrite(t, target, native) })
	t.Run("iggy-creates-topic", func(t *testing.T) { testNativeCreatesTopic(t, target, native) })
	t.Run("iggy-sets-what-kafka-cannot-say", func(t *testing.T) { testNativeSettings(t, target, native) })
}

// testNativeToKafka: a native message has no key; its user headers become record headers; it may name a key.
func testNativeToKafka(t *testing.T, target *harness.Target, native iggy) {
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, 2)
	messages := []iggcon.IggyMessage{
		native.message(t, "plain"),
		native.message(t, "with headers", header("b", iggcon.String, "text"), header("a", iggcon.Raw, "raw"), header("n", iggcon.Uint8, "\x07")),
		native.message(t, "with a key", header("kafka.key", iggcon.Raw, "the key"), header("h", iggcon.Raw, "v")),
		native.message(t, "\x00", header("kafka.value", iggcon.Raw, "null"), header("kafka.key", iggcon.Raw, "gone")),
	}
	want := []clients.Record{
		{Value: []byte("plain")},
		{Value: []byte("with headers"), Headers: []clients.Header{{Name: "b", Value: []byte("text")}, {Name: "a", Value: []byte("raw")}, {Name: "n", Value: []byte{7}}}},
		{Value: []byte("with a key"), Key: []byte("the key"), Headers: []clients.Header{{Name: "h", Value: []byte("v")}}},
		{Key: []byte("gone")},
	}
	for i := range want {
		want[i].Timestamp = int64(messages[i].Header.OriginTimestamp / 1000)
	}
	native.send(t, topic, 1, messages...)
	for _, reader := range clients.All(target.Kafka) {
		expectRead(t, reader, topic, 1, at(0, want))
	}
}

// testKafkaToNative: a record's value is the payload, its key and headers are user headers.
func testKafkaToNative(t *testing.T, target *harness.Target, native iggy) {
	for _, writer := range clients.All(target.Kafka) {
		t.Run(writer.Name(), func(t *testing.T) {
			topic := newTopic(t, writer, 1)
			produce(t, writer, clients.Destination{Topic: topic, Codec: "snappy", Acks: clients.AcksAll}, []clients.Record{
				{Timestamp: firstTimestamp, Value: []byte("plain")},
				{Timestamp: firstTimestamp + 1, Key: []byte("k"), Value: []byte("v"), Headers: []clients.Header{{Name: "z", Value: []byte("1")}, {Name: "a", Value: []byte("2")}}},
				{Timestamp: firstTimestamp + 2, Key: []byte("k"), Value: nil},
				{Timestamp: firstTimestamp + 3, Key: []byte("k"), Value: []byte{}},
			}, 0)
			want := []nativeMessage{
				{0, firstTimestamp * 1000, "plain", nil},
				{1, (firstTimestamp + 1) * 1000, "v", []string{"kafka.key=k", "kafka.h.z=1", "kafka.h.a=2"}},
				{2, (firstTimestamp + 2) * 1000, "\x00", []string{"kafka.key=k", "kafka.value=null"}},
				{3, (firstTimestamp + 3) * 1000, "\x00", []string{"kafka.key=k", "kafka.value=empty"}},
			}
			if diff := cmp.Diff(want, native.poll(t, topic, 0, 10)); diff != "" {
				t.Errorf("the SDK reads (-want +got):\n%s", diff)
			}
		})
	}
}

// testBothWrite alternates the writers of one partition: Kafka producers are told the true offsets all the same.
func testBothWrite(t *testing.T, target *harness.Target, native iggy) {
	writer := clients.Franz{Addr: target.Kafka}
	topic := newTopic(t, writer, 1)
	to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll, Idempotent: true}
	next := 0
	for round := range 5 {
		produce(t, writer, to, plainRecords(round+1), int64(next))
		next += round + 1
		native.send(t, topic, 0, native.message(t, "native 1"), native.message(t, "native 2"))
		next += 2
	}
	got, err := writer.Consume(within(t, limit), topic, 0, 0, next)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if r.Offset != int64(i) {
			t.Fatalf("record %d has the offset %d", i, r.Offset)
		}
	}
}

// testNativeCreatesTopic: a topic made by native means is there for Kafka clients.
func testNativeCreatesTopic(t *testing.T, target *harness.Target, native iggy) {
	topic := topicName(t)
	if _, err := native.client.CreateTopic(native.stream, topic, 3, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); err != nil {
		t.Fatal(err)
	}
	for _, writer := range clients.All(target.Kafka) {
		t.Run(writer.Name(), func(t *testing.T) {
			to := clients.Destination{Topic: topic, Partition: 2, Codec: "none", Acks: clients.AcksAll}
			if _, err := writer.Produce(within(t, limit), to, plainRecords(2)); err != nil {
				t.Error(err)
			}
		})
	}
}

// testNativeSettings: what Kafka has no words for, a fraction of a millisecond and a size of all partitions, is rounded where it
// is told, and kept when another setting is changed.
func testNativeSettings(t *testing.T, target *harness.Target, native iggy) {
	const expiry, size = 3_600_000_500, 10 << 30 // µs, bytes
	for _, client := range clients.Applications(target.Kafka) {
		t.Run(client.Name(), func(t *testing.T) {
			t.Parallel()
			topic := topicName(t)
			if _, err := native.client.CreateTopic(native.stream, topic, 3, iggcon.CompressionAlgorithmGzip, expiry, size, nil); err != nil {
				t.Fatal(err)
			}
			if !await(t, func() bool { // what others make is seen within a second
				names, err := client.Topics(within(t, limit))
				return err == nil && slices.Contains(names, topic)
			}) {
				t.Fatal("the topic does not come up")
			}
			told := map[string]string{"retention.ms": "3600001", "retention.bytes": "3579139413"}
			if err := expectSettings(t, client, topic, told); err != nil {
				t.Fatal(err)
			}
			if err := client.AlterSettings(within(t, limit), topic, map[string]string{"max.message.bytes": "1000"}); err != nil {
				t.Fatal(err)
			}
			told["max.message.bytes"] = "1000"
			if err := expectSettings(t, client, topic, told); err != nil {
				t.Fatal(err)
			}
			kept, err := native.client.GetTopic(native.stream, identifier(t, topic))
			if err != nil {
				t.Fatal(err)
			}
			if kept.MessageExpiry != expiry || kept.MaxTopicSize != size || kept.CompressionAlgorithm != uint8(iggcon.CompressionAlgorithmGzip) {
				t.Errorf("Iggy has an expiry of %d, a size of %d and compression %d", kept.MessageExpiry, kept.MaxTopicSize, kept.CompressionAlgorithm)
			}
		})
	}
}

// iggy is the official SDK's client, logged in.
type iggy struct {
	client iggcon.Client
	stream iggcon.Identifier
}

func dialIggy(t *testing.T, target *harness.Target) iggy {
	t.Helper()
	if target.Iggy == nil {
		t.Skip("no Iggy behind this target")
	}
	client, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(target.Iggy.Addr)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.LoginUser(target.Iggy.Username, target.Iggy.Password); err != nil {
		t.Fatal(err)
	}
	return iggy{client: client, stream: identifier(t, target.Iggy.Stream)}
}

func identifier(t *testing.T, name string) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func header(name string, kind iggcon.HeaderKind, value string) iggcon.HeaderEntry {
	return iggcon.HeaderEntry{
		Key:   iggcon.HeaderKey{Kind: iggcon.String, Value: []byte(name)},
		Value: iggcon.HeaderValue{Kind: kind, Value: []byte(value)},
	}
}

func (iggy) message(t *testing.T, payload string, headers ...iggcon.HeaderEntry) iggcon.IggyMessage {
	t.Helper()
	m, err := iggcon.NewIggyMessage([]byte(payload), iggcon.WithUserHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (i iggy) send(t *testing.T, topic string, partition uint32, messages ...iggcon.IggyMessage) {
	t.Helper()
	if err := i.client.SendMessages(i.stream, identifier(t, topic), iggcon.PartitionId(partition), messages); err != nil {
		t.Fatal(err)
	}
}

// nativeMessage is what a native consumer sees; headers as name=value.
type nativeMessage struct {
	Offset          uint64
	OriginTimestamp uint64 // µs
	Payload         string
	Headers         []string
}

func (i iggy) poll(t *testing.T, topic string, partition uint32, most uint32) []nativeMessage {
	t.Helper()
	polled, err := i.client.PollMessages(i.stream, identifier(t, topic), iggcon.DefaultConsumer(), iggcon.OffsetPollingStrategy(0), most, false, &partition)
	if err != nil {
		t.Fatal(err)
	}
	var messages []nativeMessage
	for _, m := range polled.Messages {
		entries, err := iggcon.DeserializeHeaders(m.UserHeaders)
		if err != nil {
			t.Fatal(err)
		}
		seen := nativeMessage{Offset: m.Header.Offset, OriginTimestamp: m.Header.OriginTimestamp, Payload: string(m.Payload)}
		for _, e := range entries {
			seen.Headers = append(seen.Headers, fmt.Sprintf("%s=%s", e.Key.Value, e.Value.Value))
		}
		if tag := m.Header.Id[14:]; !bytes.Equal(tag, []byte("KR")) && !bytes.Equal(tag, []byte("KI")) {
			t.Errorf("message id %x does not end in a tag of the gateway's", m.Header.Id)
		}
		messages = append(messages, seen)
	}
	return messages
}
