// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"maps"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// FuzzSettings: whatever clients set, it is refused with a text, or told as it was set once Iggy holds its part of it; and the form
// in which it is told can be set again and says the same.
func FuzzSettings(f *testing.F) {
	for i, k := range Keys() {
		f.Add(k.Name, k.Default, "retention.ms", "60000", int8(i%5), int32(i))
	}
	f.Add("retention.bytes", "9223372036854775807", "cleanup.policy", " compact , delete ", int8(2), int32(1000))
	f.Add("retention.ms", "0", "retention.bytes", "0", int8(0), int32(3))
	f.Add("min.cleanable.dirty.ratio", "0x1p-2", "preallocate", " TRUE", int8(0), int32(1))
	table := NewTable()
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, op int8, partitions int32) {
		settings, err := table.Apply(map[string]string{name1: value1}, []Change{{name2, Op(op), value2}})
		if err == nil {
			err = table.Validate(settings)
		}
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a text")
			}
			return
		}
		told := map[string]string{}
		for name, value := range settings {
			told[name] = table.byName[name].Canonical(value)
		}
		if err := table.Validate(told); err != nil {
			t.Errorf("%q is told as %q: %v", settings, told, err)
		}
		if RetentionOf(told) != RetentionOf(settings) {
			t.Errorf("%q is told as %q", settings, told)
		}
		r := RetentionOf(settings).Resolved()
		partitions = min(max(partitions, 1), 1000)
		topic := &bridge.Topic{
			Partitions: partitions, MessageExpiry: r.MessageExpiry, MaxSize: max(bridge.TopicSize(r.PartitionSize, partitions), bridge.MinTopicSize),
		}
		if own := Own(topic, Beside(topic, settings)); !maps.Equal(own, settings) {
			t.Errorf("%q reads back as %q", settings, own)
		}
	})
}
