// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestAutoCreate needs targets that create topics by name.
func TestAutoCreate(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			target := start(t, kind, build, "IGGY_KAFKA_AUTO_CREATE_TOPICS=true")
			if !autoCreates(t, target) {
				t.Skip("creates no topics by name")
			}
			each(t, target, []scenario{
				{"PB-22-auto-create-flag", testAutoCreateFlag},
				{"PB-22-clients-create", testClientsCreate},
				{"PB-23-created-twenty-times-at-once", testCreatedByMany},
				{"PB-45-session-cache-full", testSessionCacheFull},
			})
		})
	}
}

// autoCreates asks a broker for its setting; one that KAFKA_ADDR names may have another one than the tests want.
func autoCreates(t *testing.T, target *harness.Target) bool {
	t.Helper()
	if target.Iggy != nil {
		return true
	}
	configs, err := kadm.NewClient(franz(t, target.Kafka)).DescribeBrokerConfigs(within(t, limit), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range configs[0].Configs {
		if config.Key == "auto.create.topics.enable" {
			return config.MaybeValue() == "true"
		}
	}
	return false
}

// testAutoCreateFlag: before version 4 naming a topic creates it, then the flag decides, and asking for all never does.
func testAutoCreateFlag(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	code := func(version int16, name string, allow bool) int16 {
		t.Helper()
		req := metadataRequest(version, name)
		req.AllowAutoTopicCreation = allow
		return askRaw[*kmsg.MetadataResponse](t, conn, req).Topics[0].ErrorCode
	}
	exists := func(name string) bool { return code(4, name, false) != kerr.UnknownTopicOrPartition.Code }
	for _, test := range []struct {
		version int16
		allow   bool
		creates bool
	}{{0, false, true}, {1, false, true}, {3, false, true}, {4, false, false}, {4, true, true}, {13, false, false}, {13, true, true}} {
		name := topicName(t)
		first := code(test.version, name, test.allow)
		switch {
		case !test.creates:
			expectCode(t, first, kerr.UnknownTopicOrPartition)
		case first != 0 && first != kerr.LeaderNotAvailable.Code && target.Iggy != nil:
			t.Errorf("v%d: code %d for a topic that is being created", test.version, first)
		}
		if !await(t, func() bool { return exists(name) == test.creates }) {
			t.Errorf("v%d, allowed %t: the topic is there: %t", test.version, test.allow, !test.creates)
		}
	}
	all := kmsg.NewPtrMetadataRequest()
	all.Version, all.AllowAutoTopicCreation = 4, true
	if answer := askRaw[*kmsg.MetadataResponse](t, conn, all); slices.ContainsFunc(answer.Topics, func(told kmsg.MetadataResponseTopic) bool { return told.ErrorCode != 0 }) {
		t.Error("asking for all topics meets one that is none")
	}
	expectCode(t, code(4, "a b", true), kerr.InvalidTopicException)
}

// testClientsCreate: producers create what they write to, as their defaults have it, and those who look or read do not.
func testClientsCreate(t *testing.T, target *harness.Target) {
	exists := func(t *testing.T, name string) bool {
		t.Helper()
		topics, err := kadm.NewClient(franz(t, target.Kafka)).ListTopics(within(t, limit), name)
		if err != nil {
			t.Fatal(err)
		}
		return topics.Has(name)
	}
	for _, test := range []struct {
		name    string
		creates bool
		use     func(t *testing.T, topic string)
	}{
		{"sarama-writes", true, func(t *testing.T, topic string) {
			to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}
			var err error
			await(t, func() bool { // sarama tries a few times, but a broker takes a moment to know the topic
				_, err = clients.Sarama{Addr: target.Kafka}.Produce(within(t, limit), to, plainRecords(3))
				return err == nil || target.Iggy != nil
			})
			if err != nil {
				t.Error(err)
			}
		}},
		{"franz-go-writes", true, func(t *testing.T, topic string) {
			client := franz(t, target.Kafka, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(-1))
			if err := client.ProduceSync(within(t, limit), &kgo.Record{Topic: topic}).FirstErr(); err != nil {
				t.Error(err)
			}
		}},
		{"franz-go-may-not", false, func(t *testing.T, topic string) {
			client := franz(t, target.Kafka, kgo.UnknownTopicRetries(1))
			if err := client.ProduceSync(within(t, limit), &kgo.Record{Topic: topic}).FirstErr(); !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Errorf("writing to a topic that is not there: %v", err)
			}
		}},
		{"kcat-writes", true, func(t *testing.T, topic string) {
			requireTool(t, "kcat")
			(kcat{target.Kafka}).run(t, "a\nb\n", "-P", "-t", topic)
		}},
		{"kcat-reads", false, func(t *testing.T, topic string) {
			requireTool(t, "kcat")
			cmd := exec.CommandContext(within(t, limit), "kcat", "-b", target.Kafka, "-q", "-C", "-t", topic, "-p", "0", "-e")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "Unknown") {
				t.Errorf("reading a topic that is not there: %v\n%s", err, out)
			}
		}},
		{"java-writes", true, func(t *testing.T, topic string) {
			if !slowClients(target) {
				t.Skip("starts Java: run against a broker and one gateway")
			}
			javaTools(t, target).run(t, "a\nb\n", "ConsoleProducer", "--topic", topic)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			topic := topicName(t)
			if exists(t, topic) {
				t.Fatal("looking creates the topic")
			}
			test.use(t, topic)
			if exists(t, topic) != test.creates {
				t.Errorf("the topic is there: %t", !test.creates)
			}
		})
	}
}

// testCreatedByMany has twenty clients create the same topics at once, half of them by name. Whoever did not win is told
// so, or, by name, nothing, and uses the topic at once.
func testCreatedByMany(t *testing.T, target *harness.Target) {
	const clients, topics = 20, 5
	name := topicName(t)
	var all sync.WaitGroup
	for client := range clients {
		conn := dialRaw(t, target)
		all.Go(func() {
			for i := range topics {
				topic := fmt.Sprintf("%s-%d", name, i)
				if err := createSomehow(t.Context(), conn, topic, client%2 == 0); err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				useAtOnce(t, target, conn, topic)
			}
		})
	}
	all.Wait()
	conn := dialRaw(t, target)
	for i := range topics {
		list := listOffsetsRequest(7, fmt.Sprintf("%s-%d", name, i), -1, 0, -1)
		if p := askRaw[*kmsg.ListOffsetsResponse](t, conn, list).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Offset != clients {
			t.Errorf("topic %d: code %d, %d records, want %d: was it made twice?", i, p.ErrorCode, p.Offset, clients)
		}
	}
}
