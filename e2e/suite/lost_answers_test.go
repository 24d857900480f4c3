// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testLostAnswers has idempotent producers lose their connections over and over, before a batch is written or after, when
// they do not know of it. They send again, and every record is there once and in order (KIP-98).
func testLostAnswers(t *testing.T, target *harness.Target) {
	for _, writer := range []clients.Client{clients.Franz{}, clients.Sarama{}} {
		t.Run(writer.Name(), func(t *testing.T) {
			t.Parallel()
			lossy, topic := newLossy(t, target), newTopic(t, clients.Franz{Addr: target.Kafka}, 1)
			records := plainRecords(400)
			to := clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll, Idempotent: true, BatchSize: 20}
			produce(t, map[string]clients.Client{
				"franz-go": clients.Franz{Addr: lossy.Addr()}, "sarama": clients.Sarama{Addr: lossy.Addr()},
			}[writer.Name()], to, records, 0)
			expectRead(t, clients.Franz{Addr: target.Kafka}, topic, 0, at(0, records))
		})
	}
	for _, p := range lineProducers(target) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.prepare(t)
			lossy, topic := newLossy(t, target), newTopic(t, clients.Franz{Addr: target.Kafka}, 1)
			var lines []string
			for i := range 400 {
				lines = append(lines, fmt.Sprintf("line %d of a producer that loses its connection", i))
			}
			cmd := p.command(t, lossy.Addr(), topic)
			cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			expectLines(t, target, topic, lines)
		})
	}
}

// newLossy is a proxy that loses every fourth batch on its way, and the answer to another fourth. When the test is over
// it must have done so, to a producer that numbers its batches.
func newLossy(t *testing.T, target *harness.Target) *clients.Proxy {
	t.Helper()
	lossy, err := clients.StartProxy(target.Kafka, func(key int16, n int) clients.Fate {
		switch {
		case key == kmsg.Produce.Int16() && n%4 == 2:
			return clients.LoseAnswer
		case key == kmsg.Produce.Int16() && n%4 == 0:
			return clients.LoseSent
		default:
			return clients.Pass
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lossy.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%d of %d batches or their answers were lost", lossy.Lost(), lossy.Seen(kmsg.Produce.Int16()))
		if lossy.Lost() < 3 || lossy.Seen(kmsg.InitProducerID.Int16()) == 0 {
			t.Errorf("%d requests were lost, %d producer ids asked for: nothing is tested", lossy.Lost(), lossy.Seen(kmsg.InitProducerID.Int16()))
		}
	})
	return lossy
}

// lineProducer is a program that writes the lines of its standard input, in batches of a few, as an idempotent producer.
type lineProducer struct {
	name    string
	prepare func(t *testing.T)
	command func(t *testing.T, broker, topic string) *exec.Cmd
}

func lineProducers(target *harness.Target) []lineProducer {
	producers := []lineProducer{{
		"kcat", func(t *testing.T) { requireTool(t, "kcat") },
		func(t *testing.T, broker, topic string) *exec.Cmd {
			return exec.CommandContext(within(t, limit), "kcat", "-b", broker, "-q", "-E", "-P", "-t", topic, "-p", "0",
				"-X", "enable.idempotence=true", "-X", "batch.num.messages=20",
				"-X", "retry.backoff.ms=20", "-X", "reconnect.backoff.ms=20", "-X", "reconnect.backoff.max.ms=20")
		},
	}}
	if !slowClients(target) {
		return producers
	}
	// Kafka's own client numbers its batches by default. Its batches are bound by bytes alone.
	producers = append(producers, lineProducer{
		"java", func(t *testing.T) { javaTools(t, target) },
		func(t *testing.T, broker, topic string) *exec.Cmd {
			return java{broker}.command(t, "ConsoleProducer", "--bootstrap-server", broker, "--topic", topic, "--timeout", "0",
				"--message-send-max-retries", "1000", "--retry-backoff-ms", "20",
				"--producer-property", "batch.size=1200", "--producer-property", "linger.ms=5",
				"--producer-property", "reconnect.backoff.ms=20", "--producer-property", "reconnect.backoff.max.ms=20")
		},
	})
	for _, script := range []struct{ name, run, tool, client string }{
		{"confluent-kafka", "python/member", "python3", "librdkafka"},
		{"kafka-python", "python/member", "python3", "kafka_python"},
		{"aiokafka", "python/member", "python3", "aio_kafka"},
		{"kafkajs", "node/producer", "node", ""},
	} {
		run := filepath.Join(clientsFolder, script.run)
		producers = append(producers, lineProducer{
			script.name,
			func(t *testing.T) {
				requireTool(t, script.tool)
				if out, err := exec.CommandContext(within(t, 10*limit), run).CombinedOutput(); err != nil {
					missing(t, script.tool, fmt.Errorf("fetching %s: %w\n%s", script.name, err, out))
				}
			},
			func(t *testing.T, broker, topic string) *exec.Cmd {
				config, err := json.Marshal(map[string]string{"client": script.client, "broker": broker, "topic": topic})
				if err != nil {
					t.Fatal(err)
				}
				args := []string{string(config)}
				if script.client != "" {
					args = []string{"producer", string(config)}
				}
				return exec.CommandContext(within(t, 3*limit), run, args...)
			},
		})
	}
	return producers
}

// expectLines reads a topic's values, and that there is nothing after them.
func expectLines(t *testing.T, target *harness.Target, topic string, want []string) {
	t.Helper()
	end := askRaw[*kmsg.ListOffsetsResponse](t, dialRaw(t, target), listOffsetsRequest(7, topic, -1, 0, -1)).Topics[0].Partitions[0].Offset
	records, err := clients.Franz{Addr: target.Kafka}.Consume(within(t, limit), topic, 0, 0, int(end))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, string(r.Value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read otherwise than written (-written +read):\n%s", diff)
	}
}
