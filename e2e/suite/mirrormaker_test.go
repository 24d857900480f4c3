// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testMirrorMaker copies a topic of a broker, its settings, and what groups have committed for it, with MirrorMaker 2. A consumer of
// such a group goes on at the copy where it had left the original.
func testMirrorMaker(t *testing.T, target *harness.Target) {
	mm := jvmProgram(t, "mirrormaker")
	kafka, err := harness.Kafka()
	if err != nil {
		missing(t, "java", err)
	}
	original := start(t, kafka, nil)
	defer func() {
		report(t, target, "MirrorMaker 2", mm.version(t, "connect-mirror"), "a topic, its settings, its growth and its groups' offsets from a broker, restart", !t.Failed())
	}()

	const partitions, n = 2, 100
	writer := clients.Franz{Addr: original.Kafka}
	topic := newTopic(t, writer, partitions)
	alterTopic(t, original.Kafka, topic, map[string]string{"segment.ms": "600001"})
	records := plainRecords(n)
	write := func() {
		for p := range partitions {
			to := clients.Destination{Topic: topic, Partition: p, Codec: "lz4", Acks: clients.AcksAll, BatchSize: 10}
			if _, err := writer.Produce(within(t, limit), to, records); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The offset of an original and its copy's are told apart by records that the copy does not get.
	write()
	if _, err := kadm.NewClient(franz(t, original.Kafka)).DeleteRecords(within(t, limit), deleteBefore(topic, map[int32]int64{0: 40, 1: 7})); err != nil {
		t.Fatal(err)
	}
	// Copied offset of original offset: 100 is 60 in partition 0 and 93 in partition 1.
	group := strings.ToLower(topic)
	commit := func(offsets map[int32]int64) {
		toolGroups{addr: original.Kafka, topic: topic}.commit(t, group, offsets)
	}
	commit(map[int32]int64{0: n, 1: n})

	properties := mirrorProperties(t, original.Kafka, target.Kafka, topic, group)
	copied := "original." + topic
	first := mm.start(t, "first", prints(""), properties)
	awaitCommitted(t, target.Kafka, group, copied, map[int32]int64{0: 60, 1: 93})
	write()
	expectCopies(t, target.Kafka, copied, map[int][]clients.Record{0: append(at(40, records[40:]), at(n, records)...), 1: append(at(7, records[7:]), at(n, records)...)})
	stop(t, first)

	write()
	commit(map[int32]int64{0: 3 * n, 1: 3 * n})
	second := mm.start(t, "second", prints(""), properties)
	awaitCommitted(t, target.Kafka, group, copied, map[int32]int64{0: 260, 1: 293})
	// What is set of the original, also while the program runs, is set of the copy, which grows as well.
	expectSetting(t, target.Kafka, copied, "segment.ms", "600001")
	alterTopic(t, original.Kafka, topic, map[string]string{"max.message.bytes": "1234567", "cleanup.policy": "compact,delete"})
	growTopic(t, original.Kafka, topic, partitions+1)
	expectSetting(t, target.Kafka, copied, "max.message.bytes", "1234567")
	expectSetting(t, target.Kafka, copied, "cleanup.policy", "compact,delete")
	expectPartitions(t, target.Kafka, copied, partitions+1)
	stop(t, second)
	t.Logf("copied %d records of %d partitions; the group goes on at their ends", 260+293, partitions)
}

func deleteBefore(topic string, offsets map[int32]int64) kadm.Offsets {
	var all kadm.Offsets
	for p, at := range offsets {
		all.AddOffset(topic, p, at, -1)
	}
	return all
}

// expectSetting waits until a topic's setting has a value, as who asks for all of them is told.
func expectSetting(t *testing.T, addr, topic, name, want string) {
	t.Helper()
	admin, got := kadm.NewClient(franz(t, addr)), ""
	if !await(t, func() bool {
		all, err := admin.DescribeTopicConfigs(within(t, limit), topic)
		if err != nil || all[0].Err != nil {
			t.Fatal(err, all)
		}
		for _, c := range all[0].Configs {
			if c.Key == name {
				got = c.MaybeValue()
			}
		}
		return got == want
	}) {
		t.Errorf("%s of %s is %q, want %q", name, topic, got, want)
	}
}

// alterTopic changes a topic's settings.
func alterTopic(t *testing.T, addr, topic string, settings map[string]string) {
	t.Helper()
	admin := kadm.NewClient(franz(t, addr))
	var changes []kadm.AlterConfig
	for name, value := range settings {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	altered, err := admin.AlterTopicConfigs(within(t, limit), changes, topic)
	if err != nil || altered[0].Err != nil {
		t.Fatal(err, altered)
	}
}

// growTopic gives a topic more partitions.
func growTopic(t *testing.T, addr, topic string, partitions int) {
	t.Helper()
	admin := kadm.NewClient(franz(t, addr))
	grown, err := admin.UpdatePartitions(within(t, limit), partitions, topic)
	if err != nil || grown[topic].Err != nil {
		t.Fatal(err, grown)
	}
}

// expectPartitions waits until a topic has as many partitions as it should.
func expectPartitions(t *testing.T, addr, topic string, want int) {
	t.Helper()
	admin, got := kadm.NewClient(franz(t, addr)), 0
	if !await(t, func() bool {
		topics, err := admin.ListTopics(within(t, limit), topic)
		if err != nil {
			t.Fatal(err)
		}
		got = len(topics[topic].Partitions)
		return got == want
	}) {
		t.Errorf("%s has %d partitions, want %d", topic, got, want)
	}
}

// mirrorProperties writes MirrorMaker's settings. ACLs are not copied: that takes CreateAcls at the copy.
func mirrorProperties(t *testing.T, from, to, topic, group string) string {
	t.Helper()
	settings := []string{
		"clusters=original,copy", "original.bootstrap.servers=" + from, "copy.bootstrap.servers=" + to,
		"original->copy.enabled=true", "original->copy.topics=" + topic, "original->copy.groups=" + group,
		"copy->original.enabled=false", "emit.heartbeats.enabled=false",
		"replication.factor=1", "checkpoints.topic.replication.factor=1", "offset-syncs.topic.replication.factor=1", "heartbeats.topic.replication.factor=1",
		"offset.storage.replication.factor=1", "status.storage.replication.factor=1", "config.storage.replication.factor=1",
		"offset.storage.partitions=2", "status.storage.partitions=2", "tasks.max=2",
		"refresh.topics.interval.seconds=2", "refresh.groups.interval.seconds=2", "emit.checkpoints.interval.seconds=1",
		"sync.group.offsets.enabled=true", "sync.group.offsets.interval.seconds=1", "offset.lag.max=0",
		"sync.topic.configs.interval.seconds=1", "sync.topic.acls.enabled=false",
		// A worker's settings are taken from those of the cluster that it writes to. Syncs of offsets that were held up are sent
		// when it flushes.
		"copy.offset.flush.interval.ms=500",
		"copy.session.timeout.ms=6000", "copy.heartbeat.interval.ms=500", "copy.scheduled.rebalance.max.delay.ms=0",
	}
	path := filepath.Join(t.TempDir(), "mirror.properties")
	if err := os.WriteFile(path, []byte(strings.Join(settings, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitCommitted waits until a group has committed what it should have.
func awaitCommitted(t *testing.T, addr, group, topic string, want map[int32]int64) {
	t.Helper()
	admin, got := kadm.NewClient(franz(t, addr)), map[int32]int64{}
	if !await(t, func() bool {
		got = committed(t, admin, group, topic)
		return maps.Equal(got, want)
	}) {
		t.Fatalf("%s has committed %v in %s, want %v", group, got, topic, want)
	}
}

// committed returns the offsets that a group has committed in a topic.
func committed(t *testing.T, admin *kadm.Client, group, topic string) map[int32]int64 {
	t.Helper()
	offsets, err := admin.FetchOffsets(within(t, limit), group)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic {
			found[o.Partition] = o.At
		}
	})
	return found
}

// expectCopies compares partitions with what was copied to them, offsets aside.
func expectCopies(t *testing.T, addr, topic string, want map[int][]clients.Record) {
	t.Helper()
	for partition, records := range want {
		got, err := clients.Franz{Addr: addr}.Consume(within(t, limit), topic, partition, 0, len(records))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range got {
			w := records[i]
			if r.Offset != int64(i) || r.Timestamp != w.Timestamp || !bytes.Equal(r.Key, w.Key) || !bytes.Equal(r.Value, w.Value) || len(r.Headers) != len(w.Headers) {
				t.Fatalf("%s, partition %d: record %d is %v, want %v", topic, partition, i, r, w)
			}
		}
	}
}
