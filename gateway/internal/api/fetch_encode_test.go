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
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
)

// The encoder that Fetch has of its own must write what kmsg writes, in every version.
func TestFetchEncoding(t *testing.T) {
	bounds := bridge.Bounds{Start: 3, Next: 1 << 40, MessageSize: 100}
	item := func(partition int32) fetchItem {
		return fetchItem{Part: fetchsession.Part{Partition: partition}, bounds: bounds, known: true}
	}
	full := func(partition int32, size int) fetchItem {
		it := item(partition)
		it.records = bytes.Repeat([]byte{byte(partition)}, size)
		return it
	}
	failed := func(partition int32, code int16, missing bool) fetchItem {
		it := item(partition)
		it.code, it.missing = code, missing
		return it
	}
	omitted := func(partition int32) fetchItem {
		it := item(partition)
		it.Omit = true
		return it
	}
	type topic = []fetchItem
	cases := map[string][]topic{
		"nothing":            nil,
		"no records":         {{item(0)}},
		"unknown bounds":     {{{Part: fetchsession.Part{Partition: 7}}}},
		"records":            {{full(0, 61)}},
		"1 byte":             {{full(0, 1)}},
		"127, 128":           {{full(0, 126), full(1, 127), full(2, 128)}},
		"large":              {{full(0, 1<<20)}},
		"an error":           {{failed(0, offsetOutOfRange, false)}},
		"one between errors": {{failed(0, unknownTopicOrPartition, true), full(1, 300), failed(2, notLeaderOrFollower, false)}},
		"three topics": {
			{full(0, 5), item(1), full(2, 70_000)},
			{item(0)},
			{full(5, 9), full(6, 9), failed(1<<30, unknownLeaderEpoch, false)},
		},
		"all left out":      {{omitted(0), omitted(1)}, {omitted(0)}},
		"some left out":     {{omitted(0), full(1, 5), omitted(2)}, {omitted(0)}, {full(3, 5), omitted(4), item(5)}},
		"200 topics":        manyTopics(200),
		"a topic of 10,000": {make(topic, 10_000)},
	}
	for version := int16(4); version <= 18; version++ {
		for name, topics := range cases {
			for level := range int8(2) {
				t.Run(fmt.Sprintf("v%d/%s/%d", version, name, level), func(t *testing.T) {
					req := kmsg.NewPtrFetchRequest()
					req.Version, req.IsolationLevel = version, level
					f := &fetchRun{req: req, sessionID: 1 << 30, items: named(topics)}
					bufs, size := f.encode()
					got := bytes.Join(bufs, nil)
					want := kmsgFetch(f).AppendTo(nil)
					if !bytes.Equal(got, want) {
						t.Errorf("got  %.200x\nwant %.200x", got, want)
					}
					if size != len(got) {
						t.Errorf("size %d, has %d bytes", size, len(got))
					}
					meta := size - recordBytes(f.items)
					if bound := metaSize(f.answered()); meta > bound || bound > f.metaSize() {
						t.Errorf("%d bytes besides the records, bounds %d and %d", meta, bound, f.metaSize())
					}
				})
			}
		}
	}
}

// named gives topics names of up to 249 bytes, and ids.
func named(topics [][]fetchItem) []fetchItem {
	var items []fetchItem
	for i, topic := range topics {
		name := &fetchsession.Topic{Name: strings.Repeat("n", 249>>i) + fmt.Sprint(i), ID: [16]byte{1, 15: byte(i)}}
		for _, it := range topic {
			it.Topic = name
			items = append(items, it)
		}
	}
	return items
}

func manyTopics(n int) [][]fetchItem {
	var topics [][]fetchItem
	for i := range n {
		topics = append(topics, []fetchItem{{Part: fetchsession.Part{Partition: int32(i)}, code: unknownTopicOrPartition, missing: true}})
	}
	return topics
}

func recordBytes(items []fetchItem) int {
	n := 0
	for i := range items {
		n += len(items[i].records)
	}
	return n
}

// kmsgFetch is the answer in kmsg's form.
func kmsgFetch(f *fetchRun) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.SessionID = f.req.Version, f.sessionID
	var last *fetchsession.Topic
	for i := range f.items {
		it := &f.items[i]
		if it.Omit {
			continue
		}
		if it.Topic != last {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = it.Topic.Name, it.Topic.ID
			resp.Topics = append(resp.Topics, topic)
			last = it.Topic
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode, p.PreferredReadReplica = it.Partition, it.code, -1
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		if it.code == none && it.known {
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = it.bounds.Next, it.bounds.Next, it.bounds.Start
		}
		if it.missing || it.code == none && f.req.IsolationLevel == 1 {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		p.RecordBatches = append([]byte{}, it.records...)
		topic := &resp.Topics[len(resp.Topics)-1]
		topic.Partitions = append(topic.Partitions, p)
	}
	return resp
}
