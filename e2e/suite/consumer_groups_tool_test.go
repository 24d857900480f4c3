// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// update rewrites golden files with what a broker answers; it has an effect where one is among the targets.
var update = flag.Bool("update", false, "rewrite golden files from the broker that is compared with")

// testConsumerGroupsTool takes Kafka's tool for groups, kafka-consumer-groups, through its commands, and compares what
// it prints with what it prints when it is asked to do the same to a broker.
func testConsumerGroupsTool(t *testing.T, target *harness.Target) {
	if !slowClients(target) {
		t.Skip("starts Java: run against a broker and one gateway")
	}
	client := jvmProgram(t, "java-client")
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, 3)
	for partition, n := range []int{10, 5} { // and none in the third
		to := clients.Destination{Topic: topic, Partition: partition, Codec: "none", Acks: clients.AcksAll}
		produce(t, clients.Franz{Addr: target.Kafka}, to, plainRecords(n), 0)
	}
	prefix := strings.ToLower(topicName(t)) + "-"
	file := filepath.Join(t.TempDir(), "offsets.csv")
	names := []string{"TOPIC", topic, "FILE", file}
	for _, group := range []string{"LIVE", "LEFT", "SIMPLE", "MISSING"} {
		names = append(names, group, prefix+strings.ToLower(group))
	}
	name := strings.NewReplacer(names...)

	g := toolGroups{addr: target.Kafka, topic: topic}
	// Two static members with some lag, a group that its member has left, and one that never had a member.
	g.commit(t, name.Replace("LIVE"), map[int32]int64{0: 7, 1: 5})
	g.join(t, name.Replace("LIVE"), 1, kgo.InstanceID("instance-a"))
	g.join(t, name.Replace("LIVE"), 2, kgo.InstanceID("instance-b"))
	g.commit(t, name.Replace("LEFT"), map[int32]int64{0: 10, 1: 1})
	g.join(t, name.Replace("LEFT"), 1).Close()
	g.commit(t, name.Replace("SIMPLE"), map[int32]int64{0: 3})

	if err := os.WriteFile(file, []byte(topic+",0,6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commands, err := os.ReadFile("testdata/consumer-groups/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	const tool = "consumer.group.ConsumerGroupCommand --bootstrap-server "
	var input, got strings.Builder
	for command := range strings.Lines(string(commands)) {
		fmt.Fprint(&input, tool, target.Kafka, " ", name.Replace(command))
	}
	printed := commandBlocks(client.run(t, input.String(), "Tools"))
	for i, command := range slices.Collect(strings.Lines(string(commands))) {
		fmt.Fprintf(&got, "$ %s", command)
		_, out, _ := strings.Cut(printed[i].text, "\n")
		for _, line := range toolOutput(out, prefix, names) {
			fmt.Fprintln(&got, line)
		}
		fmt.Fprintln(&got)
	}
	golden(t, target, "testdata/consumer-groups/printed.txt", got.String())
	report(t, target, "kafka-consumer-groups", client.version(t, "kafka-tools"), "list, describe, reset-offsets, delete-offsets, delete", !t.Failed())
}

// toolGroups makes the groups that the tool is run on.
type toolGroups struct{ addr, topic string }

func (g toolGroups) commit(t *testing.T, group string, offsets map[int32]int64) {
	t.Helper()
	var all kadm.Offsets
	for p, at := range offsets {
		all.AddOffset(g.topic, p, at, -1)
	}
	if err := kadm.NewClient(franz(t, g.addr)).CommitAllOffsets(within(t, limit), group, all); err != nil {
		t.Fatal(err)
	}
}

// join adds a member, which makes n with those that are there; it commits nothing.
func (g toolGroups) join(t *testing.T, group string, n int, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	member := franz(t, g.addr, append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(g.topic), kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(), kgo.HeartbeatInterval(100 * time.Millisecond),
	}, opts...)...)
	admin := kadm.NewClient(franz(t, g.addr))
	if !await(t, func() bool {
		described, err := admin.DescribeGroups(within(t, limit), group)
		return err == nil && described[group].State == "Stable" && len(described[group].Members) == n
	}) {
		t.Fatalf("%s does not come to have %d members", group, n)
	}
	return member
}

// toolOutput replaces what differs from run to run in the output of the tool: names, member ids, the broker, and with
// them the width of columns and the order of rows. Groups of other tests are left out.
func toolOutput(out, prefix string, names []string) []string {
	var byValue []string
	for i := 0; i < len(names); i += 2 {
		byValue = append(byValue, names[i+1], names[i])
	}
	replace := strings.NewReplacer(byValue...)
	memberID := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	broker := regexp.MustCompile(`127\.0\.0\.1:\d+ +\(\d+\)`)
	listed := regexp.MustCompile(`^\S+( +(Stable|Empty|Classic|Consumer))*$`) // a line of --list
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" || listed.MatchString(line) && !strings.HasPrefix(line, "GROUP ") && !strings.HasPrefix(line, prefix) && !strings.HasPrefix(line, `"`) {
			continue
		}
		line = broker.ReplaceAllString(memberID.ReplaceAllString(replace.Replace(line), "UUID"), "BROKER")
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	rows := lines
	if len(lines) > 0 && strings.Contains(lines[0], " ") { // a heading
		rows = lines[1:]
	}
	slices.Sort(rows)
	return lines
}

// golden compares a text with a file, which holds what a broker's is.
func golden(t *testing.T, target *harness.Target, path, got string) {
	t.Helper()
	want := kept(t, target, path, got)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// kept is a golden file, which is rewritten first if that is asked for.
func kept(t *testing.T, target *harness.Target, path, got string) string {
	t.Helper()
	if *update && target.Name == "kafka" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}
