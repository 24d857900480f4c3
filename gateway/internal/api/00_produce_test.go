// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// Every version writes, and its answer has what it has since: the log start since v5, the topic's id instead of its
// name since v13.
func TestProduceVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	topic := gw.createTopic(t, name, 1)
	for version := int16(3); version <= 13; version++ {
		req := produceRequest(part{topic: name, records: batch("a", "b")})
		req.Version = version
		wt, wp := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
		if wt.Topic = name; version >= 13 {
			req.Topics[0].Topic, req.Topics[0].TopicID = "", topic.ID
			wt.Topic, wt.TopicID = "", topic.ID
		}
		got := ask[*kmsg.ProduceResponse](c, req)

		want := kmsg.NewPtrProduceResponse()
		want.Version = version
		wp.BaseOffset, wp.LogAppendTime = 2*int64(version-3), -1
		if version >= 5 {
			wp.LogStartOffset = 0
		}
		wt.Partitions = append(wt.Partitions, wp)
		want.Topics = append(want.Topics, wt)
		if diff := diffResponse(want, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// diffResponse compares what two answers encode to, and shows the difference in their fields.
func diffResponse(want, got kmsg.Response) string {
	if bytes.Equal(want.AppendTo(nil), got.AppendTo(nil)) {
		return ""
	}
	decoded := got.RequestKind().ResponseKind()
	if err := decoded.ReadFrom(want.AppendTo(nil)); err != nil {
		return err.Error()
	}
	return cmp.Diff(decoded, got, cmpopts.IgnoreTypes(kmsg.Tags{}))
}

// What is written comes back the same, whatever the codec; nulls stay apart from empties, and headers keep order and
// number, those too that Iggy's own rules leave out.
func TestProduceRoundTrip(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	forms := [][]byte{nil, {}, []byte("x")}
	var sent []record
	for _, key := range forms {
		for _, value := range forms {
			for _, hv := range forms {
				sent = append(sent, record{timestamp: int64(len(sent)), key: key, value: value, headers: []header{{"h", hv}}})
			}
		}
	}
	sent = append(sent,
		record{timestamp: -1, value: []byte("no timestamp")},
		record{timestamp: 0, value: []byte("1970")},
		record{timestamp: 1, value: []byte("1970 and 1 ms")},
		record{timestamp: 1, key: bytes.Repeat([]byte("k"), 300), value: []byte("long key")},
		record{timestamp: 1, key: []byte{0xff, 0x00}, value: []byte{0x00}},
		record{timestamp: 1, value: []byte("repeated"), headers: []header{{"b", []byte("1")}, {"a", []byte("2")}, {"b", []byte("3")}}},
		record{timestamp: 1, value: []byte("nameless"), headers: []header{{"", []byte("1")}}},
		record{timestamp: 1, value: []byte("long"), headers: []header{{strings.Repeat("n", 1000), bytes.Repeat([]byte("v"), 1000)}}},
	)
	for _, codec := range []recordcodec.Codec{
		recordcodec.CodecNone, recordcodec.CodecGzip, recordcodec.CodecSnappy, recordcodec.CodecLZ4, recordcodec.CodecZstd,
	} {
		topic := gw.newTopic(t, 1)
		c.produce(topic, 0, batchOf(batchForm{codec: codec}, sent...))
		got := c.fetchOne(part{topic: topic})
		for i := range sent {
			sent[i].offset = int64(i)
		}
		if diff := cmp.Diff(sent, records(t, got.RecordBatches), cmp.AllowUnexported(record{}, header{})); diff != "" {
			t.Errorf("%v: %s", codec, diff)
		}
	}
}

// Each partition of a request answers for itself: a bad one does not keep the others from being written.
func TestProducePartitionsApart(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	one, two := gw.newTopic(t, 3), gw.newTopic(t, 1)
	c.produce(one, 2, batch("first"))
	resp := ask[*kmsg.ProduceResponse](c, produceRequest(
		part{topic: one, partition: 0, records: batch("a", "b")},
		part{topic: one, partition: 1, records: wrongCRC(batch("c"))},
		part{topic: one, partition: 2, records: batch("d")},
		part{topic: "no-such-topic", records: batch("e")},
		part{topic: two, records: batch("f")},
	))
	got := producedTo(resp)
	want := []string{
		one + "/0: 0 at 0", one + "/1: 2 at -1", one + "/2: 0 at 1", "no-such-topic/0: 3 at -1", two + "/0: 0 at 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, p := range []part{{topic: one, partition: 1}, {topic: one, partition: 2, offset: 1}} {
		read := values(records(t, c.fetchOne(p).RecordBatches))
		if want := map[int32]int{1: 0, 2: 1}[p.partition]; len(read) != want {
			t.Errorf("partition %d holds %q", p.partition, read)
		}
	}
}

// producedTo lists what a Produce answered, as topic/partition: error at offset.
func producedTo(resp *kmsg.ProduceResponse) []string {
	var out []string
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			out = append(out, fmt.Sprintf("%s/%d: %d at %d", topic.Topic, p.Partition, p.ErrorCode, p.BaseOffset))
		}
	}
	return out
}

// The same partition twice in one request: the first is written, the second refused.
func TestProducePartitionTwice(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	resp := ask[*kmsg.ProduceResponse](c, produceRequest(
		part{topic: topic, records: batch("first")}, part{topic: topic, records: batch("second")}))
	if diff := cmp.Diff([]string{topic + "/0: 0 at 0", topic + "/0: 42 at -1"}, producedTo(resp)); diff != "" {
		t.Error(diff)
	}
	if got := values(records(t, c.fetchOne(part{topic: topic}).RecordBatches)); len(got) != 1 || got[0] != "first" {
		t.Errorf("written: %q", got)
	}
}

// acks 1 and -1 mean the same; a request without topics is answered without topics.
func TestProduceAcks(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for i, acks := range []int16{1, -1} {
		req := produceRequest(part{topic: topic, records: batch("v")})
		req.Acks = acks
		want := fmt.Sprintf("%s/0: 0 at %d", topic, i)
		if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); len(got) != 1 || got[0] != want {
			t.Errorf("acks %d: %q, want %q", acks, got, want)
		}
	}
	if got := ask[*kmsg.ProduceResponse](c, produceRequest()); len(got.Topics) != 0 {
		t.Errorf("no topics: %v", got.Topics)
	}
}

// acks=0 gets no answer: the first bytes back belong to the request behind it, and the records are there.
func TestProduceUnacknowledged(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	unacknowledged := produceRequest(part{topic: topic, records: batch("a")})
	unacknowledged.Acks = 0
	c.send(unacknowledged, apiVersions(3), unacknowledged, unacknowledged, metadataRequest(12, topic))
	next[*kmsg.ApiVersionsResponse](c)
	next[*kmsg.MetadataResponse](c) // Metadata waits for all before it
	if got := values(records(t, c.fetchOne(part{topic: topic}).RecordBatches)); len(got) != 3 {
		t.Errorf("written: %q", got)
	}
}

// A failure of acks=0 can only be told by closing; what was asked before is answered first.
func TestProduceUnacknowledgedFailure(t *testing.T) {
	gw := shared(t)
	topic, gapped := gw.newTopic(t, 1), gw.newTopic(t, 1)
	gw.dial(t).produce(gapped, 0, sequenced(producer{id: 7}, 1))
	for name, p := range map[string]part{
		"missing topic":       {topic: "no-such-topic", records: batch("v")},
		"missing partition":   {topic: topic, partition: 9, records: batch("v")},
		"wrong CRC":           {topic: topic, records: wrongCRC(batch("v"))},
		"transactional batch": {topic: topic, records: batchOf(batchForm{transactional: true}, record{value: []byte("v")})},
		"internal topic":      {topic: internalTopic, records: batch("v")},
		"a gap":               {topic: gapped, records: sequenced(producer{id: 7, sequence: 5}, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			c := gw.dial(t)
			req := produceRequest(p, part{topic: topic, records: batch("good")})
			req.Acks = 0
			c.send(apiVersions(3), req)
			next[*kmsg.ApiVersionsResponse](c)
			c.expectClosed()
		})
	}
}

// An idempotent batch is written like any other, and its producer does not show in what is read.
func TestProduceIdempotent(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	id := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1)).ProducerID
	for i := range int32(3) {
		b := batchOf(batchForm{producer: &producer{id: id, sequence: 2 * i}}, record{timestamp: 1, value: []byte("a")}, record{timestamp: 1, value: []byte("b")})
		if base := c.produce(topic, 0, b); base != 2*int64(i) {
			t.Errorf("base offset %d, want %d", base, 2*i)
		}
	}
	if got := records(t, c.fetchOne(part{topic: topic}).RecordBatches); len(got) != 6 {
		t.Errorf("%d records", len(got))
	}
}

// Two connections that write to one partition at a time, and a native producer beside them: every base offset is
// where the batch really is.
func TestProduceBaseOffsets(t *testing.T) {
	gw := shared(t)
	topic := gw.newTopic(t, 1)
	const writers, batches = 4, 25
	type written struct {
		value string
		base  int64
	}
	results := make(chan written, writers*batches)
	done := make(chan struct{})
	for w := range writers {
		c := gw.dial(t)
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range batches {
				value := fmt.Sprintf("%d-%d", w, i)
				req := produceRequest(part{topic: topic, records: batch(value, value)})
				resp := ask[*kmsg.ProduceResponse](c, req)
				results <- written{value, resp.Topics[0].Partitions[0].BaseOffset}
			}
		}()
	}
	for i := range batches {
		gw.sendNative(t, topic, fmt.Sprintf("native-%d", i))
	}
	for range writers {
		<-done
	}
	close(results)
	all := gw.dial(t).fetchAll(topic, 0)
	if want := 2*writers*batches + batches; len(all) != want {
		t.Fatalf("%d records, want %d", len(all), want)
	}
	for r := range results {
		if got := string(all[r.base].value) + " " + string(all[r.base+1].value); got != r.value+" "+r.value {
			t.Errorf("at %d: %q, want twice %q", r.base, got, r.value)
		}
	}
}

// A timeout of 0 or less means the gateway's own.
func TestProduceTimeoutNotAsked(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for _, ms := range []int32{0, -1} {
		req := produceRequest(part{topic: topic, records: batch("v")})
		req.TimeoutMillis = ms
		if code := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0].ErrorCode; code != 0 {
			t.Errorf("timeout %d ms: error %d", ms, code)
		}
	}
}

// A topic that is deleted under its producers is unknown from then on, and one made again starts anew.
func TestProduceDeletedTopic(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("old", "old"))
	ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic))
	req := produceRequest(part{topic: topic, records: batch("lost")})
	if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); got[0] != topic+"/0: 3 at -1" {
		t.Errorf("deleted: %q", got)
	}
	gw.createTopic(t, topic, 1)
	if base := c.produce(topic, 0, batch("new")); base != 0 {
		t.Errorf("made again: base offset %d", base)
	}
}

func apiVersions(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test", "1.0"
	return req
}
