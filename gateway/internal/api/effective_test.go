// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// lateStore is a state log that is loaded when a test says so.
type lateStore struct {
	api.TopicStore
	loaded chan struct{}
}

func (s *lateStore) Loaded() <-chan struct{} { return s.loaded }

func (s *lateStore) SettingsVersion() uint64 {
	select {
	case <-s.loaded:
		return s.TopicStore.SettingsVersion()
	default:
		return 0
	}
}

// Until the state log is loaded nobody knows whether a topic takes what is sent: a Produce waits, and answers 6 when its
// time is over, with nothing written; when the settings come, they count.
func TestProduceBeforeTheSettingsAreKnown(t *testing.T) {
	late := &lateStore{loaded: make(chan struct{})}
	gw := start(t, setup{deps: func(deps *api.Deps) {
		late.TopicStore = deps.Topics
		deps.Topics = late
	}})
	c := gw.dial(t)
	c.create("small", 1, "max.message.bytes", "200")
	plain := gw.newTopic(t, 1)
	both := func(timeout int32) *kmsg.ProduceRequest {
		req := produceRequest(part{topic: "small", records: large(300)}, part{topic: plain, records: batch("v")}, part{topic: "no-such-topic", records: batch("v")})
		req.TimeoutMillis = timeout
		return req
	}
	want := fmt.Sprintf("[small/0: %d at -1 %s/0: %d at -1 no-such-topic/0: 3 at -1]", codeNotLeader, plain, codeNotLeader)
	if got := fmt.Sprint(producedTo(ask[*kmsg.ProduceResponse](c, both(100)))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.send(both(20_000))
	close(late.loaded)
	want = fmt.Sprintf("[small/0: %d at -1 %s/0: 0 at 0 no-such-topic/0: 3 at -1]", codeTooLarge, plain)
	if got := fmt.Sprint(producedTo(next[*kmsg.ProduceResponse](c))); got != want {
		t.Errorf("loaded: got %s, want %s", got, want)
	}
}

// heldStore is a state log that a test lets go on with storing settings.
type heldStore struct {
	api.TopicStore
	asked, goOn chan struct{}
}

func (s *heldStore) SetTopicSettings(ctx context.Context, id, name string, settings map[string]string) error {
	close(s.asked)
	<-s.goOn
	return s.TopicStore.SetTopicSettings(ctx, id, name, settings)
}

// A topic is there a moment before its settings are stored: who finds it then must not write past them.
func TestProduceWhileTheTopicIsMade(t *testing.T) {
	held := &heldStore{asked: make(chan struct{}), goOn: make(chan struct{})}
	gw := start(t, setup{deps: func(deps *api.Deps) {
		held.TopicStore = deps.Topics
		deps.Topics = held
	}})
	maker, c := gw.dial(t), gw.dial(t)
	limit := "200"
	maker.send(createRequest(7, withConfig(newTopicSpec("small", 1, 1), "max.message.bytes", &limit)))
	<-held.asked
	write := func() int16 {
		return ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: "small", records: large(300)})).Topics[0].Partitions[0].ErrorCode
	}
	if code := write(); code != codeNotLeader {
		t.Errorf("before its settings are stored: error %d", code)
	}
	close(held.goOn)
	if got := next[*kmsg.CreateTopicsResponse](maker).Topics[0]; got.ErrorCode != 0 {
		t.Errorf("create: error %d", got.ErrorCode)
	}
	if code := write(); code != codeTooLarge {
		t.Errorf("afterwards: error %d", code)
	}
}

// A change counts from the moment that it is durable, also one of a topic that was written to before, and a topic made
// again has nothing of the old one.
func TestSettingsChange(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	name := newName()
	topic := gw.createTopic(t, name, 1)
	code := func() int16 {
		req := produceRequest(part{topic: name, records: large(300)})
		return ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0].ErrorCode
	}
	set := func(settings map[string]string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := gw.state.Log.SetTopicSettings(ctx, topic.ID.String(), name, settings); err != nil {
			t.Fatal(err)
		}
	}
	if got := code(); got != 0 {
		t.Errorf("no settings: error %d", got)
	}
	set(map[string]string{"max.message.bytes": "200"})
	if got := code(); got != codeTooLarge {
		t.Errorf("200 bytes: error %d", got)
	}
	set(map[string]string{"max.message.bytes": "2000"})
	if got := code(); got != 0 {
		t.Errorf("2000 bytes: error %d", got)
	}
	set(map[string]string{"max.message.bytes": "1"})
	if got := code(); got != codeTooLarge {
		t.Errorf("1 byte: error %d", got)
	}
	set(nil)
	if got := code(); got != 0 {
		t.Errorf("settings removed: error %d", got)
	}

	set(map[string]string{"max.message.bytes": "1"})
	ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, name))
	gw.createTopic(t, name, 1)
	if got := code(); got != 0 {
		t.Errorf("made again: error %d", got)
	}
}

// The largest batch of a topic may be above the default as well as below it.
func TestMaxMessageBytes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1, "max.message.bytes", "3000000")
	c.produce(topic, 0, sized(t, 3_000_000))
	req := produceRequest(part{topic: topic, records: sized(t, 3_000_001)})
	if got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]; got.ErrorCode != codeTooLarge {
		t.Errorf("error %d", got.ErrorCode)
	}
}

// Under LogAppendTime what Produce answers, what Fetch serves and what a search by timestamp finds agree, and none of it
// is the producer's time.
func TestLogAppendTime(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1, "message.timestamp.type", "LogAppendTime")
	before := time.Now().UnixMilli()
	var times []int64
	for i := range 3 {
		for _, codec := range []recordcodec.Codec{recordcodec.CodecNone, recordcodec.CodecZstd} {
			b := batchOf(batchForm{codec: codec}, record{timestamp: int64(i), value: []byte("a")}, record{timestamp: -1, value: []byte("b")})
			req := produceRequest(part{topic: topic, records: b})
			got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
			if got.ErrorCode != 0 || got.LogAppendTime < before {
				t.Fatalf("produce: %+v", got)
			}
			times = append(times, got.LogAppendTime)
		}
	}
	if !slices.IsSorted(times) {
		t.Errorf("append times %v", times)
	}
	fetched := c.fetchOne(part{topic: topic}).RecordBatches
	var read []int64
	for b := fetched; len(b) > 0; {
		h, err := recordcodec.ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		if !h.LogAppendTime() || h.BaseTimestamp != h.MaxTimestamp {
			t.Errorf("served: %+v", h)
		}
		for range h.Count {
			read = append(read, h.MaxTimestamp)
		}
		b = b[12+h.Length:]
	}
	if len(read) != 2*len(times) {
		t.Fatalf("%d records read, want %d", len(read), 2*len(times))
	}
	for i, want := range times {
		// A batch is one send, which Iggy may stamp message by message.
		if read[2*i] > want || want > read[2*i+1]+1 || read[2*i+1]-read[2*i] > 1 {
			t.Errorf("batch %d: answered %d, read %d and %d", i, want, read[2*i], read[2*i+1])
		}
	}
	for i, ts := range read {
		got := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: topic, timestamp: ts})).Topics[0].Partitions[0]
		if first := slices.Index(read, ts); got.ErrorCode != 0 || got.Offset != int64(first) || got.Timestamp != ts {
			t.Errorf("record %d, %d: found %+v, want %d", i, ts, got, first)
		}
	}
	got := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: topic, timestamp: -3})).Topics[0].Partitions[0]
	if last := read[len(read)-1]; got.Timestamp != last || got.Offset != int64(slices.Index(read, last)) {
		t.Errorf("largest: %+v, want %d at %d", got, last, slices.Index(read, last))
	}
}

// A topic's compression.type is how consumers get its batches.
func TestCompressionType(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchCompression = recordcodec.CodecGzip }})
	c := gw.dial(t)
	for word, want := range map[string]recordcodec.Codec{
		"": recordcodec.CodecGzip, "producer": recordcodec.CodecGzip, "uncompressed": recordcodec.CodecNone,
		"gzip": recordcodec.CodecGzip, "snappy": recordcodec.CodecSnappy, "lz4": recordcodec.CodecLZ4, "zstd": recordcodec.CodecZstd,
	} {
		topic := newName()
		if word == "" {
			c.create(topic, 1)
		} else {
			c.create(topic, 1, "compression.type", word)
		}
		c.produce(topic, 0, batchOf(batchForm{codec: recordcodec.CodecSnappy}, record{timestamp: 1, value: make([]byte, 1000)}))
		h, err := recordcodec.ParseHeader(c.fetchOne(part{topic: topic}).RecordBatches)
		if err != nil {
			t.Fatal(err)
		}
		if codec, err := h.Codec(); err != nil || codec != want {
			t.Errorf("%q: %v, %v, want %v", word, codec, err, want)
		}
	}
}

// Topics by id: one that went, and one that came again under its name.
func TestProduceByIDAfterDeletion(t *testing.T) {
	gw := start(t, setup{bridge: func(cfg *bridge.Config) { cfg.TopicViewAge = time.Millisecond }})
	c := gw.dial(t)
	old := c.create("again", 1)
	byID := func(id [16]byte) int16 {
		req := produceRequest(part{topic: "again", records: batch("v")})
		req.Version, req.Topics[0].Topic, req.Topics[0].TopicID = 13, "", id
		got := ask[*kmsg.ProduceResponse](c, req).Topics[0]
		if got.TopicID != id {
			t.Errorf("answered for %x, asked for %x", got.TopicID, id)
		}
		return got.Partitions[0].ErrorCode
	}
	if code := byID(old); code != 0 {
		t.Errorf("error %d", code)
	}
	// Behind the gateway's back: its lane and its view still know the old one.
	gw.native(t, iggywire.DeleteTopic{Stream: iggywire.NamedID("kafka"), Topic: iggywire.NamedID("again")})
	if code := byID(old); code != codeUnknownTopicID {
		t.Errorf("deleted: error %d", code)
	}
	until(t, "the topic goes", func() bool {
		return ask[*kmsg.MetadataResponse](c, metadataRequest(12, "again")).Topics[0].ErrorCode == codeUnknownTopic
	})
	id := c.create("again", 1)
	if code := byID(old); code != codeUnknownTopicID {
		t.Errorf("the old id: error %d", code)
	}
	if code := byID(id); code != 0 {
		t.Errorf("the new id: error %d", code)
	}
	if got := c.fetchAll("again", 0); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}
