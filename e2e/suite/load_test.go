// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

const (
	loadPartitions = 3
	loadProducers  = 4   // each writes to every partition
	loadUnderWay   = 100 // records that a producer has not been told of yet, at most
)

// load is traffic that goes on while something is done to the servers: producers that want acks of all, and a consumer
// that follows them. Both are franz-go, and retry whatever may be retried, without end.
type load struct {
	addr, topic string
	admin       *kadm.Client
	consumer    *loadConsumer
	producers   []*loadProducer
	stop        chan struct{} // closed to end the producers
	producing   sync.WaitGroup
}

// startLoad returns once every producer had records acknowledged and the consumer read some.
func startLoad(t *testing.T, addr string) *load {
	t.Helper()
	l := &load{addr: addr, topic: newTopic(t, clients.Franz{Addr: addr}, loadPartitions), stop: make(chan struct{})}
	l.admin = kadm.NewClient(franz(t, addr))
	from := map[int32]kgo.Offset{}
	for partition := range int32(loadPartitions) {
		from[partition] = kgo.NewOffset().At(0)
	}
	l.consumer = &loadConsumer{client: franz(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: from}))}
	l.consumer.start(t)
	for id := range loadProducers {
		p := &loadProducer{id: id, topic: l.topic, client: franz(t, addr,
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(loadUnderWay))}
		l.producers = append(l.producers, p)
		l.producing.Go(func() { p.run(t.Context(), l.stop) })
	}
	t.Cleanup(l.producing.Wait) // the test's context is over by then
	l.awaitProgress(t)
	return l
}

// franz is a client that is closed with the test. It asks for metadata whenever it fails to connect, but as a rule not
// within 5 s of the last time: a wait that would be the longest part of a test.
func franz(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// awaitProgress waits until every producer was told of more records and the consumer read more: enough of them that
// not all were under way before.
func (l *load) awaitProgress(t *testing.T) {
	t.Helper()
	const more = 3 * loadUnderWay
	begin := time.Now()
	counts := map[string]*atomic.Int64{"the consumer": &l.consumer.read}
	for _, p := range l.producers {
		counts[fmt.Sprintf("producer %d", p.id)] = &p.told
	}
	goals := map[string]int64{}
	for who, count := range counts {
		goals[who] = count.Load() + more
	}
	for who, count := range counts {
		if !await(t, func() bool { return count.Load() >= goals[who] }) {
			t.Fatalf("%s stays at %d records", who, count.Load())
		}
	}
	t.Logf("everybody went on within %v", time.Since(begin))
}

// await polls until the condition holds; it does not if the time for a step is over.
func await(t *testing.T, holds func() bool) bool {
	t.Helper()
	ctx := within(t, limit)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// finish ends the load and checks what is stored: every acknowledged record lies where its producer was told, those of
// one producer in its order, and the consumer saw the very log that is read now, each offset once. Records may be
// stored twice: a producer that was not answered sends again.
func (l *load) finish(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.producing.Wait()
	for _, p := range l.producers {
		if err := p.client.Flush(within(t, limit)); err != nil {
			t.Fatalf("producer %d: %v", p.id, err)
		}
	}
	ends, err := l.admin.ListEndOffsets(within(t, limit), l.topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		t.Fatal(err)
	}
	logs := make([][]clients.Record, loadPartitions)
	told, stored := int64(0), int64(0)
	for partition := range logs {
		end, _ := ends.Lookup(l.topic, int32(partition))
		if logs[partition], err = (clients.Franz{Addr: l.addr}).Consume(within(t, limit), l.topic, partition, 0, int(end.Offset)); err != nil {
			t.Fatal(err)
		}
		stored += end.Offset
	}
	for _, p := range l.producers {
		told += p.told.Load()
		p.check(t, logs)
	}
	if !await(t, func() bool { return l.consumer.read.Load() >= stored }) {
		t.Errorf("the consumer stays at %d of %d records", l.consumer.read.Load(), stored)
	}
	l.consumer.stop()
	l.consumer.check(t, logs)
	t.Logf("%d records acknowledged, %d stored", told, stored)
}

// loadProducer writes numbered values.
type loadProducer struct {
	id     int
	topic  string
	client *kgo.Client
	told   atomic.Int64

	// Owned by the client's callbacks, which it calls one after the other; anybody's after Flush.
	acked  [loadPartitions][]*kgo.Record
	failed error // the first record's that was not acknowledged
}

// run produces until stop is closed; the end of ctx gives up what is under way, too.
func (p *loadProducer) run(ctx context.Context, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
			// Waits while there are too many under way.
			p.client.Produce(ctx, &kgo.Record{Topic: p.topic, Partition: int32(n % loadPartitions), Value: p.value(n)}, p.done)
		}
	}
}

func (p *loadProducer) value(n int) []byte { return fmt.Appendf(nil, "producer %d record %d", p.id, n) }

func (p *loadProducer) done(r *kgo.Record, err error) {
	if err != nil {
		if p.failed == nil {
			p.failed = err
		}
		return
	}
	p.acked[r.Partition] = append(p.acked[r.Partition], r)
	p.told.Add(1)
}

// check compares what was acknowledged with what the partitions hold.
func (p *loadProducer) check(t *testing.T, logs [][]clients.Record) {
	t.Helper()
	if p.failed != nil {
		t.Errorf("producer %d: a record failed: %v", p.id, p.failed)
		return
	}
	for partition, acked := range p.acked {
		last := int64(-1)
		for i, r := range acked {
			want := string(p.value(i*loadPartitions + partition))
			if r.Offset <= last || r.Offset >= int64(len(logs[partition])) {
				t.Fatalf("partition %d: %q was acknowledged at %d, after the one at %d, in %d records", partition, want, r.Offset, last, len(logs[partition]))
			}
			if got := string(logs[partition][r.Offset].Value); got != want {
				t.Fatalf("partition %d: %q was acknowledged at %d, where %q lies", partition, want, r.Offset, got)
			}
			last = r.Offset
		}
	}
}

// loadConsumer reads everything from the beginning on.
type loadConsumer struct {
	client *kgo.Client
	read   atomic.Int64
	stop   func() // waits for its end

	seen [loadPartitions][]*kgo.Record // valid after stop
	errs []error                       // that the client did not keep to itself; valid after stop
}

func (c *loadConsumer) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	c.stop = func() { cancel(); running.Wait() }
	t.Cleanup(c.stop)
	running.Go(func() {
		for ctx.Err() == nil {
			fetches := c.client.PollFetches(ctx)
			fetches.EachRecord(func(r *kgo.Record) { c.seen[r.Partition] = append(c.seen[r.Partition], r) })
			if err := fetches.Err(); err != nil && ctx.Err() == nil {
				c.errs = append(c.errs, err)
			}
			c.read.Add(int64(fetches.NumRecords()))
		}
	})
}

func (c *loadConsumer) check(t *testing.T, logs [][]clients.Record) {
	t.Helper()
	if err := errors.Join(c.errs...); err != nil {
		t.Errorf("the consumer was told: %v", err)
	}
	for partition, log := range logs {
		if len(c.seen[partition]) != len(log) {
			t.Errorf("partition %d: the consumer saw %d of %d records", partition, len(c.seen[partition]), len(log))
			continue
		}
		for i, r := range c.seen[partition] {
			if r.Offset != int64(i) || string(r.Value) != string(log[i].Value) {
				t.Errorf("partition %d: the consumer's record %d is %q at %d, the log has %q there", partition, i, r.Value, r.Offset, log[i].Value)
				break
			}
		}
	}
}
