// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testConnectStandalone takes the lines of a file through a topic into another file, also those that are added while the
// worker does not run.
func testConnectStandalone(t *testing.T, target *harness.Target) {
	c := newConnect(t, target)
	defer func() {
		report(t, target, "Kafka Connect, standalone", c.version(t, "connect-runtime"), "file source and sink, topic made by the source, restart", !t.Failed())
	}()
	worker := c.properties(t, "worker", "offset.storage.file.filename="+filepath.Join(c.dir, "offsets"))
	source := c.properties(t, "source", "name=source", c.sourceConfig())
	sink := c.properties(t, "sink", "name="+c.topic, c.sinkConfig())

	c.add(t, 100)
	first := c.start(t, "first", c.answers, "standalone", worker, source, sink)
	c.awaitCopy(t, 1)
	c.add(t, 100)
	c.awaitCopy(t, 1)
	stop(t, first)
	c.add(t, 100)
	second := c.start(t, "second", c.answers, "standalone", worker, source, sink)
	c.awaitCopy(t, 1)
	stop(t, second)
}

// testConnectDistributed does the same with a worker that keeps what it knows in topics and is told of its connectors by
// REST. The sink's offsets are removed, and it copies all once more. Then another worker joins, and is the only one that is
// left when the first is killed.
func testConnectDistributed(t *testing.T, target *harness.Target) {
	c := newConnect(t, target)
	defer func() {
		report(t, target, "Kafka Connect, distributed", c.version(t, "connect-runtime"),
			"file source and sink made by REST, restart, offsets told and reset, two workers, one killed", !t.Failed())
	}()
	worker := c.distributed(t, "worker")
	c.add(t, 100)
	first := c.start(t, "first", c.answers, "distributed", worker)
	c.put(t, "source", c.sourceConfig())
	c.put(t, c.topic, c.sinkConfig())
	c.awaitCopy(t, 1)
	stop(t, first)
	c.add(t, 100)
	second := c.start(t, "second", c.answers, "distributed", worker)
	c.awaitCopy(t, 1)
	c.awaitOffsets(t, "source", `{"offsets":[{"partition":{"filename":"`+c.in+`"},"offset":{"position":`+fmt.Sprint(c.size(t))+`}}]}`)
	c.awaitOffsets(t, c.topic, `{"offsets":[{"partition":{"kafka_partition":0,"kafka_topic":"`+c.topic+`"},"offset":{"kafka_offset":200}}]}`)

	c.ask(t, http.MethodPut, "/connectors/"+c.topic+"/stop", "")
	c.awaitAnswer(t, http.MethodDelete, "/connectors/"+c.topic+"/offsets")
	c.ask(t, http.MethodPut, "/connectors/"+c.topic+"/resume", "")
	c.awaitCopy(t, 2)

	before := c.rest
	c.rest = freeAddr(t)
	third := c.start(t, "third", c.answers, "distributed", c.distributed(t, "worker-beside"))
	c.awaitWorkers(t, before, c.rest)
	second.Kill()
	c.add(t, 100)
	c.awaitWorkers(t, c.rest)
	c.awaitEachLine(t)
	for _, connector := range []string{"source", c.topic} {
		c.ask(t, http.MethodDelete, "/connectors/"+connector, "")
	}
	stop(t, third)
	c.checkTopics(t, target, map[string]int{"": 1, "-configs": 1, "-offsets": 2, "-status": 2})
	// What the worker has looked at, too, when it was started again: it refuses to keep what it knows in another kind of topic.
	for end, policy := range map[string]string{"": "delete", "-configs": "compact", "-offsets": "compact", "-status": "compact"} {
		expectSetting(t, target.Kafka, c.topic+end, "cleanup.policy", policy)
	}
}

// connect is a worker with a source that reads one file and a sink that writes another, through a topic. The sink has
// the topic's name, for its group to be the test's own.
type connect struct {
	jvm
	addr, topic  string
	rest         string // where the worker listens
	dir, in, out string
	lines        int // of in
}

func newConnect(t *testing.T, target *harness.Target) *connect {
	t.Helper()
	dir := t.TempDir()
	return &connect{
		jvm: jvmProgram(t, "connect"), addr: target.Kafka, topic: topicName(t), rest: freeAddr(t),
		dir: dir, in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out"),
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := harness.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// distributed writes the settings of a worker that shares its work with others.
func (c *connect) distributed(t *testing.T, name string) string {
	t.Helper()
	return c.properties(t, name,
		"group.id="+c.topic, "config.storage.topic="+c.topic+"-configs", "offset.storage.topic="+c.topic+"-offsets", "status.storage.topic="+c.topic+"-status",
		"config.storage.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
		"offset.storage.partitions=2", "status.storage.partitions=2",
		"session.timeout.ms=6000", "heartbeat.interval.ms=500", "scheduled.rebalance.max.delay.ms=0")
}

func (c *connect) sourceConfig() string {
	return strings.Join([]string{
		"connector.class=org.apache.kafka.connect.file.FileStreamSourceConnector", "file=" + c.in, "topic=" + c.topic,
		"topic.creation.default.partitions=1", "topic.creation.default.replication.factor=-1",
	}, "\n")
}

func (c *connect) sinkConfig() string {
	return strings.Join([]string{
		"connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector", "file=" + c.out, "topics=" + c.topic,
		"consumer.override.metadata.max.age.ms=500",                                                // the topic comes later than the sink
		"consumer.override.session.timeout.ms=6000", "consumer.override.heartbeat.interval.ms=500", // who follows one that was killed waits for it
	}, "\n")
}

// properties writes a file of settings; those of a worker come with what is the same for all of them.
func (c *connect) properties(t *testing.T, name string, settings ...string) string {
	t.Helper()
	if strings.HasPrefix(name, "worker") {
		settings = append(settings,
			"bootstrap.servers="+c.addr, "listeners=http://"+c.rest, "plugin.discovery=service_load",
			"key.converter=org.apache.kafka.connect.storage.StringConverter", "value.converter=org.apache.kafka.connect.storage.StringConverter",
			"offset.flush.interval.ms=500", "connector.client.config.override.policy=All")
	}
	path := filepath.Join(c.dir, name+".properties")
	if err := os.WriteFile(path, []byte(strings.Join(settings, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// add adds n lines to the source's file.
func (c *connect) add(t *testing.T, n int) {
	t.Helper()
	file, err := os.OpenFile(c.in, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range n {
		if _, err := fmt.Fprintln(file, "line", c.lines); err != nil {
			t.Fatal(err)
		}
		c.lines++
	}
}

// size is how long the source's file is.
func (c *connect) size(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(c.in)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// awaitCopy waits until the sink's file has what the source's has, n times.
func (c *connect) awaitCopy(t *testing.T, n int) {
	t.Helper()
	in, err := os.ReadFile(c.in)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat(string(in), n)
	var got []byte
	if !await(t, func() bool {
		got, _ = os.ReadFile(c.out) // comes with the first record
		return len(got) >= len(want)
	}) || string(got) != want {
		t.Fatalf("of %d lines (-want +got):\n%s", c.lines, cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")))
	}
}

// awaitEachLine waits until the sink's file has each line of the source's, as often as may be.
func (c *connect) awaitEachLine(t *testing.T) {
	t.Helper()
	missing := 0
	if !await(t, func() bool {
		out, err := os.ReadFile(c.out)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			seen[line] = true
		}
		missing = c.lines - len(seen)
		return missing == 0
	}) {
		t.Errorf("%d of %d lines are missing", missing, c.lines)
	}
}

// awaitWorkers waits until the connectors and their tasks are divided between workers, named by where they listen, and run.
func (c *connect) awaitWorkers(t *testing.T, workers ...string) {
	t.Helper()
	slices.Sort(workers)
	var got []string
	if !await(t, func() bool {
		got = nil
		for _, connector := range []string{"source", c.topic} {
			type place struct {
				State  string
				Worker string `json:"worker_id"`
			}
			var status struct {
				Connector place
				Tasks     []place
			}
			text, err := c.request(within(t, limit), http.MethodGet, "/connectors/"+connector+"/status", "")
			if err != nil || json.Unmarshal([]byte(text), &status) != nil || len(status.Tasks) != 1 {
				return false // while the workers agree
			}
			for _, p := range append(status.Tasks, status.Connector) {
				if p.State != "RUNNING" {
					return false
				}
				got = append(got, p.Worker)
			}
		}
		slices.Sort(got)
		got = slices.Compact(got)
		return slices.Equal(got, workers)
	}) {
		t.Fatalf("connectors and tasks run at %v, want %v", got, workers)
	}
}

// answers is ready once the worker answers by REST.
func (c *connect) answers(string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.request(ctx, http.MethodGet, "/connectors", "")
		return err
	}
}

func (c *connect) request(ctx context.Context, method, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.rest+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return string(bytes.TrimSpace(text)), err
}

func (c *connect) ask(t *testing.T, method, path, body string) string {
	t.Helper()
	text, err := c.request(within(t, limit), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// awaitAnswer asks until there is an answer: some things need the connector to be stopped.
func (c *connect) awaitAnswer(t *testing.T, method, path string) {
	t.Helper()
	var err error
	if !await(t, func() bool {
		_, err = c.request(within(t, limit), method, path, "")
		return err == nil
	}) {
		t.Fatal(err)
	}
}

// put makes a connector.
func (c *connect) put(t *testing.T, name, settings string) {
	t.Helper()
	config := map[string]string{}
	for line := range strings.Lines(settings) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		config[key] = value
	}
	body, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	c.ask(t, http.MethodPut, "/connectors/"+name+"/config", string(body))
}

// awaitOffsets waits until a connector is said to be where it should be.
func (c *connect) awaitOffsets(t *testing.T, connector, want string) {
	t.Helper()
	var got string
	if !await(t, func() bool {
		got = c.ask(t, http.MethodGet, "/connectors/"+connector+"/offsets", "")
		return got == want
	}) {
		t.Errorf("%s is at %s, want %s", connector, got, want)
	}
}

// checkTopics looks for the topics that the worker has made, by their ends and how many partitions they have.
func (c *connect) checkTopics(t *testing.T, target *harness.Target, want map[string]int) {
	t.Helper()
	topics, err := kadm.NewClient(franz(t, target.Kafka)).ListTopics(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	for end, partitions := range want {
		if n := len(topics[c.topic+end].Partitions); n != partitions {
			t.Errorf("%s has %d partitions, want %d", c.topic+end, n, partitions)
		}
	}
}
