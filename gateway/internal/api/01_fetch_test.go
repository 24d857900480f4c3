// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Every version reads: from the start, from within, at the end, and a missing topic, with the fields that it has.
func TestFetchVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a", "b", "c"))
	for version := int16(4); version <= 18; version++ {
		for offset, want := range [][]string{{"a", "b", "c"}, {"b", "c"}, {"c"}, nil} {
			resp := ask[*kmsg.FetchResponse](c, gw.fetchAt(t, version, part{topic: topic, offset: int64(offset)}))
			got := onlyPartition(c, resp)
			if read := values(records(t, got.RecordBatches)); !slices.Equal(read, want) {
				t.Errorf("v%d from %d: %q, want %q", version, offset, read, want)
			}
			if got.HighWatermark != 3 || got.LastStableOffset != 3 || got.AbortedTransactions != nil || got.RecordBatches == nil {
				t.Errorf("v%d: %+v", version, got)
			}
			if version >= 5 && got.LogStartOffset != 0 || got.PreferredReadReplica != -1 {
				t.Errorf("v%d: log start %d, preferred replica %d", version, got.LogStartOffset, got.PreferredReadReplica)
			}
			if name, id := resp.Topics[0].Topic, resp.Topics[0].TopicID; version < 13 && name != topic || version >= 13 && id != gw.topicID(t, topic) {
				t.Errorf("v%d: of topic %q, %v", version, name, id)
			}
			if len(resp.Brokers) != 0 {
				t.Errorf("v%d: endpoints %v", version, resp.Brokers)
			}
		}
		missing := int16(codeUnknownTopic)
		if version >= 13 {
			missing = codeUnknownTopicID
		}
		got := onlyPartition(c, ask[*kmsg.FetchResponse](c, gw.fetchAt(t, version, part{topic: "no-such-topic"})))
		if got.ErrorCode != missing || got.HighWatermark != -1 || got.RecordBatches == nil || got.AbortedTransactions == nil {
			t.Errorf("v%d, missing topic: %+v", version, got)
		}
	}
}

// fetchAt is fetchRequest in a version, with the topics' ids from version 13 on.
func (gw *gateway) fetchAt(tb testing.TB, version int16, parts ...part) *kmsg.FetchRequest {
	tb.Helper()
	req := fetchRequest(parts...)
	req.Version = version
	for i := range req.Topics {
		if version >= 13 {
			req.Topics[i].TopicID = gw.topicID(tb, req.Topics[i].Topic)
			req.Topics[i].Topic = ""
		}
	}
	return req
}

// topicID is the id of a topic; that of one that does not exist is made of its name.
func (gw *gateway) topicID(tb testing.TB, topic string) (id [16]byte) {
	tb.Helper()
	view, err := gw.bridge.Topics(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if t, ok := view.ByName(topic); ok {
		return t.ID
	}
	copy(id[:], topic)
	return id
}

// Fields that only followers fill change nothing for a consumer; whoever says that it follows is told to go elsewhere,
// by the replica id that its version has (KIP-903).
func TestFetchFollowerFields(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a"))
	for version := int16(4); version <= 18; version++ {
		req := gw.fetchAt(t, version, part{topic: topic})
		p := &req.Topics[0].Partitions[0]
		p.LogStartOffset, p.LastFetchedEpoch, p.ReplicaDirectoryID, p.HighWatermark = 5, 0, [16]byte{1}, 1
		req.ReplicaState.Epoch, req.ClusterID, req.Rack = 7, kmsg.StringPtr("another cluster"), "rack"
		if got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)); got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
			t.Errorf("v%d: %+v", version, got)
		}
		for _, id := range []int32{-2, 0, 9} {
			want := int16(0)
			if id >= 0 {
				want = codeNotLeader
			}
			req.ReplicaID, req.ReplicaState.ID = id, -1
			if version >= 15 {
				req.ReplicaID, req.ReplicaState.ID = -1, id
			}
			if got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)); got.ErrorCode != want {
				t.Errorf("v%d, replica %d: error %d, want %d", version, id, got.ErrorCode, want)
			}
		}
	}
}

// Where a partition can be read: not below its start, not beyond its end, and at the end there is nothing yet.
func TestFetchOutOfRange(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 0, batch("a", "b"))
	for _, tc := range []struct {
		partition int32
		offset    int64
		code      int16
	}{
		{0, -1, codeOffsetOutOfRange}, {0, -5, codeOffsetOutOfRange}, {0, 2, 0}, {0, 3, codeOffsetOutOfRange}, {0, 1 << 62, codeOffsetOutOfRange},
		{1, 0, 0}, {1, 1, codeOffsetOutOfRange}, {2, 0, codeUnknownTopic}, {-1, 0, codeUnknownTopic},
	} {
		got := c.fetchOne(part{topic: topic, partition: tc.partition, offset: tc.offset})
		if got.ErrorCode != tc.code || len(got.RecordBatches) != 0 || got.RecordBatches == nil {
			t.Errorf("partition %d from %d: %+v, want error %d", tc.partition, tc.offset, got, tc.code)
		}
		end := map[int32]int64{0: 2, 1: 0}[tc.partition]
		if tc.code != 0 {
			end = -1
		}
		if got.HighWatermark != end || got.LastStableOffset != end || (got.LogStartOffset == -1) != (tc.code != 0) {
			t.Errorf("partition %d from %d: ends %d and %d, start %d", tc.partition, tc.offset, got.HighWatermark, got.LastStableOffset, got.LogStartOffset)
		}
	}
}

// A message that no record can be made of is served as it is, with the reason in a header, and does not stop those
// around it.
func TestFetchUnmappable(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("before"))
	envelope := userHeader("kafka.envelope", []byte{9})
	gw.sendMessages(t, topic,
		mapping.Message{Payload: []byte("payload"), UserHeaders: envelope},
		mapping.Message{Payload: []byte("native"), UserHeaders: userHeader("k", []byte("v"))})
	c.produce(topic, 0, batch("after"))
	got := c.fetchAll(topic, 0)
	if diff := cmp.Diff([]string{"before", "payload", "native", "after"}, values(got)); diff != "" {
		t.Fatal(diff)
	}
	if bad := got[1]; bad.key != nil || len(bad.headers) != 1 || bad.headers[0].name != mapping.ErrorHeader || len(bad.headers[0].value) == 0 {
		t.Errorf("served as %+v", bad)
	}
	if diff := cmp.Diff([]header{{"k", []byte("v")}}, got[2].headers, cmp.AllowUnexported(header{})); diff != "" {
		t.Errorf("a native message: %s", diff)
	}
	if !gw.logs.contains("no Kafka records") {
		t.Error("nothing was logged")
	}
}

// userHeader is one entry of Iggy's user headers: a string key and a raw value.
func userHeader(name string, value []byte) []byte {
	b := []byte{2, byte(len(name)), 0, 0, 0}
	b = append(b, name...)
	b = append(b, 1, byte(len(value)), 0, 0, 0)
	return append(b, value...)
}

// Which compression is served: the gateway's, but zstd only to versions that know it.
func TestFetchCompression(t *testing.T) {
	for _, codec := range []recordcodec.Codec{
		recordcodec.CodecGzip, recordcodec.CodecSnappy, recordcodec.CodecLZ4, recordcodec.CodecZstd,
	} {
		gw := start(t, setup{tune: func(cfg *api.Config) { cfg.FetchCompression = codec }})
		c := gw.dial(t)
		topic := gw.newTopic(t, 1)
		c.produce(topic, 0, batch(strings.Repeat("a", 10_000), "b"))
		for _, version := range []int16{9, 10} {
			req := fetchRequest(part{topic: topic})
			req.Version = version
			got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)).RecordBatches
			h, err := recordcodec.ParseHeader(got)
			if err != nil {
				t.Fatal(err)
			}
			want := codec
			if codec == recordcodec.CodecZstd && version < 10 {
				want = recordcodec.CodecNone
			}
			if served, _ := h.Codec(); served != want {
				t.Errorf("%v, v%d: served %v", codec, version, served)
			}
			if n := len(records(t, got)); n != 2 {
				t.Errorf("%v, v%d: %d records", codec, version, n)
			}
		}
	}
}

// read_committed differs from read_uncommitted in one thing: the list of aborted transactions is empty, not null.
func TestFetchIsolation(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a"))
	for level, isNull := range map[int8]bool{0: true, 1: false} {
		req := fetchRequest(part{topic: topic})
		req.IsolationLevel = level
		got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req))
		if (got.AbortedTransactions == nil) != isNull || len(got.AbortedTransactions) != 0 || got.LastStableOffset != 1 || len(got.RecordBatches) == 0 {
			t.Errorf("level %d: %+v", level, got)
		}
	}
}

// Leader epochs are compared since v9: none, ours, a newer one.
func TestFetchLeaderEpoch(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for _, tc := range []struct {
		version int16
		epoch   int32
		code    int16
	}{{9, -1, 0}, {9, 0, 0}, {9, 1, 75}, {12, 5, 75}, {8, 5, 0}} {
		req := fetchRequest(part{topic: topic, epoch: tc.epoch + 1})
		req.Version = tc.version
		if got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)); got.ErrorCode != tc.code {
			t.Errorf("v%d, epoch %d: error %d, want %d", tc.version, tc.epoch, got.ErrorCode, tc.code)
		}
	}
}

// Of a partition named twice the last word counts, with a session and without one.
func TestFetchPartitionTwice(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("a", "b"))
	for _, epoch := range []int32{-1, 0} {
		req := fetchRequest(part{topic: topic}, part{topic: topic, offset: 1})
		req.SessionEpoch = epoch
		if got := values(records(t, onlyPartition(c, ask[*kmsg.FetchResponse](c, req)).RecordBatches)); !slices.Equal(got, []string{"b"}) {
			t.Errorf("epoch %d: %q", epoch, got)
		}
	}
}

// A topic deleted and made again under its name is read from its own start, never with what was in the old one.
func TestFetchTopicMadeAgain(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batch("old", "old", "old"))
	c.fetchAll(topic, 0)
	ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic))
	if got := c.fetchOne(part{topic: topic, offset: 3}); got.ErrorCode != codeUnknownTopic {
		t.Errorf("deleted: error %d", got.ErrorCode)
	}
	gw.createTopic(t, topic, 1)
	c.produce(topic, 0, batch("new"))
	if got := c.fetchOne(part{topic: topic, offset: 3}); got.ErrorCode != codeOffsetOutOfRange {
		t.Errorf("an old offset: error %d", got.ErrorCode)
	}
	if got := values(c.fetchAll(topic, 0)); len(got) != 1 || got[0] != "new" {
		t.Errorf("read %q", got)
	}
}

// A topic that goes while a fetch waits for it ends the wait.
func TestFetchTopicDeletedWhileWaiting(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	req := fetchRequest(part{topic: topic})
	req.MaxWaitMillis = 1000
	c.send(req)
	ask[*kmsg.DeleteTopicsResponse](gw.dial(t), deleteRequest(5, topic))
	got := onlyPartition(c, next[*kmsg.FetchResponse](c))
	if len(got.RecordBatches) != 0 || got.ErrorCode != 0 && got.ErrorCode != codeUnknownTopic {
		t.Errorf("answered %+v", got)
	}
}
