// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testAdminPitfalls is about making and changing topics, and what is told of them.
func testAdminPitfalls(t *testing.T, target *harness.Target) {
	each(t, target, []scenario{
		{"PB-69-defaults-of-new-topics", testNewTopicDefaults},
		{"PB-70-success-with-a-message", testSuccessWithMessage},
		{"PB-72-alter-resets-incremental-does-not", testAlterResets},
	})
}

// testNewTopicDefaults: -1 partitions and replicas are the broker's own numbers, which version 5 tells; what is asked for twice in a
// request is not made, and answered once; validation makes nothing.
func testNewTopicDefaults(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	create := func(version int16, validate bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
		t.Helper()
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.ValidateOnly, req.Topics, req.TimeoutMillis = version, validate, topics, 10_000
		return askRaw[*kmsg.CreateTopicsResponse](t, conn, req).Topics
	}
	partitions := func(topic string) (n int) {
		t.Helper()
		found := askRaw[*kmsg.MetadataResponse](t, conn, metadataRequest(9, topic)).Topics[0]
		return len(found.Partitions)
	}
	ofNumber := func(name string, partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
		topic := newTopicRequest(name, partitions, nil)
		topic.ReplicationFactor = replicas
		return topic
	}
	for _, version := range []int16{4, 5, 7} {
		name := topicName(t)
		told := create(version, false, ofNumber(name, -1, -1))
		if len(told) != 1 || told[0].ErrorCode != 0 {
			t.Fatalf("version %d: %+v", version, told)
		}
		if !await(t, func() bool { return partitions(name) > 0 }) {
			t.Fatalf("version %d: the topic is not there", version)
		}
		if n := partitions(name); version >= 5 && (told[0].NumPartitions != int32(n) || told[0].ReplicationFactor != 1) {
			t.Errorf("version %d tells %d partitions and %d replicas, there are %d and 1", version, told[0].NumPartitions, told[0].ReplicationFactor, n)
		}
	}
	validated := topicName(t)
	if told := create(5, true, ofNumber(validated, 3, 1)); told[0].ErrorCode != 0 || told[0].NumPartitions != 3 {
		t.Errorf("validated: %+v", told)
	}
	twice, once := topicName(t), topicName(t)
	told := create(5, false, ofNumber(twice, 1, 1), ofNumber(once, 1, 1), ofNumber(twice, 2, 1))
	codes := map[string]int16{}
	for _, answer := range told {
		codes[answer.Topic] = answer.ErrorCode
	}
	if len(told) != 2 || codes[twice] != kerr.InvalidRequest.Code || codes[once] != 0 {
		t.Errorf("a name twice is answered %+v, want that once with %d", told, kerr.InvalidRequest.Code)
	}
	if !await(t, func() bool { return partitions(once) == 1 }) {
		t.Errorf("%s is not there", once)
	}
	for _, name := range []string{validated, twice} {
		if n := partitions(name); n != 0 {
			t.Errorf("%s has %d partitions, and should not be there", name, n)
		}
	}
	want := int16(0) // replication is Iggy's
	if target.Name == "kafka" {
		want = kerr.InvalidReplicationFactor.Code
	}
	if told := create(5, false, ofNumber(topicName(t), 1, 3)); told[0].ErrorCode != want {
		t.Errorf("three replicas are answered %+v, want code %d", told, want)
	}
}

// testSuccessWithMessage: texts beside success are what makes Sarama report that "no error" is one.
func testSuccessWithMessage(t *testing.T, target *harness.Target) {
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, 1)
	meta, err := kadm.NewClient(franz(t, target.Kafka)).BrokerMetadata(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []sarama.KafkaVersion{sarama.V0_11_0_0, sarama.V1_1_0_0, sarama.V2_8_0_0, sarama.MaxVersion} {
		t.Run(version.String(), func(t *testing.T) {
			config := sarama.NewConfig()
			config.Version = version
			admin, err := sarama.NewClusterAdmin([]string{target.Kafka}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			for _, resource := range []*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic}, {Type: sarama.BrokerResource, Name: fmt.Sprint(meta.Controller)}} {
				found, err := admin.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
				switch {
				case version == sarama.V0_11_0_0: // it knows version 0 alone, which Kafka 4 has not any more
					if err == nil {
						t.Errorf("%s is described in version 0", resource.Name)
					}
				case err != nil:
					t.Errorf("%s: %v", resource.Name, err)
				case found[0].ErrorCode != sarama.ErrNoError || found[0].ErrorMsg != "" || len(found[0].Configs) == 0:
					t.Errorf("%s: %d settings, code %d, message %q", resource.Name, len(found[0].Configs), found[0].ErrorCode, found[0].ErrorMsg)
				}
			}
		})
	}
}

// testAlterResets: AlterConfigs takes all settings away that it does not name, IncrementalAlterConfigs none; it adds to
// lists, and takes from them.
func testAlterResets(t *testing.T, target *harness.Target) {
	client, admin := clients.Franz{Addr: target.Kafka}, kadm.NewClient(franz(t, target.Kafka))
	topic := newTopic(t, client, 1)
	const retention, size, policy = "retention.ms", "max.message.bytes", "cleanup.policy"
	check := func(err error, want map[string]string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := expectSettings(t, client, topic, want); err != nil {
			t.Fatal(err)
		}
	}
	ctx := within(t, 3*limit)
	check(client.AlterSettings(ctx, topic, map[string]string{retention: "3600000", size: "2000000"}), map[string]string{retention: "3600000", size: "2000000"})
	check(client.AlterSettings(ctx, topic, map[string]string{retention: "7200000"}), map[string]string{retention: "7200000", size: "2000000"})
	check(client.ReplaceSettings(ctx, topic, map[string]string{retention: "1800000"}), map[string]string{retention: "1800000", size: "1048588"})
	for _, step := range []struct {
		op    kadm.IncrementalOp
		name  string
		value *string
		want  string
	}{
		{kadm.AppendConfig, policy, named("compact"), "delete,compact"},
		{kadm.AppendConfig, policy, named("compact"), "delete,compact"},
		{kadm.SubtractConfig, policy, named("delete"), "compact"},
		{kadm.SubtractConfig, policy, named("delete"), "compact"},
		{kadm.DeleteConfig, policy, nil, "delete"},
	} {
		altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: step.op, Name: step.name, Value: step.value}}, topic)
		if err == nil {
			err = altered[0].Err
		}
		check(err, map[string]string{policy: step.want, retention: "1800000"})
	}
	// What is no list has nothing to add to.
	altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.AppendConfig, Name: retention, Value: named("1")}}, topic)
	if err != nil {
		t.Fatal(err)
	}
	if refused := []error{kerr.InvalidConfig, kerr.InvalidRequest}; !slices.Contains(refused, altered[0].Err) {
		t.Errorf("appended to %s: %v, want one of %v", retention, altered[0].Err, refused)
	}
	check(nil, map[string]string{policy: "delete", retention: "1800000", size: "1048588"})
}
