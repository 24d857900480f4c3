// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func (w *world) streams(c *client) {
	// Names are bytes: any UTF-8, told apart by case, up to 255 of them.
	for _, name := range []string{w.name("a b"), w.name("A B"), w.name("flüsse流"), w.name(strings.Repeat("s", iggywire.MaxNameLength-len(w.prefix)))} {
		made := find(c, iggywire.CreateStream{Name: name}, iggywire.ParseStreamDetails)
		want := iggywire.StreamDetails{Stream: iggywire.Stream{ID: made.ID, CreatedAt: made.CreatedAt, Name: name}}
		if diff := cmp.Diff(want, made); diff != "" || made.CreatedAt == 0 {
			c.Errorf("%q (-want +made):\n%s", name, diff)
		}
		for _, id := range []iggywire.Identifier{iggywire.NamedID(name), iggywire.NumericID(made.ID)} {
			if diff := cmp.Diff(made, find(c, iggywire.GetStream{Stream: id}, iggywire.ParseStreamDetails)); diff != "" {
				c.Errorf("%v (-made +found):\n%s", id, diff)
			}
		}
		listed := false
		for _, s := range get(c, iggywire.Bare(iggywire.CodeGetStreams), iggywire.ParseStreams) {
			listed = listed || s == made.Stream
		}
		if !listed {
			c.Errorf("%q is not in the list", name)
		}
		c.must(iggywire.UpdateStream{Stream: iggywire.NamedID(name), Name: w.name("renamed")})
		c.missing(iggywire.GetStream{Stream: iggywire.NamedID(name)})
		if now := find(c, iggywire.GetStream{Stream: w.named("renamed")}, iggywire.ParseStreamDetails); now.ID != made.ID || now.CreatedAt != made.CreatedAt {
			c.Errorf("renamed, %+v became %+v", made, now)
		}
		c.must(iggywire.DeleteStream{Stream: iggywire.NumericID(made.ID)})
		c.missing(iggywire.GetStream{Stream: w.named("renamed")})
	}
	c.missing(iggywire.GetTopics{Stream: w.named("none")})
}

func (w *world) topics(c *client) {
	// Settings are kept as given, but for those that leave it to the server.
	for name, set := range map[string]struct {
		partitions           uint32
		expiry, size         uint64
		factor               uint8
		compression          uint8
		keptExpiry, keptSize uint64
		keptFactor           uint8
	}{
		"defaults":  {1, iggywire.ServerDefault, iggywire.ServerDefault, 0, iggywire.CompressionNone, iggywire.NeverExpire, iggywire.UnlimitedSize, 1},
		"unlimited": {3, iggywire.NeverExpire, iggywire.UnlimitedSize, 1, iggywire.CompressionNone, iggywire.NeverExpire, iggywire.UnlimitedSize, 1},
		"limited":   {1, 1_000_000, 2 << 30, 3, iggywire.CompressionGzip, 1_000_000, 2 << 30, 3},
		"none":      {0, 60_000_000, 4 << 30, 1, iggywire.CompressionNone, 60_000_000, 4 << 30, 1},
		"thousand":  {iggywire.MaxPartitions, 0, 0, 1, iggywire.CompressionNone, iggywire.NeverExpire, iggywire.UnlimitedSize, 1},
	} {
		made := find(c, iggywire.CreateTopic{
			Stream: w.stream, Name: w.name(name), Partitions: set.partitions, Compression: set.compression,
			MessageExpiry: set.expiry, MaxSize: set.size, ReplicationFactor: set.factor,
		}, iggywire.ParseTopicDetails)
		want := iggywire.Topic{
			ID: made.ID, CreatedAt: made.CreatedAt, Partitions: set.partitions, MessageExpiry: set.keptExpiry,
			Compression: set.compression, MaxSize: set.keptSize, ReplicationFactor: set.keptFactor, Name: w.name(name),
		}
		if diff := cmp.Diff(want, made.Topic); diff != "" || made.CreatedAt == 0 || len(made.PartitionList) != int(set.partitions) {
			c.Errorf("%s, %d partitions (-want +made):\n%s", name, len(made.PartitionList), diff)
		}
		for _, id := range []iggywire.Identifier{w.named(name), iggywire.NumericID(made.ID)} {
			found := find(c, iggywire.GetTopic{Stream: w.stream, Topic: id}, iggywire.ParseTopicDetails)
			if diff := cmp.Diff(want, found.Topic); diff != "" {
				c.Errorf("%v (-made +found):\n%s", id, diff)
			}
			for i, p := range found.PartitionList {
				if p.ID != uint32(i) || p.Segments != 1 || p.CurrentOffset != 0 || p.Messages != 0 || p.Size != 0 {
					c.Errorf("%s: partition %d is %+v", name, i, p)
				}
			}
		}
		if listed := w.listed(c, want.Name); listed != want {
			c.Errorf("%s in the list: %+v", name, listed)
		}
		c.must(iggywire.DeleteTopic{Stream: w.stream, Topic: w.named(name)})
		c.missing(iggywire.GetTopic{Stream: w.stream, Topic: w.named(name)})
	}
	c.missing(iggywire.GetTopic{Stream: w.named("none"), Topic: w.topic})

	// The number of a deleted topic is given out again: only with its time of creation it is an identity.
	first := find(c, w.createTopic("again", 1), iggywire.ParseTopicDetails)
	c.must(iggywire.DeleteTopic{Stream: w.stream, Topic: w.named("again")})
	second := find(c, w.createTopic("again", 1), iggywire.ParseTopicDetails)
	if second.ID != first.ID || second.CreatedAt <= first.CreatedAt {
		c.Errorf("made again: %d at %d, then %d at %d", first.ID, first.CreatedAt, second.ID, second.CreatedAt)
	}

	// An update is all settings. Nothing is left to the server then: a size of 0 reads back as 0.
	c.must(iggywire.UpdateTopic{
		Stream: w.stream, Topic: w.named("again"), Name: w.name("renamed"), Compression: iggywire.CompressionGzip,
		MessageExpiry: 60_000_000, MaxSize: 0, ReplicationFactor: 2,
	})
	want := second.Topic
	want.Name, want.Compression, want.MessageExpiry, want.MaxSize, want.ReplicationFactor = w.name("renamed"), iggywire.CompressionGzip, 60_000_000, 0, 2
	if diff := cmp.Diff(want, w.listed(c, want.Name)); diff != "" {
		c.Errorf("updated (-want +listed):\n%s", diff)
	}
	whole := find(c, iggywire.GetStream{Stream: w.stream}, iggywire.ParseStreamDetails)
	if whole.Topics != uint32(len(whole.TopicList)) || whole.Messages < 3 || whole.Size == 0 {
		c.Errorf("stream %+v", whole.Stream)
	}
}

// listed is a topic as the list of the stream's topics has it.
func (w *world) listed(c *client, name string) iggywire.Topic {
	c.Helper()
	for _, t := range get(c, iggywire.GetTopics{Stream: w.stream}, iggywire.ParseTopics) {
		if t.Name == name {
			return t
		}
	}
	return iggywire.Topic{}
}

func (w *world) partitions(c *client) {
	topic := w.newTopic(c, 2)
	ids := func() (ids []uint32) {
		for _, p := range find(c, iggywire.GetTopic{Stream: w.stream, Topic: topic}, iggywire.ParseTopicDetails).PartitionList {
			ids = append(ids, p.ID)
		}
		return ids
	}
	c.must(iggywire.CreatePartitions{Stream: w.stream, Topic: topic, Partitions: 2})
	if diff := cmp.Diff([]uint32{0, 1, 2, 3}, ids()); diff != "" {
		c.Errorf("two more (-want +got):\n%s", diff)
	}
	old := send{w.stream, topic, iggywire.ToPartition(3), w.send(0, message(1, "old")).messages}
	c.must(old)
	c.must(iggywire.DeletePartitions{Stream: w.stream, Topic: topic, Partitions: 1})
	if diff := cmp.Diff([]uint32{0, 1, 2}, ids()); diff != "" {
		c.Errorf("one less (-want +got):\n%s", diff)
	}
	c.refused(iggywire.StatusPartitionNotFound, old)
	c.must(iggywire.CreatePartitions{Stream: w.stream, Topic: topic, Partitions: 1})
	poll := w.poll(3, iggywire.PollFirst, 0, 10)
	poll.Topic = topic
	if result, _ := polled(c, poll); result.Count != 0 || result.CurrentOffset != 0 {
		c.Errorf("a new partition has %d messages up to %d, those of the one that had its number", result.Count, result.CurrentOffset)
	}
}
