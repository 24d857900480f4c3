// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// recreateNatively deletes a topic and makes another one of its name, as a program does that knows nothing of Kafka.
func (gw *gateway) recreateNatively(tb testing.TB, topic string) {
	tb.Helper()
	gw.native(tb, iggywire.DeleteTopic{Stream: iggywire.NamedID("kafka"), Topic: iggywire.NamedID(topic)})
	gw.native(tb, iggywire.CreateTopic{
		Stream: iggywire.NamedID("kafka"), Name: topic, Partitions: 1, Compression: iggywire.CompressionNone,
		MessageExpiry: iggywire.NeverExpire, MaxSize: iggywire.UnlimitedSize, ReplicationFactor: 1,
	})
}

// startBlind starts a gateway that does not look by itself what topics there are. What drops the state of deleted topics looks once,
// at the start: when that is over shows in what it drops, settings of a topic that others made anew before.
func startBlind(t *testing.T) *gateway {
	t.Helper()
	iggy := startIggy(t)
	before, err := openGateway(setup{iggyAddr: iggy.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	topic := newName()
	before.dial(t).createWith(topic, 1, "max.message.bytes", "1000")
	if err := before.close(); err != nil {
		t.Fatal(err)
	}
	(&gateway{iggy: iggy}).recreateNatively(t, topic)
	gw := start(t, setup{iggyAddr: iggy.Addr().String(), bridge: func(cfg *bridge.Config) { cfg.TopicViewAge = time.Hour }})
	gw.iggy = iggy
	until(t, "the state of the old topic is dropped", func() bool { return len(gw.state.Log.Topics()) == 0 })
	return gw
}

func (c *client) recreate(topic string) {
	c.Helper()
	if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic)).Topics[0]; got.ErrorCode != 0 {
		c.Fatalf("delete: error %d", got.ErrorCode)
	}
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(5, newTopicSpec(topic, 1, 1))).Topics[0]
	if got.ErrorCode != 0 {
		c.Fatalf("create: error %d", got.ErrorCode)
	}
}

func (c *client) topicID(topic string) [16]byte {
	c.Helper()
	return ask[*kmsg.MetadataResponse](c, metadataRequest(12, topic)).Topics[0].TopicID
}

// writtenBy is a batch of one record of an idempotent producer.
func writtenBy(p producer, value string) []byte {
	return batchOf(batchForm{producer: &p}, record{timestamp: time.Now().UnixMilli(), value: []byte(value)})
}

// A topic that is deleted and made again through Kafka is new to whoever asks next: nothing of the old one is left, with its
// lane and a fetch alive.
func TestRecreatedThroughKafka(t *testing.T) {
	gw := start(t, setup{})
	c, waits := gw.dial(t), gw.dial(t)
	topic := newName()
	c.createWith(topic, 1, "cleanup.policy", "compact,delete")
	old := c.topicID(topic)
	keyed := batchOf(batchForm{}, record{timestamp: 1, key: []byte("k"), value: []byte("v")})
	for range 5 {
		c.produce(topic, 0, keyed)
	}
	if got := c.deleteRecords(part{topic: topic, offset: 3}); got != topic+" 0: 3" {
		t.Fatal(got)
	}
	req := fetchRequest(part{topic: topic, offset: 5})
	req.MaxWaitMillis = long
	waits.send(req)
	gw.untilWaiting(t, 1)
	c.recreate(topic)
	began := time.Now()
	if got := onlyPartition(waits, next[*kmsg.FetchResponse](waits)); got.ErrorCode != codeUnknownTopic || time.Since(began) > long*time.Millisecond/2 {
		t.Errorf("the fetch that waited: error %d after %v", got.ErrorCode, time.Since(began))
	}
	if id := c.topicID(topic); id == old || id == [16]byte{} {
		t.Errorf("id %x, it was %x", id, old)
	}
	if start := c.starts(topic, 0); start != 0 {
		t.Errorf("begins at %d", start)
	}
	if got := c.fetchOne(part{topic: topic, offset: 5}); got.ErrorCode != codeOffsetOutOfRange {
		t.Errorf("fetch where the old one ended: error %d", got.ErrorCode)
	}
	if base := c.produce(topic, 0, batch("keyless, as the old one's policy did not allow")); base != 0 {
		t.Errorf("written to %d", base)
	}
}

// A topic that others deleted and made again: what this gateway knows is of the old one until it looks. Each request either
// is told that the topic is gone, and by then the gateway knows better, or gets the new one's answer.
func TestRecreatedNatively(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(c *client, topic string) int16
		byID func(c *client, id [16]byte) int16 // instead
	}{
		{"produce", func(c *client, topic string) int16 {
			return ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: writtenBy(producer{7, 0, 5}, "5")})).Topics[0].Partitions[0].ErrorCode
		}, nil},
		{"produce by id", nil, func(c *client, id [16]byte) int16 {
			req := produceRequest(part{records: writtenBy(producer{7, 0, 5}, "5")})
			req.Version, req.Topics[0].TopicID = 13, id
			return ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0].ErrorCode
		}},
		{"fetch by id", nil, func(c *client, id [16]byte) int16 { return c.fetchByID(id, 3) }},
		{"fetch by id at the end", nil, func(c *client, id [16]byte) int16 { return c.fetchByID(id, 5) }},
		{"fetch", func(c *client, topic string) int16 { return c.fetchOne(part{topic: topic, offset: 3}).ErrorCode }, nil},
		{"fetch at the end", func(c *client, topic string) int16 { return c.fetchOne(part{topic: topic, offset: 5}).ErrorCode }, nil},
		{"list offsets", func(c *client, topic string) int16 {
			return ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, timestamp: -1})).Topics[0].Partitions[0].ErrorCode
		}, nil},
		{"delete records", func(c *client, topic string) int16 {
			return ask[*kmsg.DeleteRecordsResponse](c, deleteRecordsRequest(2, part{topic: topic, offset: -1})).Topics[0].Partitions[0].ErrorCode
		}, nil},
		{"delete topics", func(c *client, topic string) int16 {
			return ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic)).Topics[0].ErrorCode
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gw := startBlind(t)
			c := gw.dial(t)
			topic := gw.newTopic(t, 1)
			old := c.topicID(topic)
			for i := range int32(5) {
				c.produce(topic, 0, writtenBy(producer{7, 0, i}, fmt.Sprint(i)))
			}
			if got := c.deleteRecords(part{topic: topic, offset: 2}); got != topic+" 0: 2" {
				t.Fatal(got)
			}
			gw.recreateNatively(t, topic)
			if tc.byID == nil {
				if code := tc.ask(c, topic); code != codeUnknownTopic {
					t.Errorf("error %d", code)
				}
			} else if code := tc.byID(c, old); code != codeUnknownTopicID {
				t.Errorf("error %d", code)
			}
			if id := c.topicID(topic); id == old || id == [16]byte{} {
				t.Errorf("id %x, it was %x", id, old)
			}
			// The producer goes on: what it was refused, and had been written, is there once.
			for i := int32(5); i < 8; i++ {
				if base := c.produce(topic, 0, writtenBy(producer{7, 0, i}, fmt.Sprint(i))); base != int64(i-5) {
					t.Errorf("record %d is at %d", i, base)
				}
			}
			if diff := cmp.Diff([]string{"5", "6", "7"}, values(c.fetchAll(topic, 0))); diff != "" {
				t.Error(diff)
			}
			if start := c.starts(topic, 3); start != 0 {
				t.Errorf("begins at %d", start)
			}
		})
	}
}

// fetchByID returns what a fetch of partition 0 by the topic's id is answered.
func (c *client) fetchByID(id [16]byte, offset int64) int16 {
	c.Helper()
	req := fetchRequest(part{offset: offset})
	req.Version, req.Topics[0].TopicID = 13, id
	return onlyPartition(c, ask[*kmsg.FetchResponse](c, req)).ErrorCode
}

// A fetch that waits on a topic that others delete and make again is told at once.
func TestRecreatedNativelyWhileFetchWaits(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("v"))
	req := fetchRequest(part{topic: topic, offset: 1})
	req.MaxWaitMillis = long
	c.send(req)
	gw.untilWaiting(t, 1)
	gw.recreateNatively(t, topic)
	began := time.Now()
	if got := onlyPartition(c, next[*kmsg.FetchResponse](c)); got.ErrorCode != codeUnknownTopic || time.Since(began) > long*time.Millisecond/2 {
		t.Errorf("error %d after %v", got.ErrorCode, time.Since(began))
	}
	if base := c.produce(topic, 0, batch("v")); base != 0 {
		t.Errorf("written to %d", base)
	}
}
