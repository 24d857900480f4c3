// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
)

// consumer reads partitions as Kafka's clients do: with a session it names what has moved, without one it names all of
// them, those that were served last.
type consumer struct {
	*client
	session   bool
	id, epoch int32
	maxBytes  int32
	order     []part // of the partitions, with the next offset of each
	moved     map[int]bool
	read      map[string]int // records, by topic/partition
	waits     map[string]int // answers since a partition was served
}

func newConsumer(c *client, session bool, parts []part) *consumer {
	return &consumer{
		client: c, session: session, maxBytes: 50 << 20, order: parts,
		moved: map[int]bool{}, read: map[string]int{}, waits: map[string]int{},
	}
}

func (p part) name() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

// poll asks once, and returns how many bytes of records came.
func (c *consumer) poll() (bytes int) {
	c.Helper()
	var parts []part
	for i, p := range c.order {
		if c.epoch == 0 || c.moved[i] {
			parts = append(parts, p)
		}
	}
	req := fetchRequest(parts...)
	req.MaxBytes = c.maxBytes
	req.SessionID, req.SessionEpoch = c.id, c.epoch
	if !c.session {
		req.SessionEpoch = -1
	}
	resp := ask[*kmsg.FetchResponse](c.client, req)
	if resp.ErrorCode != 0 || c.session != (resp.SessionID != 0) {
		c.Fatalf("error %d, session %d", resp.ErrorCode, resp.SessionID)
	}
	clear(c.moved)
	places := map[string]int{}
	for i, p := range c.order {
		places[p.name()] = i
		c.waits[p.name()]++
	}
	served := map[int]bool{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			name := part{topic: t.Topic, partition: p.Partition}.name()
			if p.ErrorCode != 0 {
				c.Fatalf("%s: error %d", name, p.ErrorCode)
			}
			bytes += len(p.RecordBatches)
			for _, r := range records(c, p.RecordBatches) {
				at := &c.order[places[name]]
				if r.offset != at.offset {
					c.Fatalf("%s: record %d in place of %d", name, r.offset, at.offset)
				}
				at.offset++
				c.read[name]++
				c.waits[name] = 0
				served[places[name]] = true
			}
		}
	}
	if c.session {
		c.id, c.epoch, c.moved = resp.SessionID, c.epoch+1, served
		return bytes
	}
	var first, last []part
	for i, p := range c.order {
		if served[i] {
			last = append(last, p)
		} else {
			first = append(first, p)
		}
	}
	c.order = append(first, last...)
	return bytes
}

// Two thousand partitions are read through answers that have room for ninety records. With a session and without one all
// limits are obeyed and every partition makes progress while there is any to make: none is passed over for more answers
// than it takes to serve them all.
func TestFetchTwoThousandPartitions(t *testing.T) {
	const perPartition, limit = 3, 100_000
	partitions := int32(1000) // of each of two topics
	if testing.Short() {
		partitions = 200
	}
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchMaxBytes = limit }})
	c := gw.dial(t)
	var parts []part
	for range 2 {
		topic := gw.newTopic(t, partitions)
		var writes []part
		for p := range partitions {
			writes = append(writes, part{topic: topic, partition: p, records: batchOf(batchForm{}, manyRecords(perPartition, 1000)...)})
			parts = append(parts, part{topic: topic, partition: p, maxBytes: 10 << 20})
		}
		for _, p := range ask[*kmsg.ProduceResponse](c, produceRequest(writes...)).Topics[0].Partitions {
			if p.ErrorCode != 0 || p.BaseOffset != 0 {
				t.Fatalf("produce: %+v", p)
			}
		}
	}
	for _, session := range []bool{false, true} {
		t.Run(fmt.Sprintf("session %v", session), func(t *testing.T) {
			reader := newConsumer(gw.dial(t), session, append([]part{}, parts...))
			const turn = len("a turn of all partitions takes") // 30 answers, with room for 70 records at least
			answers, left := 0, len(parts)
			for ; left > 0; answers++ {
				if answers > 2*perPartition*turn {
					t.Fatalf("%d partitions are left", left)
				}
				if n := reader.poll(); n > limit || n == 0 {
					t.Fatalf("%d bytes", n)
				}
				left = 0
				for _, p := range parts {
					name := p.name()
					if reader.read[name] == perPartition {
						continue
					}
					left++
					if reader.waits[name] > turn {
						t.Fatalf("%s was passed over %d times", name, reader.waits[name])
					}
				}
			}
			t.Logf("%d answers", answers)
		})
	}
}

// Many clients ask for more than the response budget has, of small records and of such that are larger than what they ask
// for: together they never hold more than the budget, and all of them get everything.
func TestFetchSharesTheBudget(t *testing.T) {
	const clients, capacity = 24, 1 << 20
	for name, tc := range map[string]struct {
		count, size int
		maxBytes    int32 // of a partition
	}{
		"small records":               {2000, 1000, 8 << 20},
		"larger than they are wanted": {6, 300_000, 1000},
		"nearly the budget":           {3, 800_000, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			answers := budget.New(capacity)
			t.Cleanup(func() { // when the gateway has stopped
				if n := answers.Used(); n != 0 {
					t.Errorf("%d bytes were not given back", n)
				}
			})
			gw := start(t, setup{deps: func(deps *api.Deps) { deps.ResponseBudget = answers }})
			topic := gw.newTopic(t, 1)
			writer := gw.dial(t)
			for left := tc.count; left > 0; {
				n := min(left, max(400_000/tc.size, 1))
				writer.produce(topic, 0, batchOf(batchForm{}, manyRecords(n, tc.size)...))
				left -= n
			}
			var readers []*consumer
			for i := range clients {
				readers = append(readers, newConsumer(gw.dial(t), i%2 == 0, []part{{topic: topic, maxBytes: tc.maxBytes}}))
			}
			done := make(chan struct{})
			for _, r := range readers {
				go func() {
					defer func() { done <- struct{}{} }()
					for r.read[r.order[0].name()] < tc.count {
						r.poll()
					}
				}()
			}
			for range readers {
				<-done
			}
			for i, r := range readers {
				if got := r.read[r.order[0].name()]; got != tc.count {
					t.Errorf("client %d read %d of %d", i, got, tc.count)
				}
			}
		})
	}
}

// BenchmarkFetchIdle is a fetch of 2,000 partitions that have nothing new, in a session and without one, the network and
// the client included.
func BenchmarkFetchIdle(b *testing.B) {
	gw := shared(b)
	var parts []part
	for range 2 {
		topic := gw.newTopic(b, 1000)
		for p := range int32(1000) {
			parts = append(parts, part{topic: topic, partition: p})
		}
	}
	for _, session := range []bool{false, true} {
		b.Run(fmt.Sprintf("session=%v", session), func(b *testing.B) {
			c := gw.dial(b)
			req := fetchRequest(parts...)
			if session {
				req.SessionEpoch = 0
				req.SessionID = ask[*kmsg.FetchResponse](c, req).SessionID
				req.Topics = nil
			}
			b.ReportAllocs()
			for b.Loop() {
				if session {
					req.SessionEpoch++
				}
				if resp := ask[*kmsg.FetchResponse](c, req); resp.ErrorCode != 0 || session && len(resp.Topics) != 0 {
					b.Fatalf("%d, %d topics", resp.ErrorCode, len(resp.Topics))
				}
			}
		})
	}
}
