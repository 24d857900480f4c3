// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// A record larger than every limit is served whole when it is the first (KIP-74); others obey the limits.
func TestFetchLargeRecord(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 3)
	for p := range int32(2) {
		c.produce(topic, p, large(500_000))
		c.produce(topic, p, large(10))
	}
	for _, limits := range []struct{ partition, all int32 }{{1024, 1024}, {0, 0}, {1, 50 << 20}, {50 << 20, 1}, {-1, -1}} {
		req := fetchRequest(part{topic: topic, partition: 2}, part{topic: topic, partition: 0}, part{topic: topic, partition: 1})
		req.MaxBytes = limits.all
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].PartitionMaxBytes = limits.partition
		}
		resp := ask[*kmsg.FetchResponse](c, req)
		var got []int
		for _, p := range resp.Topics[0].Partitions {
			if p.ErrorCode != 0 {
				t.Errorf("%+v: partition %d: error %d", limits, p.Partition, p.ErrorCode)
			}
			for _, r := range records(t, p.RecordBatches) {
				got = append(got, int(p.Partition), len(r.value))
			}
		}
		if want := []int{0, 500_000}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: served %v, want %v", limits, got, want)
		}
	}
}

// A partition obeys partition_max_bytes, and with it a consumer gets through everything.
func TestFetchPartitionMaxBytes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for range 20 {
		c.produce(topic, 0, batchOf(batchForm{}, manyRecords(50, 100)...))
	}
	const limit = 5000
	count := 0
	for offset := int64(0); offset < 1000; count++ {
		got := c.fetchOne(part{topic: topic, offset: offset, maxBytes: limit})
		read := records(t, got.RecordBatches)
		if len(got.RecordBatches) > limit || len(read) == 0 {
			t.Fatalf("from %d: %d bytes with %d records", offset, len(got.RecordBatches), len(read))
		}
		if read[0].offset > offset {
			t.Fatalf("from %d: begins at %d", offset, read[0].offset)
		}
		offset = read[len(read)-1].offset + 1
	}
	if count > 1000/10 { // 40 records fit; a fetch that brings one by one is useless
		t.Errorf("%d fetches", count)
	}
}

func manyRecords(n, size int) []record {
	rs := make([]record, n)
	for i := range rs {
		rs[i].timestamp, rs[i].value = 1, make([]byte, size)
	}
	return rs
}

// With more data than fits, an answer obeys max_bytes and no partition starves: whoever follows with the next offsets
// gets everything.
func TestFetchMaxBytes(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchMaxBytes = 150_000 }})
	c := gw.dial(t)
	const partitions, perPartition = 40, 100
	topic := gw.newTopic(t, partitions)
	for p := range int32(partitions) {
		c.produce(topic, p, batchOf(batchForm{}, manyRecords(perPartition, 1000)...))
	}
	for _, maxBytes := range []int32{100_000, 50 << 20} { // 50 MiB: the gateway's own limit is lower
		offsets := make([]int64, partitions)
		left := partitions * perPartition
		for rounds := 0; left > 0; rounds++ {
			var parts []part
			for p, offset := range offsets {
				if offset < perPartition {
					parts = append(parts, part{topic: topic, partition: int32(p), offset: offset, maxBytes: 10 << 20})
				}
			}
			req := fetchRequest(parts...)
			req.MaxBytes = maxBytes
			total, served := 0, 0
			for _, p := range ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions {
				if p.ErrorCode != 0 {
					t.Fatalf("partition %d: error %d", p.Partition, p.ErrorCode)
				}
				total += len(p.RecordBatches)
				if read := records(t, p.RecordBatches); len(read) > 0 {
					served++
					left -= len(read)
					offsets[p.Partition] += int64(len(read))
				}
			}
			if total > min(int(maxBytes), 150_000) {
				t.Fatalf("max_bytes %d: %d bytes", maxBytes, total)
			}
			if served < len(parts) {
				t.Fatalf("max_bytes %d: %d of %d partitions got something", maxBytes, served, len(parts))
			}
			if rounds > partitions*perPartition/20 {
				t.Fatalf("max_bytes %d: %d records left after %d rounds", maxBytes, left, rounds)
			}
		}
	}
}

// When even one record for each is too much, as many as fit are served; a client puts those served last, as Kafka's
// clients and sessions do, and gets through everything.
func TestFetchTakesTurns(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	const partitions = 20
	topic := gw.newTopic(t, partitions)
	for p := range int32(partitions) {
		c.produce(topic, p, large(10_000))
	}
	order := make([]int32, partitions)
	for i := range order {
		order[i] = int32(i)
	}
	seen := map[int32]bool{}
	for rounds := 0; len(seen) < partitions; rounds++ {
		if rounds > partitions/2 { // four fit into one answer
			t.Fatalf("%d of %d partitions were served in %d rounds", len(seen), partitions, rounds)
		}
		var parts []part
		for _, p := range order {
			parts = append(parts, part{topic: topic, partition: p})
		}
		req := fetchRequest(parts...)
		req.MaxBytes = 45_000
		total := 0
		var first, last []int32
		for _, p := range ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions {
			if total += len(p.RecordBatches); len(p.RecordBatches) > 0 {
				seen[p.Partition] = true
				last = append(last, p.Partition)
			} else {
				first = append(first, p.Partition)
			}
		}
		if total > 45_000 {
			t.Fatalf("%d bytes", total)
		}
		if len(last) == 0 {
			t.Fatal("nothing was served")
		}
		order = append(first, last...)
	}
}

// Records of very different sizes: the average misleads, the limits hold, and everything arrives.
func TestFetchUnevenSizes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	var want []int
	for i := range 30 {
		size := 10
		if i%7 == 3 {
			size = 200_000
		}
		c.produce(topic, 0, large(size))
		want = append(want, size)
	}
	var got []int
	for offset := int64(0); offset < int64(len(want)); {
		p := c.fetchOne(part{topic: topic, offset: offset, maxBytes: 50_000})
		read := records(t, p.RecordBatches)
		if len(read) == 0 || len(p.RecordBatches) > 50_000 && len(read) > 1 {
			t.Fatalf("from %d: %d records in %d bytes", offset, len(read), len(p.RecordBatches))
		}
		for _, r := range read {
			got = append(got, len(r.value))
		}
		offset += int64(len(read))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}
