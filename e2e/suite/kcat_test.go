// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testKcat drives kcat, and with it librdkafka, which most clients outside Java and Go are made of.
func testKcat(t *testing.T, target *harness.Target) {
	requireTool(t, "kcat")
	k := kcat{target.Kafka}
	t.Run("produce", k.testProduce)
	t.Run("consume", k.testConsume)
	t.Run("list", k.testList)
	t.Run("query", k.testQuery)
	t.Run("group", k.testGroup)
}

// kcat runs the program against one broker.
type kcat struct{ addr string }

func (k kcat) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(within(t, limit), "kcat", append([]string{"-b", k.addr, "-q"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// testProduce writes with every codec: keys, tombstones, empty values, headers with a name that repeats.
func (k kcat) testProduce(t *testing.T) {
	for _, codec := range clients.Codecs() {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			reader := clients.Franz{Addr: k.addr}
			topic := newTopic(t, reader, 1)
			var lines strings.Builder
			var want []clients.Record
			headers := []clients.Header{{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte("2")}, {Name: "a", Value: []byte("3")}}
			for i := range 200 {
				r := clients.Record{Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte("v"), i), Headers: headers}
				if i == 0 {
					r.Value = nil // -Z makes the empty value a tombstone
				}
				fmt.Fprintf(&lines, "%s:%s\n", r.Key, r.Value)
				want = append(want, r)
			}
			k.run(t, lines.String(), "-P", "-t", topic, "-p", "0", "-X", "compression.codec="+codec, "-K", ":", "-Z", "-H", "a=1", "-H", "b=2", "-H", "a=3")
			expectReadTimesAside(t, reader, topic, at(0, want))
		})
	}
}

// testConsume reads with kcat what another client wrote with every codec.
func (k kcat) testConsume(t *testing.T) {
	for _, codec := range clients.Codecs() {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			writer := clients.Franz{Addr: k.addr}
			topic := newTopic(t, writer, 1)
			records := plainRecords(300)
			records[1].Value, records[2].Key = []byte{}, []byte{}
			records[3].Headers = []clients.Header{{Name: "null", Value: nil}, {Name: "twice", Value: []byte("1")}, {Name: "twice", Value: []byte{}}}
			produce(t, writer, clients.Destination{Topic: topic, Codec: codec, Acks: clients.AcksAll}, records, 0)
			out := k.run(t, "", "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-J")
			if diff := gocmp.Diff(at(0, records), parseKcat(t, out), wholeBytes()); diff != "" {
				t.Errorf("kcat reads otherwise than written (-written +read):\n%s", diff)
			}
		})
	}
}

// parseKcat reads the output of kcat -J: one object a line.
func parseKcat(t *testing.T, out string) []clients.Record {
	t.Helper()
	var records []clients.Record
	for line := range strings.Lines(out) {
		var m struct {
			Offset  int64     `json:"offset"`
			TS      int64     `json:"ts"`
			Key     *string   `json:"key"`
			Payload *string   `json:"payload"`
			Headers []*string `json:"headers"` // name, value, name, value...
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		r := clients.Record{Offset: m.Offset, Timestamp: m.TS, Key: optional(m.Key), Value: optional(m.Payload)}
		for i := 0; i+1 < len(m.Headers); i += 2 {
			r.Headers = append(r.Headers, clients.Header{Name: *m.Headers[i], Value: optional(m.Headers[i+1])})
		}
		records = append(records, r)
	}
	return records
}

func optional(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func (k kcat) testList(t *testing.T) {
	topic := newTopic(t, clients.Franz{Addr: k.addr}, 3)
	var m struct {
		Brokers []struct{ Name string }
		Topics  []struct {
			Topic      string
			Partitions []struct{ Partition, Leader int }
		}
	}
	if err := json.Unmarshal([]byte(k.run(t, "", "-L", "-t", topic, "-J")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Brokers) != 1 || m.Brokers[0].Name != k.addr {
		t.Errorf("brokers %v, want %s alone", m.Brokers, k.addr)
	}
	if len(m.Topics) != 1 || m.Topics[0].Topic != topic || len(m.Topics[0].Partitions) != 3 {
		t.Errorf("topics %+v, want %s with 3 partitions", m.Topics, topic)
	}
}

// testQuery asks for offsets by time, and for the end.
func (k kcat) testQuery(t *testing.T) {
	writer := clients.Franz{Addr: k.addr}
	topic := newTopic(t, writer, 1)
	produce(t, writer, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, plainRecords(10), 0)
	for asked, want := range map[int64]int64{
		-2:                  0,
		-1:                  10,
		firstTimestamp - 1:  0,
		firstTimestamp + 4:  4,
		firstTimestamp + 10: -1, // nothing is that late
	} {
		out := k.run(t, "", "-Q", "-t", fmt.Sprintf("%s:0:%d", topic, asked))
		if got := strings.TrimSpace(out); got != fmt.Sprintf("%s [0] offset %d", topic, want) {
			t.Errorf("time %d: %q, want offset %d", asked, got, want)
		}
	}
}

// testGroup reads as a group's only member, to the end, and later what came after that.
func (k kcat) testGroup(t *testing.T) {
	writer := clients.Franz{Addr: k.addr}
	topic := newTopic(t, writer, 2)
	for first := 0; first < 30; first += 15 {
		var want []clients.Record
		for p := range 2 {
			to := clients.Destination{Topic: topic, Partition: p, Codec: "none", Acks: clients.AcksAll}
			records := plainRecords(30)[first : first+15]
			produce(t, writer, to, records, int64(first))
			want = append(want, at(int64(first), records)...)
		}
		out := k.run(t, "", "-G", topic, "-X", "auto.offset.reset=earliest", "-e", "-J", topic)
		got := parseKcat(t, out)
		byOffset := func(a, b clients.Record) int { return cmp.Compare(a.Offset, b.Offset) }
		slices.SortStableFunc(got, byOffset) // of both partitions, which hold the same
		slices.SortStableFunc(want, byOffset)
		if diff := gocmp.Diff(want, got, wholeBytes()); diff != "" {
			t.Errorf("the group reads from %d on (-want +got):\n%s", first, diff)
		}
	}
}

// expectReadTimesAside compares all but timestamps, which kcat takes from the clock.
func expectReadTimesAside(t *testing.T, reader clients.Client, topic string, want []clients.Record) {
	t.Helper()
	got, err := reader.Consume(within(t, limit), topic, 0, 0, len(want))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Timestamp <= firstTimestamp {
			t.Errorf("record %d has the timestamp %d", i, got[i].Timestamp)
		}
		got[i].Timestamp = 0
	}
	if diff := gocmp.Diff(want, got, wholeBytes()); diff != "" {
		t.Errorf("%s reads otherwise than written (-written +read):\n%s", reader.Name(), diff)
	}
}
