// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package topicconfig

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Retention is what Iggy holds of a topic's settings.
type Retention struct {
	MessageExpiry uint64 // µs, or iggywire's special values
	// PartitionSize is what a topic may take, in bytes, divided by its partitions; or iggywire's special values.
	PartitionSize uint64
}

// RetentionOf is what valid settings make of a topic: where they say nothing, the server's default. Iggy's 0 means that,
// so Kafka's 0 becomes the smallest there is. Where the cleanup policy does not say delete, nothing is to expire whatever the
// server's default is: who sets compact alone, as Connect and Streams do, keeps state in the topic.
func RetentionOf(settings map[string]string) Retention {
	set := NewEffective(settings)
	if !set.Delete {
		return Retention{iggywire.NeverExpire, iggywire.UnlimitedSize}
	}
	var r Retention
	if text, ok := settings[RetentionMs]; ok {
		r.MessageExpiry = scaled(text, 1000, iggywire.NeverExpire)
	}
	if text, ok := settings[RetentionBytes]; ok {
		r.PartitionSize = scaled(text, 1, iggywire.UnlimitedSize)
	}
	return r
}

// scaled multiplies a valid number; negative ones and those too large mean unlimited.
func scaled(text string, factor, unlimited uint64) uint64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 || uint64(n) > math.MaxUint64/factor {
		return unlimited
	}
	return max(uint64(n)*factor, 1)
}

// Resolved is r with no limit where it says the server's default: a server resolves that when a topic is made, and takes it
// for none afterwards.
func (r Retention) Resolved() Retention {
	if r.MessageExpiry == iggywire.ServerDefault {
		r.MessageExpiry = iggywire.NeverExpire
	}
	if r.PartitionSize == iggywire.ServerDefault {
		r.PartitionSize = iggywire.UnlimitedSize
	}
	return r
}

// MayBeOf reports that t can have been made with r. What r leaves to the server can be anything.
func (r Retention) MayBeOf(t *bridge.Topic) bool {
	size := bridge.TopicSize(r.PartitionSize, t.Partitions)
	return (r.MessageExpiry == iggywire.ServerDefault || r.MessageExpiry == t.MessageExpiry) &&
		(size == iggywire.ServerDefault || size == t.MaxSize || max(size, bridge.MinTopicSize) == t.MaxSize)
}

// Own returns the settings that a topic has of its own: those that are kept beside Iggy, but where Iggy holds something else
// than they say, what Iggy holds. It may be made so by a native client, and what Kafka cannot express is rounded: a fraction of
// a ms up, that of a byte down. The caller may change the map.
func Own(t *bridge.Topic, kept map[string]string) map[string]string {
	own := maps.Clone(kept)
	if own == nil {
		own = map[string]string{}
	}
	want := RetentionOf(kept).Resolved()
	held := Retention{t.MessageExpiry, t.MaxSize}.Resolved()
	if held.MessageExpiry != want.MessageExpiry {
		own[RetentionMs] = number(held.MessageExpiry, iggywire.NeverExpire, func(µs uint64) uint64 { return µs/1000 + min(µs%1000, 1) })
	}
	size := bridge.TopicSize(want.PartitionSize, t.Partitions)
	if held.PartitionSize != size && held.PartitionSize != max(size, bridge.MinTopicSize) {
		own[RetentionBytes] = number(held.PartitionSize, iggywire.UnlimitedSize, func(bytes uint64) uint64 { return bytes / uint64(max(t.Partitions, 1)) })
	}
	return own
}

// number writes a limit as Kafka does; none is -1.
func number(n, unlimited uint64, convert func(uint64) uint64) string {
	if n == unlimited || convert(n) > math.MaxInt64 {
		return "-1"
	}
	return strconv.FormatUint(convert(n), 10)
}

// Beside returns those of a topic's own settings that must be kept beside Iggy, as it does not say them itself.
func Beside(t *bridge.Topic, own map[string]string) map[string]string {
	kept := maps.Clone(own)
	for _, name := range []string{RetentionMs, RetentionBytes} {
		value, set := own[name]
		if !set {
			continue
		}
		delete(kept, name)
		if told, ok := Own(t, kept)[name]; !ok || told != value {
			kept[name] = value
		}
	}
	return kept
}
