// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testFlink runs a job of Flink that counts what it reads. It is killed and goes on from its last checkpoint: its counts
// and the places in its topic are of one moment.
func testFlink(t *testing.T, target *harness.Target) {
	f := flinkJob{jvm: jvmProgram(t, "flink"), addr: target.Kafka, checkpoints: t.TempDir(), told: map[string]int{}}
	defer func() {
		report(t, target, "Flink "+f.version(t, "flink-clients")+", its Kafka connector", f.version(t, "flink-connector-kafka"),
			"source and sink, at least once, killed, restored from a checkpoint", !t.Failed())
	}()
	const partitions = 2
	f.input, f.output = newTopic(t, clients.Franz{Addr: f.addr}, partitions), newTopic(t, clients.Franz{Addr: f.addr}, partitions)
	f.reader = franz(t, f.addr, kgo.ConsumeTopics(f.output))
	f.group = strings.ToLower(f.input)

	f.write(t, 200)
	first := f.start(t, "first")
	f.awaitCounts(t)
	f.awaitCheckpoint(t)
	first.Kill()
	f.write(t, 200)
	second := f.start(t, "second")
	f.awaitCounts(t)
	t.Logf("goes on from %q", printedLines(t, second, "goes on from "))
	for count, n := range f.told {
		if n > 1 {
			t.Errorf("%q is written %d times: the checkpoint had all that was read", count, n)
		}
	}
	// Offsets are committed once a checkpoint is complete; the commit goes out with what is read next.
	f.awaitCheckpoint(t)
	f.write(t, partitions)
	admin, at := kadm.NewClient(franz(t, f.addr)), map[int32]int64{}
	if !await(t, func() bool {
		at = committed(t, admin, f.group, f.input)
		return at[0] >= 200 && at[1] >= 200
	}) {
		t.Errorf("the job has committed %v", at)
	}
	stop(t, second)
}

// flinkJob runs clients/flink/Counts.java.
type flinkJob struct {
	jvm
	addr, input, output, group, checkpoints string

	written int
	reader  *kgo.Client
	told    map[string]int // how often the job wrote each value with its count
}

const flinkKeys = 7

// write writes n records, each of one of a few values, to the input's partitions in turn.
func (f *flinkJob) write(t *testing.T, n int) {
	t.Helper()
	var records []*kgo.Record
	for range n {
		records = append(records, &kgo.Record{Topic: f.input, Partition: int32(f.written % 2), Value: fmt.Append(nil, f.written%flinkKeys)})
		f.written++
	}
	client := franz(t, f.addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := client.ProduceSync(within(t, limit), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (f *flinkJob) start(t *testing.T, name string) *harness.Program {
	t.Helper()
	return f.jvm.start(t, name, prints(""), f.addr, f.input, f.output, f.group, f.checkpoints)
}

// awaitCheckpoint waits until a checkpoint is complete that was begun after now.
func (f *flinkJob) awaitCheckpoint(t *testing.T) {
	t.Helper()
	now := f.checkpoint(t)
	if !await(t, func() bool { return f.checkpoint(t) >= now+2 }) {
		t.Fatalf("the job does not get beyond checkpoint %d", f.checkpoint(t))
	}
}

// checkpoint is the number of the newest checkpoint that is complete, of all runs: they go on counting.
func (f *flinkJob) checkpoint(t *testing.T) (newest int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.checkpoints, "*", "chk-*", "_metadata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "chk-"))
		if err != nil {
			t.Fatal(err)
		}
		newest = max(newest, n)
	}
	return newest
}

// awaitCounts reads the output until it has a count for each record that was written, and nothing else.
func (f *flinkJob) awaitCounts(t *testing.T) {
	t.Helper()
	ctx := within(t, 4*limit)
	for len(f.told) < f.written && ctx.Err() == nil {
		f.reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) { f.told[string(r.Value)]++ })
	}
	want := map[string]bool{}
	for i := range f.written {
		want[fmt.Sprint(i%flinkKeys, " ", i/flinkKeys+1)] = true
	}
	got := map[string]bool{}
	for count := range f.told {
		got[count] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("counts of %d records (-want +got):\n%s", f.written, diff)
	}
}
