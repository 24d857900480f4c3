// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testApplications does with every client, of the newest release and of an old one, what applications do: produce with
// every codec, read in a group and resume, look for a time, administer.
func testApplications(t *testing.T, target *harness.Target) {
	for _, application := range clients.Applications(target.Kafka) {
		t.Run(application.Name(), func(t *testing.T) {
			t.Parallel()
			testApplication(t, target, application)
		})
	}
	for _, program := range clients.Programs() {
		if len(program.Tools) > 0 && !slowClients(target) {
			continue
		}
		err := prepareProgram(t, program)
		t.Run(program.String(), func(t *testing.T) {
			switch {
			case err != nil && len(program.Tools) > 0:
				missing(t, program.Tools[0], err)
			case err != nil:
				t.Fatal(err)
			}
			t.Parallel()
			process, err := program.Start(t.Context(), clientsFolder, target.Kafka)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := process.Close(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					t.Logf("%s wrote:\n%s", process.Name(), process.Log())
				}
			}()
			testApplication(t, target, process)
		})
	}
}

func prepareProgram(t *testing.T, p clients.Program) error {
	for _, tool := range p.Tools {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	return p.Prepare(within(t, 10*limit), clientsFolder)
}

// application is a client on its way through the test.
type application struct {
	clients.Application
	t         *testing.T
	addr      string
	topic     string
	written   [2][]clients.Record // by partition
	exercised []string
}

func testApplication(t *testing.T, target *harness.Target, client clients.Application) {
	a := &application{Application: client, t: t, addr: target.Kafka, topic: topicName(t)}
	defer func() {
		report(t, target, a.Name(), a.version(), strings.Join(a.exercised, ", "), !t.Failed())
	}()
	a.run(serves(t, target, kmsg.DeleteRecords))
}

// run does all that the library can; deleting records only where it is served.
func (a *application) run(deleteRecords bool) {
	a.t.Helper()
	a.createTopic()
	for _, codec := range a.About().Codecs {
		a.produce(0, codec, false)
	}
	a.produce(1, "none", a.About().Idempotent)
	a.read()
	a.readAsGroup()
	a.step("offset by time", a.findTime)
	a.step("list topics", a.findTopic)
	a.step("describe topic", a.countPartitions)
	a.step("list groups", a.findGroup)
	a.step("describe group", a.describeGroup)
	if deleteRecords {
		a.step("delete records", a.deleteRecords)
	}
	a.administer()
	a.step("delete group", func() error { return a.DeleteGroup(within(a.t, limit), a.topic) })
	a.deleteTopic()
}

// version is the library's.
func (a *application) version() string {
	if v := a.About().Version; v != "" {
		return v
	}
	requirements, err := os.ReadFile("../go.mod")
	if err != nil {
		a.t.Fatal(err)
	}
	found := regexp.MustCompile(regexp.QuoteMeta(a.About().Module) + ` (v\S+)`).FindSubmatch(requirements)
	if found == nil {
		a.t.Fatalf("go.mod does not name %q", a.About().Module)
	}
	return string(found[1])
}

// step notes what the library can do; what it cannot is no fault.
func (a *application) step(name string, run func() error) {
	a.t.Helper()
	err := run()
	switch {
	case err == nil:
		a.exercised = append(a.exercised, name)
	case errors.Is(err, clients.ErrLacking):
		a.t.Logf("%s: %v", name, err)
	default:
		a.t.Fatalf("%s: %v", name, err)
	}
}

func (a *application) createTopic() {
	a.t.Helper()
	create := func(client clients.Client) error {
		return client.CreateTopic(within(a.t, limit), a.topic, len(a.written))
	}
	a.step("create topic", func() error {
		err := create(a)
		if errors.Is(err, clients.ErrLacking) {
			return errors.Join(err, create(clients.Franz{Addr: a.addr}))
		}
		if err == nil && create(a) == nil {
			return errors.New("a topic that exists was created")
		}
		return err
	})
}

// produce writes a batch and checks where it is said to be.
func (a *application) produce(partition int, codec string, idempotent bool) {
	a.t.Helper()
	name := "produce " + codec
	if idempotent {
		name = "produce idempotently"
	}
	a.step(name, func() error {
		records := a.records()
		to := clients.Destination{Topic: a.topic, Partition: partition, Codec: codec, Acks: clients.AcksAll, Idempotent: idempotent}
		produce(a.t, a, to, records, int64(len(a.written[partition])))
		a.written[partition] = append(a.written[partition], records...)
		return nil
	})
}

// records have null and empty keys and values and headers,.
func (a *application) records() []clients.Record {
	records := make([]clients.Record, 30)
	for i := range records {
		r := clients.Record{Timestamp: firstTimestamp + int64(i), Key: fmt.Appendf(nil, "key %d", i), Value: []byte(strings.Repeat("value ", i))}
		switch {
		case i%5 == 1:
			r.Key = nil
		case i%5 == 2:
			r.Value = nil
		case i%5 == 3:
			r.Key = []byte{}
		}
		if i%2 == 0 && !a.About().Headerless {
			r.Headers = []clients.Header{{Name: "number", Value: fmt.Append(nil, i)}, {Name: "empty", Value: []byte{}}}
		}
		records[i] = r
	}
	return records
}

// read reads one partition with another client and with this one, which begins within a batch.
func (a *application) read() {
	a.t.Helper()
	for i, reader := range []clients.Client{clients.Franz{Addr: a.addr}, a} {
		from := 7 * i
		got, err := reader.Consume(within(a.t, limit), a.topic, 0, int64(from), len(a.written[0])-from)
		if err != nil {
			a.t.Fatalf("%s reads: %v", reader.Name(), err)
		}
		a.compare(reader.Name(), at(0, a.written[0])[from:], got)
	}
	a.exercised = append(a.exercised, "consume")
}

// compare compares what was read with what was written, as far as the library can keep it.
func (a *application) compare(what string, want, got []clients.Record) {
	a.t.Helper()
	if a.Features().NullIsEmpty {
		want, got = emptyToNull(want), emptyToNull(got)
	}
	if a.About().OwnTimes {
		for i := range got {
			got[i].Timestamp = firstTimestamp
		}
		want = slices.Clone(want)
		for i := range want {
			want[i].Timestamp = firstTimestamp
		}
	}
	if diff := cmp.Diff(want, got, wholeBytes()); diff != "" {
		a.t.Errorf("%s: read otherwise than written (-written +read):\n%s", what, diff)
	}
}

// readAsGroup reads part of the records in a group, and the others once it is back.
func (a *application) readAsGroup() {
	a.t.Helper()
	a.step("group", func() error {
		all := len(a.written[0]) + len(a.written[1])
		read := map[int][]clients.Record{}
		for _, n := range []int{all/2 + 1, all - all/2 - 1} {
			part, err := a.ConsumeGroup(within(a.t, limit), a.topic, a.topic, n)
			if err != nil {
				return fmt.Errorf("reading %d records: %w", n, err)
			}
			for p, records := range part {
				read[p] = append(read[p], records...)
			}
		}
		for p, written := range a.written {
			a.compare(fmt.Sprintf("partition %d in the group", p), at(0, written), read[p])
		}
		return nil
	})
}

func (a *application) findTime() error {
	end := int64(len(a.written[1]))
	for asked, want := range map[int64][]int64{
		firstTimestamp - 1:       {0},
		firstTimestamp + 4:       {4},
		firstTimestamp + end + 1: {-1, end},
	} {
		got, err := a.OffsetAt(within(a.t, limit), a.topic, 1, asked)
		if err != nil {
			return err
		}
		if !slices.Contains(want, got) {
			a.t.Errorf("the offset at %d is %d, want one of %d", asked, got, want)
		}
	}
	return nil
}

func (a *application) findTopic() error {
	names, err := a.Topics(within(a.t, limit))
	if err == nil && !slices.Contains(names, a.topic) {
		return fmt.Errorf("%s is not among %q", a.topic, names)
	}
	return err
}

func (a *application) countPartitions() error {
	n, err := a.Partitions(within(a.t, limit), a.topic)
	if err == nil && n != len(a.written) {
		return fmt.Errorf("there are %d partitions, want %d", n, len(a.written))
	}
	return err
}

func (a *application) findGroup() error {
	ids, err := a.Groups(within(a.t, limit))
	if err == nil && !slices.Contains(ids, a.topic) {
		return fmt.Errorf("%s is not among %q", a.topic, ids)
	}
	return err
}

func (a *application) describeGroup() error {
	state, err := a.GroupState(within(a.t, limit), a.topic)
	if err == nil && state != "Empty" {
		return fmt.Errorf("the group is %q, want Empty", state)
	}
	return err
}

func (a *application) deleteRecords() error {
	const before = 11
	if err := a.DeleteRecords(within(a.t, limit), a.topic, 0, before); err != nil {
		return err
	}
	begins, err := kadm.NewClient(franz(a.t, a.addr)).ListStartOffsets(within(a.t, limit), a.topic)
	if err = errors.Join(err, begins.Error()); err != nil {
		return err
	}
	if begin, _ := begins.Lookup(a.topic, 0); begin.Offset != before {
		return fmt.Errorf("the partition begins at %d, want %d", begin.Offset, before)
	}
	return nil
}

func (a *application) deleteTopic() {
	a.t.Helper()
	a.step("delete topic", func() error {
		if err := a.DeleteTopic(within(a.t, limit), a.topic); err != nil {
			return err
		}
		if !await(a.t, func() bool { // a broker's own metadata is late
			names, err := clients.Franz{Addr: a.addr}.Topics(within(a.t, limit))
			return err == nil && !slices.Contains(names, a.topic)
		}) {
			return errors.New("the topic is there still")
		}
		return nil
	})
}

// serves tells whether the target advertises an API.
func serves(t *testing.T, target *harness.Target, key kmsg.Key) bool {
	t.Helper()
	versions, err := kadm.NewClient(franz(t, target.Kafka)).ApiVersions(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if _, ok := v.KeyMaxVersion(key.Int16()); ok {
			return true
		}
	}
	return false
}
