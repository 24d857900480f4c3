// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const streamsPartitions = 3

// testStreams counts words with Kafka Streams. An instance is stopped, another one goes on without its state, which it
// has to restore, and then there are two. Each word is counted once: nobody crashes.
func testStreams(t *testing.T, target *harness.Target) {
	w := wordCount{jvm: jvmProgram(t, "streams"), addr: target.Kafka, counts: map[string]int{}, told: map[string][]string{}}
	defer func() {
		report(t, target, "Kafka Streams", w.version(t, "kafka-streams"), "word count at least once: repartition and changelog topics, state restored, two instances; exactly once needs transactions", !t.Failed())
	}()
	w.input, w.output, w.application = topicName(t), topicName(t), strings.ToLower(topicName(t))
	for _, topic := range []string{w.input, w.output} {
		if err := (clients.Franz{Addr: w.addr}).CreateTopic(within(t, limit), topic, streamsPartitions); err != nil {
			t.Fatal(err)
		}
	}
	w.reader = franz(t, w.addr, kgo.ConsumeTopics(w.output))

	w.write(t, 100)
	first := w.start(t, "first")
	w.awaitCounts(t)
	stop(t, first)
	if restored := printedLines(t, first, "restored "); sum(restored) > 0 {
		t.Errorf("the first instance found something to restore: %q", restored)
	}

	w.write(t, 50)
	second := w.start(t, "second")
	w.awaitCounts(t)
	restored := printedLines(t, second, "restored ")
	t.Logf("restored %q", restored)
	if sum(restored) == 0 {
		t.Errorf("an instance without state restores %q", restored)
	}

	third := w.start(t, "third")
	w.write(t, 50)
	w.awaitCounts(t)
	stop(t, second)
	w.write(t, 10)
	w.awaitCounts(t)
	stop(t, third)
	for _, p := range []*harness.Program{second, third} {
		own := printedLines(t, p, "task ")
		t.Logf("%s had tasks %q", filepath.Base(p.Log()), own)
		if len(own) == 0 {
			t.Errorf("%s had nothing to do", p.Log())
		}
	}
	w.checkTopics(t)
	w.checkExactlyOnce(t, target)
}

// wordCount runs clients/streams/WordCount.java.
type wordCount struct {
	jvm
	addr, application, input, output string

	written int
	counts  map[string]int // of the words that were written

	reader *kgo.Client
	told   map[string][]string // what the application wrote of each word, in order
}

// write writes n lines of three words to the input.
func (w *wordCount) write(t *testing.T, n int) {
	t.Helper()
	client := franz(t, w.addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var records []*kgo.Record
	for range n {
		words := []string{"every", fmt.Sprintf("tenth-%d", w.written%10), fmt.Sprintf("third-%d", w.written%3)}
		for _, word := range words {
			w.counts[word]++
		}
		records = append(records, &kgo.Record{Topic: w.input, Partition: int32(w.written % streamsPartitions), Value: []byte(strings.Join(words, " "))})
		w.written++
	}
	if err := client.ProduceSync(within(t, limit), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// start starts an instance without any state.
func (w *wordCount) start(t *testing.T, name string) *harness.Program {
	t.Helper()
	return w.jvm.start(t, name, prints("state RUNNING"), w.addr, w.application, t.TempDir(), w.input, w.output)
}

// awaitCounts reads the output until it has told of all words that were written: each count once, in order.
func (w *wordCount) awaitCounts(t *testing.T) {
	t.Helper()
	want := map[string][]string{}
	for word, n := range w.counts {
		for i := range n {
			want[word] = append(want[word], fmt.Sprint(i+1))
		}
	}
	complete := func() bool {
		for word, n := range w.counts {
			if last := fmt.Sprint(n); !slices.Contains(w.told[word], last) {
				return false
			}
		}
		return true
	}
	ctx := within(t, 4*limit)
	for !complete() && ctx.Err() == nil {
		w.reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			w.told[string(r.Key)] = append(w.told[string(r.Key)], string(r.Value))
		})
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Fatalf("counts of %d lines (-want +got):\n%s", w.written, diff)
	}
}

// checkTopics looks for the topics that the application has made for itself.
func (w *wordCount) checkTopics(t *testing.T) {
	t.Helper()
	topics, err := kadm.NewClient(franz(t, w.addr)).ListTopics(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-words-repartition", "-counts-changelog"} {
		if n := len(topics[w.application+suffix].Partitions); n != streamsPartitions {
			t.Errorf("%s has %d partitions, want %d", w.application+suffix, n, streamsPartitions)
		}
	}
	expectSetting(t, w.addr, w.application+"-counts-changelog", "cleanup.policy", "compact")
	expectSetting(t, w.addr, w.application+"-words-repartition", "cleanup.policy", "delete")
	expectSetting(t, w.addr, w.application+"-words-repartition", "retention.ms", "-1") // Streams deletes records that it has read
}

// checkExactlyOnce starts an application that needs transactions. Where there are none it has to end, and not to wait.
func (w *wordCount) checkExactlyOnce(t *testing.T, target *harness.Target) {
	t.Helper()
	state := "ERROR"
	if target.Name == "kafka" {
		state = "RUNNING"
	}
	program := w.jvm.start(t, "exactly-once", prints("state "+state), w.addr, w.application+"-exactly-once", t.TempDir(), w.input, w.output, "exactly_once_v2")
	program.Kill()
	t.Logf("exactly once it comes to %s", state)
}

// sum adds up the numbers that texts begin with.
func sum(texts []string) (total int) {
	for _, text := range texts {
		var n int
		_, _ = fmt.Sscan(text, &n)
		total += n
	}
	return total
}
