// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const toolsExercised = "topics, configs of topics, brokers, clients, users, groups, console, offsets, delete-records, log-dirs, performance, " +
	"cluster, features, broker-api-versions, groups, streams reset, transactions, leader election, reassignments, client metrics"

// testTools takes Kafka's command-line tools through what each is there for, and compares what they print. Those for
// consumer groups have a test of their own.
func testTools(t *testing.T, target *harness.Target) {
	client := jvmProgram(t, "java-client")
	defer func() {
		report(t, target, "Kafka's command-line tools", client.version(t, "kafka-tools"), toolsExercised, !t.Failed())
	}()
	topic, dir := topicName(t), t.TempDir()
	group := topic + "-group"
	names := []string{"GROUP", group, "TOPIC", topic, "ADDR", target.Kafka}
	for name, text := range map[string]string{
		"EMPTY":          "",
		"FIRST-RECORD":   fmt.Sprintf(`{"partitions":[{"topic":%q,"partition":0,"offset":1}],"version":1}`, topic),
		"BEYOND-THE-END": fmt.Sprintf(`{"partitions":[{"topic":%q,"partition":0,"offset":99}]}`, topic),
		"SETTINGS":       "retention.bytes=2147483648\ndelete.retention.ms=1000\n",
		"TO-MOVE":        fmt.Sprintf(`{"topics":[{"topic":%q}],"version":1}`, topic),
	} {
		path := filepath.Join(dir, strings.ToLower(name))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name, path)
	}
	input, err := os.ReadFile("testdata/tools/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	printed := client.run(t, strings.NewReplacer(names...).Replace(string(input)), "Tools")
	expectBlocks(t, target, "testdata/tools/printed", toolsPrinted(printed, names), commandBlocks)
}

// toolsPrinted replaces what differs from run to run in the output of tools. Groups of other tests are left out.
func toolsPrinted(out string, names []string) string {
	var byValue []string
	for i := 0; i < len(names); i += 2 {
		byValue = append(byValue, names[i+1], names[i])
	}
	replace := strings.NewReplacer(byValue...)
	trace := regexp.MustCompile(`^(at |Caused by: |java\.)`)
	listed := regexp.MustCompile(`^(\S+ )?(Classic|Consumer)( |$)|^\S+ \d+ \d+ [A-Z]\w+$`) // a line of GroupsCommand, of TransactionsCommand
	api := regexp.MustCompile(`^\w+\(\d+\): |^\)$`)                                        // a line of BrokerApiVersionsCommand: the table of APIs says it
	varying := []struct {
		pattern *regexp.Regexp
		by      string
	}{
		{regexp.MustCompile(`(TopicId: |Cluster ID: )[\w-]{22}`), "${1}ID"},
		{regexp.MustCompile(`^\d+ 127\.0\.0\.1 \d+`), "NODE HOST PORT"},
		{regexp.MustCompile(`(\(id: |Leader: |Replicas: |Isr: |from brokers )\d+`), "${1}NODE"},
		{regexp.MustCompile(`(records sent), .*`), "$1, at some rate"},
		{regexp.MustCompile(`^\d{4}-\d\d-\d\d [^A-Za-z]*$`), "so many records, at some rate"},
		{regexp.MustCompile(`^0 [\d.]+$`), "FIRST"},
		{regexp.MustCompile(`(latency: |th = )[\d.]+`), "${1}SOME"},
		{regexp.MustCompile(`Configs: .*(max\.message\.bytes=\d+).*`), "Configs: $1 and others"}, // a broker's own are among them
		{regexp.MustCompile(`^\d+ (\d+ -1) \d+ \d+ `), "PRODUCER $1 SEQUENCE TIME "},             // in no order
		{regexp.MustCompile(`, STATIC_BROKER_CONFIG:[^,}]*`), ""},                                // a broker's own
		{regexp.MustCompile(`"size":\d+`), `"size":SIZE`},
		{regexp.MustCompile(`"logDir":"[^"]*"`), `"logDir":"DIRECTORY"`},
		{regexp.MustCompile(`(Epoch: )\d+`), "${1}NUMBER"},
	}
	var text strings.Builder
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(replace.Replace(line)), " ")
		if trace.MatchString(line) || api.MatchString(line) || listed.MatchString(line) && !strings.HasPrefix(line, "GROUP ") {
			continue
		}
		for _, v := range varying {
			line = v.pattern.ReplaceAllString(line, v.by)
		}
		fmt.Fprintln(&text, line)
	}
	return text.String()
}
