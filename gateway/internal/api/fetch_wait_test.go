// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// long is a wait that a test never sits out: what answers within it was woken.
const long = 18_000 // ms

// A waiting fetch wakes for what this gateway writes, whoever writes it, and for what native producers write.
func TestFetchWakes(t *testing.T) {
	gw := shared(t)
	for name, write := range map[string]func(t *testing.T, topic string){
		"produce": func(t *testing.T, topic string) { gw.dial(t).produce(topic, 0, batch("news")) },
		"native":  func(t *testing.T, topic string) { gw.sendNative(t, topic, "news") },
	} {
		t.Run(name, func(t *testing.T) {
			topic, quiet := gw.newTopic(t, 1), gw.newTopic(t, 1)
			c := gw.dial(t)
			c.produce(topic, 0, batch("seen"))
			req := fetchRequest(part{topic: quiet}, part{topic: topic, offset: 1})
			req.MaxWaitMillis = long
			began := time.Now()
			c.send(req)
			write(t, topic)
			got := next[*kmsg.FetchResponse](c)
			if took := time.Since(began); took > long*time.Millisecond/2 {
				t.Errorf("woke after %v", took)
			}
			if read := values(records(t, got.Topics[1].Partitions[0].RecordBatches)); len(read) != 1 || read[0] != "news" {
				t.Errorf("read %q", read)
			}
			if n := len(got.Topics[0].Partitions[0].RecordBatches); n != 0 {
				t.Errorf("the quiet topic has %d bytes", n)
			}
		})
	}
}

// Without news a fetch waits as long as it was asked to, and not much longer.
func TestFetchWaitsInVain(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	req := fetchRequest(part{topic: topic})
	req.MaxWaitMillis = 300
	began := time.Now()
	got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req))
	took := time.Since(began)
	if got.ErrorCode != 0 || got.HighWatermark != 0 || len(got.RecordBatches) != 0 || got.RecordBatches == nil {
		t.Errorf("answered %+v", got)
	}
	if took < 300*time.Millisecond || took > patience/2 {
		t.Errorf("took %v", took)
	}
}

// min_bytes 0 waits for nothing, 1 for a record, 1 MiB for that much or the end of the wait.
func TestFetchMinBytes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)

	req := fetchRequest(part{topic: topic})
	req.MaxWaitMillis, req.MinBytes = long, 0
	began := time.Now()
	ask[*kmsg.FetchResponse](c, req)
	if took := time.Since(began); took > long*time.Millisecond/2 {
		t.Errorf("min_bytes 0: took %v", took)
	}

	c.produce(topic, 0, batch("little"))
	req.MaxWaitMillis, req.MinBytes = 300, 1<<20
	began = time.Now()
	got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req))
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("1 MiB was not waited for: %v", took)
	}
	if read := values(records(t, got.RecordBatches)); len(read) != 1 {
		t.Errorf("at the end of the wait: %q", read)
	}

	req.MaxWaitMillis = long
	req.Topics[0].Partitions[0].PartitionMaxBytes = 8 << 20
	req.Topics[0].Partitions[0].FetchOffset = 1 // sizes are guessed from the average; the little one would spoil it
	began = time.Now()
	c.send(req)
	other := gw.dial(t)
	for range 3 {
		other.produce(topic, 0, large(500_000))
	}
	got = onlyPartition(c, next[*kmsg.FetchResponse](c))
	if took := time.Since(began); took > long*time.Millisecond/2 {
		t.Errorf("1 MiB there: took %v", took)
	}
	if len(got.RecordBatches) < 1<<20 {
		t.Errorf("%d bytes", len(got.RecordBatches))
	}
}

// What a partition itself refuses is told at once, with what the good partitions have.
func TestFetchErrorEndsWait(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 3)
	c.produce(topic, 1, batch("v"))
	for name, bad := range map[string]part{
		"out of range": {topic: topic, partition: 0, offset: 5},
		"newer epoch":  {topic: topic, partition: 0, epoch: 9},
	} {
		req := fetchRequest(part{topic: topic, partition: 1}, bad, part{topic: topic, partition: 2})
		req.MaxWaitMillis, req.MinBytes = long, 1<<20
		began := time.Now()
		resp := ask[*kmsg.FetchResponse](c, req)
		if took := time.Since(began); took > long*time.Millisecond/2 {
			t.Errorf("%s: took %v", name, took)
		}
		if got := resp.Topics[0].Partitions[0]; got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
			t.Errorf("%s: the good partition: %+v", name, got)
		}
		if got := resp.Topics[0].Partitions[1]; got.ErrorCode == 0 || got.AbortedTransactions != nil {
			t.Errorf("%s: the bad partition: %+v", name, got)
		}
	}
}

// What does not exist is told with the rest, as by a broker: a consumer whose topic was deleted would else ask again and
// again without a pause. When there is nothing to wait for, all is told at once.
func TestFetchMissingWaits(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for _, version := range []int16{11, 13} {
		for name, bad := range map[string]part{
			"topic":     {topic: "no-such-topic"},
			"partition": {topic: topic, partition: 9},
		} {
			req := gw.fetchAt(t, version, part{topic: topic}, bad)
			req.MaxWaitMillis = 300
			began := time.Now()
			resp := ask[*kmsg.FetchResponse](c, req)
			if took := time.Since(began); took < 300*time.Millisecond {
				t.Errorf("v%d, beside a missing %s: took %v", version, name, took)
			}
			last := resp.Topics[len(resp.Topics)-1].Partitions
			if got := last[len(last)-1]; got.ErrorCode == 0 || got.AbortedTransactions == nil {
				t.Errorf("v%d, a missing %s: %+v", version, name, got)
			}
			req = gw.fetchAt(t, version, bad)
			req.MaxWaitMillis = long
			began = time.Now()
			ask[*kmsg.FetchResponse](c, req)
			if took := time.Since(began); took > long*time.Millisecond/2 {
				t.Errorf("v%d, nothing but a missing %s: took %v", version, name, took)
			}
		}
		req := gw.fetchAt(t, version)
		req.MaxWaitMillis = long
		began := time.Now()
		if got := ask[*kmsg.FetchResponse](c, req); len(got.Topics) != 0 {
			t.Errorf("v%d, nothing: %+v", version, got)
		}
		if took := time.Since(began); took > long*time.Millisecond/2 {
			t.Errorf("v%d, nothing: took %v", version, took)
		}
	}
}

// A fetch that waits holds nothing of the budgets for requests, in a session or not: idle consumers must not keep producers
// waiting. What it holds has a budget of its own.
func TestFetchWaitsWithoutItsRequest(t *testing.T) {
	const partitions = 4000 // of which one is there
	gw := start(t, setup{})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	id := int32(0)
	for _, tc := range []struct {
		name  string
		epoch int32
		named bool
		least int64 // bytes for a partition
	}{
		{"no session", -1, true, 300},
		{"a session begins", 0, true, 300},
		{"it goes on", 1, false, 200},
		{"everything is named again", 2, true, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts, end := make([]part, partitions), c.latest(topic, 0)
			for i := range parts {
				parts[i] = part{topic: topic, partition: int32(i), offset: end}
			}
			if !tc.named {
				parts = parts[:1]
			}
			req := fetchRequest(parts...)
			req.SessionID, req.SessionEpoch, req.MaxWaitMillis = id, tc.epoch, long
			waiting := gw.dial(t)
			waiting.send(req)
			until(t, "the fetch waits, without its request", func() bool {
				return gw.budgets["fetching"].Used() >= partitions*tc.least && gw.budgets["decode"].Used() == 0 && gw.budgets["frame"].Used() == 0
			})
			c.produce(topic, 0, batch("v"))
			resp := next[*kmsg.FetchResponse](waiting)
			if resp.ErrorCode != 0 || len(resp.Topics) != 1 {
				t.Errorf("error %d, %d topics", resp.ErrorCode, len(resp.Topics))
			}
			id = resp.SessionID
		})
	}
}

// A fetch that waits does not keep the connection's later requests from being written, and answers stay in order; a
// client that goes takes its wait with it (the leak check sees to that).
func TestFetchWaitsBesideProduce(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	fetch := fetchRequest(part{topic: topic})
	fetch.MaxWaitMillis = long
	c.send(fetch, produceRequest(part{topic: topic, records: batch("mine")}))
	got := onlyPartition(c, next[*kmsg.FetchResponse](c))
	if read := values(records(t, got.RecordBatches)); len(read) != 1 || read[0] != "mine" {
		t.Errorf("read %q", read)
	}
	if got := producedTo(next[*kmsg.ProduceResponse](c)); got[0] != topic+"/0: 0 at 0" {
		t.Errorf("produced %q", got)
	}

	leaves := gw.dial(t)
	leaves.send(fetchRequestAt(topic, 1))
	leaves.nc.Close()
}

func fetchRequestAt(topic string, offset int64) *kmsg.FetchRequest {
	req := fetchRequest(part{topic: topic, offset: offset})
	req.MaxWaitMillis = long
	return req
}

// Fifty consumers of one topic wait; all of them get the record.
func TestFetchManyWaiters(t *testing.T) {
	gw := shared(t)
	topic := gw.newTopic(t, 1)
	var waiting []*client
	for range 50 {
		c := gw.dial(t)
		c.send(fetchRequestAt(topic, 0))
		waiting = append(waiting, c)
	}
	gw.dial(t).produce(topic, 0, batch("for all"))
	for _, c := range waiting {
		got := onlyPartition(c, next[*kmsg.FetchResponse](c))
		if read := values(records(t, got.RecordBatches)); len(read) != 1 {
			t.Errorf("read %q", read)
		}
	}
}

// A consumer that has much to read of one topic still gets what native producers write to another one, and hears of
// an offset that is out of range there.
func TestFetchBesideBacklog(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	busy, quiet, other := gw.newTopic(t, 1), gw.newTopic(t, 1), gw.newTopic(t, 1)
	c.produce(busy, 0, batchOf(batchForm{}, manyRecords(1000, 100)...))
	gw.sendNative(t, quiet, "news")
	served, told := false, false
	for offset := int64(0); !served || !told; {
		resp := ask[*kmsg.FetchResponse](c, fetchRequest(
			part{topic: busy, offset: offset, maxBytes: 2000}, part{topic: quiet}, part{topic: other, offset: 7}))
		read := records(t, resp.Topics[0].Partitions[0].RecordBatches)
		if len(read) == 0 {
			t.Fatalf("the backlog was read, and of the others: served %v, told %v", served, told)
		}
		offset = read[len(read)-1].offset + 1
		served = served || len(resp.Topics[1].Partitions[0].RecordBatches) > 0
		told = told || resp.Topics[2].Partitions[0].ErrorCode == codeOffsetOutOfRange
	}
}

// A fetch in a session waits for all of its partitions, also for those that only earlier requests named, and is answered
// with those that have something. In vain it is answered with nothing.
func TestFetchSessionWaits(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 3)
	for _, version := range []int16{7, 12, 13, 18} {
		req := gw.fetchAt(t, version, part{topic: topic}, part{topic: topic, partition: 1}, part{topic: topic, partition: 2})
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].FetchOffset = c.latest(topic, int32(i))
		}
		req.SessionEpoch = 0
		req.SessionID = ask[*kmsg.FetchResponse](c, req).SessionID
		req.SessionEpoch, req.MaxWaitMillis, req.Topics = 1, 300, nil
		began := time.Now()
		resp := ask[*kmsg.FetchResponse](c, req)
		if took := time.Since(began); len(resp.Topics) != 0 || resp.ErrorCode != 0 || took < 300*time.Millisecond {
			t.Errorf("v%d, in vain: %+v after %v", version, resp, took)
		}
		req.SessionEpoch, req.MaxWaitMillis = 2, long
		began = time.Now()
		c.send(req)
		gw.dial(t).produce(topic, 1, batch("news"))
		got := onlyPartition(c, next[*kmsg.FetchResponse](c))
		if took := time.Since(began); took > long*time.Millisecond/2 {
			t.Errorf("v%d: woke after %v", version, took)
		}
		if read := values(records(t, got.RecordBatches)); got.Partition != 1 || len(read) != 1 {
			t.Errorf("v%d: %+v", version, got)
		}
	}
}

// latest is where a partition ends.
func (c *client) latest(topic string, partition int32) int64 {
	c.Helper()
	resp := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, partition: partition, timestamp: -1}))
	return resp.Topics[0].Partitions[0].Offset
}
