// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// The encoder that Fetch has of its own must write what kmsg writes, in every version.
func TestFetchEncoding(t *testing.T) {
	bounds := bridge.Bounds{Start: 3, Next: 1 << 40, MessageSize: 100}
	item := func(partition int32) fetchItem { return fetchItem{partition: partition, bounds: bounds, known: true} }
	full := func(partition int32, size int) fetchItem {
		it := item(partition)
		it.records = bytes.Repeat([]byte{byte(partition)}, size)
		return it
	}
	failed := func(partition int32, code int16, aborted bool) fetchItem {
		it := item(partition)
		it.code, it.aborted = code, aborted
		return it
	}
	committed := full(1, 10)
	committed.aborted = true
	long := strings.Repeat("n", 249)
	cases := map[string][]fetchTopic{
		"nothing":            nil,
		"topic of nothing":   {{name: "a"}},
		"no records":         {{name: "a", items: []fetchItem{item(0)}}},
		"unknown bounds":     {{name: "a", items: []fetchItem{{partition: 7}}}},
		"records":            {{name: "a", items: []fetchItem{full(0, 61)}}},
		"1 byte":             {{name: "a", items: []fetchItem{full(0, 1)}}},
		"127, 128":           {{name: "a", items: []fetchItem{full(0, 126), full(1, 127), full(2, 128)}}},
		"large":              {{name: "a", items: []fetchItem{full(0, 1<<20)}}},
		"an error":           {{name: "a", items: []fetchItem{failed(0, offsetOutOfRange, false)}}},
		"read committed":     {{name: "a", items: []fetchItem{committed}}},
		"one between errors": {{name: "a", items: []fetchItem{failed(0, unknownTopicOrPartition, true), full(1, 300), failed(2, notLeaderOrFollower, true)}}},
		"three topics": {
			{name: long, items: []fetchItem{full(0, 5), item(1), full(2, 70_000)}},
			{name: "b", items: []fetchItem{item(0)}},
			{name: "c", items: []fetchItem{full(5, 9), full(6, 9), failed(1<<30, unknownLeaderEpoch, true)}},
		},
		"200 topics": manyTopics(200),
	}
	for version := int16(4); version <= 12; version++ {
		for name, topics := range cases {
			t.Run(fmt.Sprintf("v%d/%s", version, name), func(t *testing.T) {
				req := kmsg.NewPtrFetchRequest()
				req.Version = version
				f := &fetchRun{req: req, topics: topics}
				bufs, size := f.encode()
				got := bytes.Join(bufs, nil)
				want := kmsgFetch(version, topics).AppendTo(nil)
				if !bytes.Equal(got, want) {
					t.Errorf("got  %x\nwant %x", got, want)
				}
				if size != len(got) {
					t.Errorf("size %d, has %d bytes", size, len(got))
				}
				if meta := size - recordBytes(topics); meta > f.metaSize() {
					t.Errorf("%d bytes besides the records, bound %d", meta, f.metaSize())
				}
			})
		}
	}
}

func manyTopics(n int) []fetchTopic {
	var topics []fetchTopic
	for i := range n {
		topics = append(topics, fetchTopic{name: fmt.Sprint("topic", i), items: []fetchItem{{partition: int32(i), code: unknownTopicOrPartition, aborted: true}}})
	}
	return topics
}

func recordBytes(topics []fetchTopic) int {
	n := 0
	for i := range topics {
		for j := range topics[i].items {
			n += len(topics[i].items[j].records)
		}
	}
	return n
}

// kmsgFetch is the answer in kmsg's form.
func kmsgFetch(version int16, topics []fetchTopic) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = version
	for i := range topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = topics[i].name
		for j := range topics[i].items {
			it := &topics[i].items[j]
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode, p.PreferredReadReplica = it.partition, it.code, -1
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
			if it.code == none && it.known {
				p.HighWatermark, p.LastStableOffset, p.LogStartOffset = it.bounds.Next, it.bounds.Next, it.bounds.Start
			}
			if it.aborted {
				p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			p.RecordBatches = append([]byte{}, it.records...)
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
