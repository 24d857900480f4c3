// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkInspect is what the walk adds to a request's decoding, by the request's form.
func BenchmarkInspect(b *testing.B) {
	produce := kmsg.NewPtrProduceRequest()
	produce.Version = 9
	topic, partition := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, partition.Records = "some-topic", make([]byte, 16<<10)
	topic.Partitions = append(topic.Partitions, partition)
	produce.Topics = append(produce.Topics, topic)

	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 12
	fetched := kmsg.NewFetchRequestTopic()
	fetched.Topic = "some-topic"
	fetched.Partitions = slices.Repeat([]kmsg.FetchRequestTopicPartition{kmsg.NewFetchRequestTopicPartition()}, 1000)
	fetch.Topics = append(fetch.Topics, fetched)

	table := NewTable()
	for _, bench := range []struct {
		name string
		req  kmsg.Request
	}{
		{"produce of 1 partition", produce},
		{"fetch of 1000 partitions", fetch},
		{"metadata of 1000 topics", metadataOf(1000, 20)},
	} {
		frame := frameOf(bench.req)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.Inspect(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+", decoded", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.Decode(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
