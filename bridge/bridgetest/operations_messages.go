// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// polls looks for the world's three messages from everywhere.
func (w *world) polls(c *client) {
	sentBefore := uint64(time.Now().Add(-24 * time.Hour).UnixMicro())
	never := uint64(time.Now().Add(24 * time.Hour).UnixMicro()) // clocks may differ, but not by a day
	for _, tc := range []struct {
		strategy iggywire.PollStrategy
		value    uint64
		count    uint32
		want     string
	}{
		{iggywire.PollFirst, 0, 1, "one"},
		{iggywire.PollFirst, 0, 100, "one two three"},
		{iggywire.PollOffset, 0, 2, "one two"},
		{iggywire.PollOffset, 1, 100, "two three"},
		{iggywire.PollOffset, 3, 100, ""},
		{iggywire.PollOffset, 99, 100, ""},
		{iggywire.PollOffset, 0, 0, ""},
		{iggywire.PollLast, 0, 1, "three"},
		{iggywire.PollLast, 0, 2, "two three"},
		{iggywire.PollLast, 0, 100, "one two three"},
		{iggywire.PollNext, 0, 2, "one two"},
		{iggywire.PollTimestamp, 0, 100, "one two three"},
		{iggywire.PollTimestamp, sentBefore, 2, "one two"},
		{iggywire.PollTimestamp, never, 100, ""},
	} {
		result, messages := polled(c, w.poll(0, tc.strategy, tc.value, tc.count))
		var got []string
		for _, m := range messages {
			got = append(got, string(m.Payload))
		}
		if strings.Join(got, " ") != tc.want || result.Partition != 0 || result.CurrentOffset != 2 {
			c.Errorf("%+v: got %v, current offset %d", tc, got, result.CurrentOffset)
		}
	}
	for _, strategy := range []iggywire.PollStrategy{iggywire.PollFirst, iggywire.PollLast, iggywire.PollOffset, iggywire.PollNext, iggywire.PollTimestamp} {
		if body := c.must(w.poll(1, strategy, 7, 100)); len(body) != iggywire.PollResultHeaderSize {
			c.Errorf("strategy %d, partition never written to: %d bytes", strategy, len(body))
		}
	}
}

// messages sends what is unusual. It is kept to the byte; what the server fills in is its own.
func (w *world) messages(c *client) {
	topic := w.newTopic(c, 1)
	sent := []mapping.Message{
		{ID: [16]byte{15: 1}, OriginTimestamp: 1, Payload: []byte("origin at the beginning")},
		{ID: [16]byte{2}, OriginTimestamp: math.MaxUint64, Payload: []byte("origin at the end of time")},
		{ID: [16]byte{3}, OriginTimestamp: 5_000_000, Payload: []byte("origin a day behind the next")},
		{ID: [16]byte{4}, OriginTimestamp: 100_000_000_000, Payload: []byte("origins go backwards")},
		{ID: [16]byte{5}, OriginTimestamp: 7, UserHeaders: []byte("garbage that is no header")},
		{ID: [16]byte{5}, OriginTimestamp: 7, Payload: []byte("an id again")},
		{ID: [16]byte{6}, Payload: []byte("no origin")},
		{Payload: []byte("no id")},
		{ID: [16]byte{8}},
		{ID: [16]byte{9}, Payload: []byte{0}, UserHeaders: make([]byte, iggywire.MaxUserHeaders)},
		{ID: [16]byte{10}, Payload: make([]byte, 9<<20)},
	}
	if body := c.must(send{w.stream, topic, iggywire.ToPartition(0), sent}); len(body) != 0 {
		c.Errorf("a send is answered with %d bytes", len(body))
	}
	poll := w.poll(0, iggywire.PollFirst, 0, 100)
	poll.Topic = topic
	_, got := polled(c, poll)
	if len(got) != len(sent) {
		c.Fatalf("%d messages of %d", len(got), len(sent))
	}
	for i, m := range got {
		want := sent[i]
		want.Offset, want.Timestamp, want.Checksum = uint64(i), m.Timestamp, m.Checksum
		if want.ID == ([16]byte{}) {
			want.ID = m.ID
		}
		same := bytes.Equal(want.Payload, m.Payload) && bytes.Equal(want.UserHeaders, m.UserHeaders)
		want.Payload, m.Payload, want.UserHeaders, m.UserHeaders = nil, nil, nil, nil
		if diff := cmp.Diff(want, m); diff != "" || !same {
			c.Errorf("message %d, its bytes the same: %v (-sent +polled):\n%s", i, same, diff)
		}
		if m.ID == ([16]byte{}) || m.Checksum == 0 || time.Since(time.UnixMicro(int64(m.Timestamp))).Abs() > 24*time.Hour {
			c.Errorf("message %d: id %x, checksum %x, timestamp %d", i, m.ID, m.Checksum, m.Timestamp)
		}
	}
}

// spread sends where the server chooses the partition: balanced by turns, and always the same one for a key.
func (w *world) spread(c *client) {
	topic := w.newTopic(c, 3)
	counts := func() (counts []uint64) {
		for _, p := range find(c, iggywire.GetTopic{Stream: w.stream, Topic: topic}, iggywire.ParseTopicDetails).PartitionList {
			counts = append(counts, p.Messages)
		}
		return counts
	}
	for range 6 {
		c.must(send{w.stream, topic, iggywire.Partitioning{Kind: iggywire.PartitioningBalanced}, []mapping.Message{message(1, "x")}})
	}
	if diff := cmp.Diff([]uint64{2, 2, 2}, counts()); diff != "" {
		c.Errorf("balanced (-want +got):\n%s", diff)
	}
	for range 6 {
		c.must(send{w.stream, topic, iggywire.Partitioning{Kind: iggywire.PartitioningKey, Key: "a key\xff"}, []mapping.Message{message(1, "x")}})
	}
	if got := fmt.Sprint(counts()); strings.Count(got, "2") != 2 || strings.Count(got, "8") != 1 {
		c.Errorf("by key: %v", got)
	}
}

// largest sends a message as large as may be.
func (w *world) largest(c *client) {
	topic := w.newTopic(c, 1)
	large := mapping.Message{ID: [16]byte{1}, Payload: make([]byte, iggywire.MaxPayload)}
	c.must(send{w.stream, topic, iggywire.ToPartition(0), []mapping.Message{large}})
	poll := w.poll(0, iggywire.PollLast, 0, 1)
	poll.Topic = topic
	if _, got := polled(c, poll); len(got) != 1 || len(got[0].Payload) != iggywire.MaxPayload {
		c.Errorf("%d messages", len(got))
	}
	c.must(iggywire.DeleteTopic{Stream: w.stream, Topic: topic})
}

func (w *world) purgeAndFlush(c *client) {
	stream := w.named("purged")
	c.must(iggywire.CreateStream{Name: w.name("purged")})
	topic := w.createTopic("topic", 1)
	topic.Stream = stream
	c.must(topic)
	poll := w.poll(0, iggywire.PollFirst, 0, 10)
	poll.Stream = stream
	for round, purge := range []iggywire.Request{
		iggywire.PurgeTopic{Stream: stream, Topic: w.topic}, iggywire.PurgeStream{Stream: stream}, iggywire.DeleteStream{Stream: stream},
	} {
		c.must(send{stream, w.topic, iggywire.ToPartition(0), []mapping.Message{message(1, fmt.Sprint(round)), message(2, "x")}})
		c.must(iggywire.FlushUnsaved{Stream: stream, Topic: w.topic, Fsync: true})
		by := iggywire.StoreOffset{Consumer: consumer(1), Stream: stream, Topic: w.topic, HasPartition: true, Offset: 1}
		c.must(by)
		// Offsets begin anew after a purge, and nobody has read any.
		if result, got := polled(c, poll); len(got) != 2 || string(got[0].Payload) != fmt.Sprint(round) || result.CurrentOffset != 1 {
			c.Errorf("round %d: %d messages up to %d", round, len(got), result.CurrentOffset)
		}
		c.must(purge)
		if round == 2 {
			break
		}
		if result, got := polled(c, poll); len(got) != 0 || result.CurrentOffset != 0 {
			c.Errorf("round %d, purged: %d messages up to %d", round, len(got), result.CurrentOffset)
		}
		c.missing(iggywire.GetOffset{Consumer: consumer(1), Stream: stream, Topic: w.topic, HasPartition: true})
	}
	c.refused(iggywire.StatusStreamNotFound, poll)
}

func (w *world) offsets(c *client) {
	named := iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: w.named("app")}
	for _, by := range []iggywire.Consumer{named, consumer(77)} {
		ask := iggywire.GetOffset{Consumer: by, Stream: w.stream, Topic: w.topic, HasPartition: true}
		c.missing(ask)
		for _, offset := range []uint64{2, 0, 1} { // also back
			c.must(w.store(by, 0, offset))
			want := iggywire.ConsumerOffset{CurrentOffset: 2, StoredOffset: offset}
			if got := find(c, ask, iggywire.ParseConsumerOffset); got != want {
				c.Errorf("stored %d, got %+v", offset, got)
			}
		}
		c.refused(iggywire.StatusInvalidOffset, w.store(by, 0, 3))
		next := w.poll(0, iggywire.PollNext, 0, 1)
		next.Consumer = by
		for _, commit := range []bool{false, true} {
			next.AutoCommit = commit
			if _, got := polled(c, next); len(got) != 1 || got[0].Offset != 2 {
				c.Errorf("next behind 1: %v", got)
			}
		}
		if _, got := polled(c, next); len(got) != 0 {
			c.Errorf("next behind what was committed: %v", got)
		}
		c.must(iggywire.DeleteOffset{Consumer: by, Stream: w.stream, Topic: w.topic, HasPartition: true})
		c.missing(ask)
		if _, got := polled(c, next); len(got) != 1 || got[0].Offset != 0 {
			c.Errorf("next of one without an offset: %v", got)
		}
	}
	c.missing(iggywire.GetOffset{Consumer: named, Stream: w.stream, Topic: w.named("none"), HasPartition: true})
	c.missing(iggywire.GetOffset{Consumer: inGroup(w.named("none")), Stream: w.stream, Topic: w.topic, HasPartition: true})
}
