// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const (
	clientsFolder   = "../clients"
	groupPartitions = 6
	sessionTimeout  = 6 * time.Second // the least that Kafka allows
	heartbeat       = 500 * time.Millisecond
	feedInterval    = 100 * time.Millisecond
)

// slowClients tells whether the clients that take their time, all but those for Go, are run against a target: a broker,
// and one gateway, which the race detector must not slow down.
func slowClients(target *harness.Target) bool {
	return target.Name != "embedded-memory" && target.Name != "embedded-durable" && os.Getenv("E2E_RACE") != "true"
}

// groupPrograms lists the clients whose groups are run against a target, ready to be started.
func groupPrograms(t *testing.T, target *harness.Target) []group.Program {
	t.Helper()
	var ready []group.Program
	for _, p := range group.Programs() {
		if len(p.Tools) > 0 && !slowClients(target) {
			continue
		}
		err := prepare(t, p)
		switch {
		case err == nil:
			ready = append(ready, p)
		case len(p.Tools) == 0:
			t.Fatal(err)
		default:
			t.Run(p.String(), func(t *testing.T) { missing(t, p.Tools[0], err) })
		}
	}
	return ready
}

func prepare(t *testing.T, p group.Program) error {
	for _, tool := range p.Tools {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	return p.Prepare(within(t, 10*limit), clientsFolder)
}

// groupRun is a group of one client's members, that read a topic which is written to all the time.
type groupRun struct {
	program   group.Program
	addr      string
	id, topic string
	ledger    *ledger
	members   map[string]*group.Member // those that run
	session   time.Duration            // the session timeout of those that start

	producer *kgo.Client
	fed      atomic.Int64  // records of each partition that are acknowledged
	goal     int64         // how many of each partition are to be delivered
	stop     chan struct{} // closed to end the feeding
	feeding  sync.WaitGroup
}

// newGroup creates the topic and begins to feed it. Members and feeding end with the test.
func newGroup(t *testing.T, target *harness.Target, program group.Program) *groupRun {
	t.Helper()
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, groupPartitions)
	g := &groupRun{
		program: program, addr: target.Kafka, topic: topic, id: topic,
		ledger: newLedger(groupPartitions), members: map[string]*group.Member{}, session: sessionTimeout,
		// A busy broker does not know a topic for some time after it has created it.
		producer: franz(t, target.Kafka, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1)),
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.ledger)
		}
		for name, m := range g.members {
			m.Kill()
			if t.Failed() {
				t.Logf("%s wrote:\n%s", name, m.Log())
			}
		}
	})
	g.feed(t)
	return g
}

// feed writes a record to every partition at each interval, until it is stopped or the test ends.
func (g *groupRun) feed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = make(chan struct{})
	t.Cleanup(func() { cancel(); g.feeding.Wait() })
	g.feeding.Go(func() {
		interval := time.NewTicker(feedInterval)
		defer interval.Stop()
		for {
			select {
			case <-interval.C:
			case <-g.stop:
				return
			case <-ctx.Done():
				return
			}
			var round []*kgo.Record
			for p := range int32(groupPartitions) {
				round = append(round, &kgo.Record{Topic: g.topic, Partition: p, Value: fmt.Appendf(nil, "%d of %d", g.fed.Load(), p)})
			}
			if err := g.producer.ProduceSync(ctx, round...).FirstErr(); err != nil {
				if ctx.Err() == nil {
					t.Errorf("feeding: %v", err)
				}
				return
			}
			g.fed.Add(1)
		}
	})
}

func (g *groupRun) start(t *testing.T, name string) {
	t.Helper()
	g.startStatic(t, name, "")
}

func (g *groupRun) startStatic(t *testing.T, name, instance string) {
	t.Helper()
	config := group.Config{
		Broker: g.addr, Group: g.id, Topic: g.topic, Instance: instance, Assignor: g.program.Assignor,
		SessionTimeoutMs: int(g.session.Milliseconds()), HeartbeatMs: int(heartbeat.Milliseconds()),
	}
	if instance != "" {
		config.SessionTimeoutMs *= 5 // some need long to start again
	}
	m, err := g.program.Start(clientsFolder, config, g.ledger.join(name))
	if err != nil {
		t.Fatal(err)
	}
	g.members[name] = m
}

// leave has a member close its consumer.
func (g *groupRun) leave(t *testing.T, name string) {
	t.Helper()
	m := g.members[name]
	delete(g.members, name)
	if err := m.Stop(within(t, limit)); err != nil || !g.ledger.closed(name) {
		t.Fatalf("%s did not close well: %v\n%s", name, err, m.Log())
	}
}

func (g *groupRun) kill(name string) {
	g.members[name].Kill()
	delete(g.members, name)
	g.ledger.gone(name)
}

// awaitSettled waits until the members share the partitions.
func (g *groupRun) awaitSettled(t *testing.T, members ...string) {
	t.Helper()
	begin := time.Now()
	if !await(t, func() bool { return g.ledger.settled(members...) }) {
		t.Fatalf("%v do not come to share the partitions", members)
	}
	t.Logf("%v share the partitions after %v", members, time.Since(begin))
}

// awaitProgress waits until more records of every partition are delivered, among them such as were written after this
// was called.
func (g *groupRun) awaitProgress(t *testing.T) {
	t.Helper()
	g.aim()
	g.awaitGoal(t)
}

// aim sets the goal: a few records of every partition more than are written.
func (g *groupRun) aim() { g.goal = g.fed.Load() + 5 }

func (g *groupRun) awaitGoal(t *testing.T) {
	t.Helper()
	begin := time.Now()
	if !await(t, func() bool { return g.ledger.delivered(g.goal) }) {
		t.Fatalf("not all partitions are read up to %d", g.goal)
	}
	t.Logf("everything went on within %v", time.Since(begin))
}

// version is the library's.
func (g *groupRun) version(t *testing.T) string {
	if g.program.Client == "java" {
		return javaVersion(t) // its program does not tell
	}
	return g.ledger.version()
}

// finish ends the feeding, closes the members once they have read and committed everything, and compares what they read
// with what is stored.
func (g *groupRun) finish(t *testing.T, members ...string) {
	t.Helper()
	// A commit that a rebalance has cut short is made good by the next one, for which there must be more records.
	g.awaitProgress(t)
	close(g.stop)
	g.feeding.Wait()
	admin := kadm.NewClient(franz(t, g.addr))
	ends, err := admin.ListEndOffsets(within(t, limit), g.topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		t.Fatal(err)
	}
	end := func(partition int) int64 { o, _ := ends.Lookup(g.topic, int32(partition)); return o.Offset }
	if !await(t, func() bool { return g.ledger.committed(end) }) {
		t.Fatal("not all is read and committed")
	}
	for _, name := range members {
		g.leave(t, name)
	}
	committed, err := admin.FetchOffsets(within(t, limit), g.id)
	if err = errors.Join(err, committed.Error()); err != nil {
		t.Fatal(err)
	}
	for p := range groupPartitions {
		if o, ok := committed.Lookup(g.topic, int32(p)); !ok || o.At != end(p) {
			t.Errorf("partition %d has %d records, %d is committed", p, end(p), o.At)
		}
		stored, err := (clients.Franz{Addr: g.addr}).Consume(within(t, limit), g.topic, p, 0, int(end(p)))
		if err != nil {
			t.Fatal(err)
		}
		var values []string
		for _, r := range stored {
			values = append(values, string(r.Value))
		}
		if diff := cmp.Diff(values, g.ledger.values(p)); diff != "" {
			t.Errorf("partition %d (-stored +read):\n%s", p, diff)
		}
	}
	for _, fault := range g.ledger.found() {
		t.Error(fault)
	}
}
