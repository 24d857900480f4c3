// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testOffsetPitfalls is about where a partition begins and ends, and what is where by time.
func testOffsetPitfalls(t *testing.T, target *harness.Target) {
	each(t, target, []scenario{
		{"PB-50-by-timestamp", testByTimestamp},
		{"PB-50-special-timestamps", testSpecialTimestamps},
		{"PB-48-delete-records", testDeleteRecords},
	})
}

// testByTimestamp: the first record at or after a time, with its own timestamp.
func testByTimestamp(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 3, "retention.ms=-1")
	stamped := func(timestamps ...int64) []byte {
		var records []clients.Record
		for _, ms := range timestamps {
			records = append(records, clients.Record{Timestamp: ms, Value: []byte("v")})
		}
		return clients.AppendBatch(nil, clients.NewBatch(records...))
	}
	ask := func(partition int32, timestamps ...int64) {
		t.Helper()
		for _, ms := range timestamps {
			s.ask(fmt.Sprintf("time %d", ms), listOffsetsRequest(7, topic.name, ms, partition, -1))
		}
	}
	s.ask("2, 4, 6, 8", produceRequest(9, topic, 0, stamped(2, 4, 6, 8)))
	ask(0, 0, 1, 2, 3, 4, 7, 8, 9)
	s.ask("the same in four batches", produceRequest(9, topic, 1, stamped(2)))
	for _, ms := range []int64{4, 6, 8} {
		s.ask("on", produceRequest(9, topic, 1, stamped(ms)))
	}
	ask(1, 1, 2, 3, 8, 9)
	s.ask("going back: 7, 5, 9", produceRequest(9, topic, 1, stamped(7, 5, 9)))
	ask(1, 5, 7, 8, 9, 10)
	ask(2, 0, 5, -1, -2)
	for _, version := range []int16{1, 2, 4, 6, 10} {
		s.ask("time 3", listOffsetsRequest(version, topic.name, 3, 0, -1))
		s.ask("time 9", listOffsetsRequest(version, topic.name, 9, 0, -1))
	}
	s.ask("delete what is before 2", deleteRecordsRequest(2, topic.name, 0, 2))
	ask(0, 0, 3, 6, 7, 9, -2)
	s.ask("delete all", deleteRecordsRequest(2, topic.name, 0, -1))
	ask(0, 0, 8, -1, -2)
	s.compare("by-timestamp")
	testClientsByTimestamp(t, target, topic.name)
}

// testClientsByTimestamp asks for partition 1, which has the times 2, 4, 6, 8, 7, 5, 9, with clients.
func testClientsByTimestamp(t *testing.T, target *harness.Target, topic string) {
	admin := kadm.NewClient(franz(t, target.Kafka))
	config := sarama.NewConfig()
	config.Version = sarama.V3_0_0_0
	other, err := sarama.NewClient([]string{target.Kafka}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for ms, want := range map[int64]int64{1: 0, 3: 1, 8: 3, 9: 6} {
		listed, err := admin.ListOffsetsAfterMilli(within(t, limit), ms, topic)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := listed.Lookup(topic, 1); got.Offset != want {
			t.Errorf("franz-go finds %d at %d, want %d", got.Offset, ms, want)
		}
		if got, err := other.GetOffset(topic, 1, ms); err != nil || got != want {
			t.Errorf("sarama finds %d at %d (%v), want %d", got, ms, err, want)
		}
	}
	if slowClients(target) {
		out := javaTools(t, target).run(t, "", "GetOffsetShell", "--topic-partitions", topic+":1", "--time", "3")
		if want := topic + ":1:1\n"; out != want {
			t.Errorf("GetOffsetShell prints %q, want %q", out, want)
		}
	}
}

// testSpecialTimestamps asks for all that is below zero, with and without a meaning, at the versions where it has one.
func testSpecialTimestamps(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)...))))
	for _, version := range []int16{1, 6, 7, 8, 9, 10} {
		for timestamp := int64(-1); timestamp >= -6; timestamp-- {
			s.ask(fmt.Sprintf("timestamp %d", timestamp), listOffsetsRequest(version, topic.name, timestamp, 0, -1))
		}
	}
	for timestamp := int64(-1); timestamp >= -5; timestamp-- {
		s.ask(fmt.Sprintf("timestamp %d of an empty partition", timestamp), listOffsetsRequest(10, topic.name, timestamp, 1, -1))
	}
	s.ask("a partition that is not there", listOffsetsRequest(7, topic.name, -1, 9, -1))
	s.ask("a topic that is not there", listOffsetsRequest(7, "missing", -1, 0, -1))
	twice := listOffsetsRequest(7, topic.name, -1, 0, -1)
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, twice.Topics[0].Partitions[0], listOffsetsRequest(7, topic.name, -1, 1, -1).Topics[0].Partitions[0])
	s.ask("a partition twice, another once", twice)
	s.compare("special-timestamps")
}

// testDeleteRecords moves the begin of a partition (KIP-107), which all answers agree on.
func testDeleteRecords(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	compacted := s.create("compacted", 1, "cleanup.policy=compact")
	both := s.create("both", 1, "cleanup.policy=compact,delete")
	one := clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Key: []byte("k"), Value: []byte("v")}))
	for range 5 {
		s.ask("write", produceRequest(9, topic, 0, one))
	}
	remove := func(step string, partition int32, before int64) {
		t.Helper()
		s.ask(step, deleteRecordsRequest(2, topic.name, partition, before))
	}
	agree := func() {
		t.Helper()
		s.ask("earliest", listOffsetsRequest(7, topic.name, -2, 0, -1))
		s.ask("latest", listOffsetsRequest(7, topic.name, -1, 0, -1))
		s.ask("the oldest record by time", listOffsetsRequest(7, topic.name, 0, 0, -1))
		s.ask("the end", fetchRequest(11, fetchFrom{topic, 0, 5}))
		s.ask("the end of epoch 0", leaderEpochRequest(4, topic.name, 0, -1, 0))
	}
	agree()
	remove("up to 0: nothing", 0, 0)
	remove("up to 2", 0, 2)
	agree()
	s.ask("what is left", fetchRequest(11, fetchFrom{topic, 0, 2}))
	remove("up to 1: no change", 0, 1)
	remove("up to -2", 0, -2)
	remove("beyond the end", 0, 6)
	remove("of an empty partition", 1, -1)
	remove("of an empty partition, beyond its end", 1, 1)
	remove("a partition that is not there", 9, 0)
	s.ask("a topic that is not there", deleteRecordsRequest(2, "missing", 0, 0))
	s.ask("v0", deleteRecordsRequest(0, topic.name, 0, 3))
	s.ask("v1", deleteRecordsRequest(1, topic.name, 0, 4))
	agree()
	remove("up to the end", 0, -1)
	agree()
	s.ask("write", produceRequest(9, topic, 0, one))
	s.ask("what was written", fetchRequest(11, fetchFrom{topic, 0, 5}))
	s.ask("write where records are compacted", produceRequest(9, compacted, 0, one))
	s.ask("of a topic whose records are compacted", deleteRecordsRequest(2, compacted.name, 0, 1))
	s.ask("write where they are also deleted", produceRequest(9, both, 0, one))
	s.ask("of a topic whose records are also deleted", deleteRecordsRequest(2, both.name, 0, 1))
	s.compare("delete-records")
	testClientsDeleteRecords(t, target)
}

// testClientsDeleteRecords: what is left is all that clients read from the begin on.
func testClientsDeleteRecords(t *testing.T, target *harness.Target) {
	by := clients.Franz{Addr: target.Kafka}
	topic := newTopic(t, by, 1)
	records := plainRecords(10)
	produce(t, by, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, records, 0)
	var before kadm.Offsets
	before.AddOffset(topic, 0, 3, -1)
	deleted, err := kadm.NewClient(franz(t, target.Kafka)).DeleteRecords(within(t, limit), before)
	if got, _ := deleted.Lookup(topic, 0); err != nil || got.Err != nil || got.LowWatermark != 3 {
		t.Errorf("franz-go deletes up to %d: %v, %v", got.LowWatermark, got.Err, err)
	}
	admin, err := sarama.NewClusterAdmin([]string{target.Kafka}, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.DeleteRecords(topic, map[int32]int64{0: 5}); err != nil {
		t.Errorf("sarama deletes: %v", err)
	}
	client := franz(t, target.Kafka, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ConsumeTopics(topic))
	if fetches := client.PollFetches(within(t, limit)); fetches.Err() != nil || fetches.Records()[0].Offset != 5 {
		t.Errorf("franz-go reads from %d: %v", fetches.Records()[0].Offset, fetches.Err())
	}
	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		out := (kcat{target.Kafka}).run(t, "", "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-J")
		if diff := cmp.Diff(at(0, records)[5:], parseKcat(t, out), wholeBytes()); diff != "" {
			t.Errorf("kcat reads otherwise than left (-left +read):\n%s", diff)
		}
	})
}
