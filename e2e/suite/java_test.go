// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testJava drives those of Kafka's own tools that write and read, and with them the clients that Kafka itself is released
// with.
func testJava(t *testing.T, target *harness.Target) {
	j := javaTools(t, target)
	t.Run("topics", j.testTopics)
	t.Run("produce", j.testProduce)
	t.Run("consume", j.testConsume)
	t.Run("idempotent", j.testIdempotent)
	if slowClients(target) {
		t.Run("group", j.testGroup)
	}
}

// java runs the tools against one broker.
type java struct{ addr string }

// javaTools fetches the tools if they are not there.
func javaTools(t *testing.T, target *harness.Target) java {
	t.Helper()
	requireTool(t, "java")
	if _, err := exec.LookPath("mvn"); err != nil {
		missing(t, "java", err)
	}
	j := java{target.Kafka}
	if out, err := j.command(t).CombinedOutput(); err != nil {
		missing(t, "java", fmt.Errorf("fetching Kafka's tools: %w\n%s", err, out))
	}
	return j
}

// javaVersion is that of Kafka's tools and of the clients in them.
func javaVersion(t *testing.T) string {
	t.Helper()
	project, err := os.ReadFile("../clients/java/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`<artifactId>kafka-tools</artifactId>\s*<version>(.*)</version>`).FindSubmatch(project)
	if found == nil {
		t.Fatal("pom.xml does not name the version of kafka-tools")
	}
	return string(found[1])
}

func (j java) command(t *testing.T, args ...string) *exec.Cmd {
	return exec.CommandContext(within(t, 5*limit), filepath.Join("..", "clients", "java", "tool"), args...)
}

// try runs a tool; the error has what it wrote besides its output.
func (j java) try(t *testing.T, stdin, tool string, args ...string) (string, error) {
	t.Helper()
	cmd := j.command(t, append([]string{tool, "--bootstrap-server", j.addr}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", tool, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func (j java) run(t *testing.T, stdin, tool string, args ...string) string {
	t.Helper()
	out, err := j.try(t, stdin, tool, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (j java) testTopics(t *testing.T) {
	topic := topicName(t)
	j.run(t, "", "TopicCommand", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1")
	if out, err := j.try(t, "", "TopicCommand", "--create", "--topic", topic); err == nil || !strings.Contains(out, "already exists") {
		t.Errorf("the topic is created again: %v, %s", err, out)
	}
	if out := j.run(t, "", "TopicCommand", "--list"); !strings.Contains(out, topic+"\n") {
		t.Errorf("%s is not among the topics:\n%s", topic, out)
	}
	records := plainRecords(1)
	produce(t, clients.Franz{Addr: j.addr}, clients.Destination{Topic: topic, Partition: 2, Codec: "none", Acks: clients.AcksAll}, records, 0)
	j.run(t, "", "TopicCommand", "--delete", "--topic", topic)
	if out, err := j.try(t, "", "TopicCommand", "--delete", "--topic", topic); err == nil || !strings.Contains(out, "does not exist") {
		t.Errorf("the topic is deleted again: %v, %s", err, out)
	}
}

// testProduce writes with every codec: keys, headers with a name that repeats, tombstones.
func (j java) testProduce(t *testing.T) {
	for _, codec := range clients.Codecs() {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			reader := clients.Franz{Addr: j.addr}
			topic := newTopic(t, reader, 1)
			var lines strings.Builder
			var want []clients.Record
			for i := range 200 {
				r := clients.Record{
					Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte("v"), i),
					Headers: []clients.Header{{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte("2")}, {Name: "a", Value: []byte("3")}},
				}
				text := string(r.Value)
				if i%10 == 3 {
					r.Value, text = nil, "NULL"
				}
				fmt.Fprintf(&lines, "a:1,b:2,a:3\t%s\t%s\n", r.Key, text)
				want = append(want, r)
			}
			j.run(t, lines.String(), "ConsoleProducer", "--topic", topic, "--compression-codec", codec, "--timeout", "5",
				"--property", "parse.headers=true", "--property", "parse.key=true", "--property", "null.marker=NULL")
			expectReadTimesAside(t, reader, topic, at(0, want))
		})
	}
}

// testConsume reads what another client wrote with every codec, from the beginning, and from the middle of a batch.
func (j java) testConsume(t *testing.T) {
	writer := clients.Franz{Addr: j.addr}
	topic := newTopic(t, writer, 1)
	records := plainRecords(500)
	for i, codec := range clients.Codecs() {
		to := clients.Destination{Topic: topic, Codec: codec, Acks: clients.AcksAll}
		produce(t, writer, to, records[100*i:100*(i+1)], int64(100*i))
	}
	for name, from := range map[string]int{"earliest": 0, "250": 250} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want strings.Builder
			for _, r := range at(0, records)[from:] {
				fmt.Fprintf(&want, "CreateTime:%d\tOffset:%d\t%s\t%s\t%s\n", r.Timestamp, r.Offset, printedHeaders(r), printed(r.Key), printed(r.Value))
			}
			got := j.run(t, "", "consumer.ConsoleConsumer", "--topic", topic, "--partition", "0", "--offset", name,
				"--max-messages", fmt.Sprint(len(records)-from), "--timeout-ms", "20000",
				"--property", "print.timestamp=true", "--property", "print.offset=true", "--property", "print.headers=true", "--property", "print.key=true")
			if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

// printed and printedHeaders are ConsoleConsumer's forms.
func printed(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}

func printedHeaders(r clients.Record) string {
	if len(r.Headers) == 0 {
		return "NO_HEADERS"
	}
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Name+":"+printed(h.Value))
	}
	return strings.Join(headers, ",")
}

// testIdempotent runs a producer with the defaults of Kafka's client, which number the batches, five under way at once.
func (j java) testIdempotent(t *testing.T) {
	const n = 5000
	reader := clients.Franz{Addr: j.addr}
	topic := newTopic(t, reader, 1)
	lines := strings.Split(strings.TrimSpace(j.run(t, "", "VerifiableProducer", "--topic", topic, "--max-messages", fmt.Sprint(n))), "\n")
	var summary struct{ Sent, Acked int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary.Sent != n || summary.Acked != n {
		t.Errorf("the producer ends with %s (%v), want %d sent and acked", lines[len(lines)-1], err, n)
	}
	got, err := reader.Consume(within(t, limit), topic, 0, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if string(r.Value) != fmt.Sprint(i) {
			t.Fatalf("record %d is %q", i, r.Value)
		}
	}
}

// testGroup reads half of a topic as a group's only member, and the rest as its next one.
func (j java) testGroup(t *testing.T) {
	writer := clients.Franz{Addr: j.addr}
	topic := newTopic(t, writer, 1)
	records := plainRecords(20)
	produce(t, writer, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, records, 0)
	for first := 0; first < len(records); first += 10 {
		var want strings.Builder
		for _, r := range records[first : first+10] {
			fmt.Fprintln(&want, printed(r.Value))
		}
		got := j.run(t, "", "consumer.ConsoleConsumer", "--topic", topic, "--group", topic, "--from-beginning", "--max-messages", "10", "--timeout-ms", "20000")
		if got != want.String() {
			t.Errorf("the group reads from %d on\n%s\nwant\n%s", first, got, want.String())
		}
	}
}
