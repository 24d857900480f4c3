// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteRecordsRequest asks for deletions up to the offsets of parts; parts of one topic that follow each other share its entry.
func deleteRecordsRequest(version int16, parts ...part) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			t := kmsg.NewDeleteRecordsRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		in := kmsg.NewDeleteRecordsRequestTopicPartition()
		in.Partition, in.Offset = p.partition, p.offset
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, in)
	}
	return req
}

// lowWatermarks is what DeleteRecords answered in short, as topic partition: log start, or error.
func lowWatermarks(resp *kmsg.DeleteRecordsResponse) string {
	var out []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			switch {
			case p.ErrorCode == 0:
				out = append(out, fmt.Sprintf("%s %d: %d", t.Topic, p.Partition, p.LowWatermark))
			case p.LowWatermark == -1:
				out = append(out, fmt.Sprintf("%s %d: error %d", t.Topic, p.Partition, p.ErrorCode))
			default:
				out = append(out, fmt.Sprintf("%s %d: error %d and %d", t.Topic, p.Partition, p.ErrorCode, p.LowWatermark))
			}
		}
	}
	return strings.Join(out, ", ")
}

func (c *client) deleteRecords(parts ...part) string {
	c.Helper()
	return lowWatermarks(ask[*kmsg.DeleteRecordsResponse](c, deleteRecordsRequest(2, parts...)))
}

// What a Kafka 4.1.1 broker answers, which was asked the same.
func TestDeleteRecordsAnswers(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	for topic, policy := range map[string]string{"deletes": "delete", "compacts": "compact", "both": "compact,delete", "neither": ""} {
		c.createWith(topic, 3, "cleanup.policy", policy)
	}
	for _, tc := range []struct {
		name string
		ask  []part
		want string
	}{
		{"empty, all", []part{{topic: "deletes", offset: -1}}, "deletes 0: 0"},
		{"empty, nothing", []part{{topic: "deletes"}}, "deletes 0: 0"},
		{"empty, behind the end", []part{{topic: "deletes", offset: 1}}, "deletes 0: error 1"},
		{"compacted", []part{{topic: "compacts"}}, "compacts 0: error 44"},
		{"compacted, behind the end", []part{{topic: "compacts", offset: 5}}, "compacts 0: error 44"},
		{"compacted, no such partition", []part{{topic: "compacts", partition: 9}}, "compacts 9: error 3"},
		{"compacted and deleted", []part{{topic: "both"}}, "both 0: 0"},
		{"no policy", []part{{topic: "neither"}}, "neither 0: error 44"},
		{"no such topic", []part{{topic: "missing"}}, "missing 0: error 3"},
		{"no topic has such a name", []part{{topic: "a b"}}, "a b 0: error 3"},
		{"no name", []part{{topic: ""}}, " 0: error 3"},
		{"negative partition", []part{{topic: "deletes", partition: -1}}, "deletes -1: error 3"},
		{"twice, the last counts", []part{{topic: "deletes", partition: 1}, {topic: "deletes", partition: 1, offset: 7}}, "deletes 1: error 1"},
		{"twice, the last counts again", []part{{topic: "deletes", partition: 1, offset: 7}, {topic: "deletes", partition: 1}}, "deletes 1: 0"},
		{
			"topic twice", []part{{topic: "deletes", partition: 1}, {topic: "compacts", partition: 1}, {topic: "deletes", partition: 2, offset: 7}},
			"deletes 1: 0, deletes 2: error 1, compacts 1: error 44",
		},
		{
			"topic and partition twice", []part{{topic: "deletes", partition: 1}, {topic: "compacts", partition: 1}, {topic: "deletes", partition: 1, offset: 7}},
			"deletes 1: error 1, compacts 1: error 44",
		},
		{
			"several", []part{{topic: "deletes", partition: 2}, {topic: "deletes", partition: 9}, {topic: "deletes"}},
			"deletes 2: 0, deletes 9: error 3, deletes 0: 0",
		},
		{"internal", []part{{topic: stateTopic}}, stateTopic + " 0: error 17"},
		{"internal, no such partition", []part{{topic: stateTopic, partition: 999}}, stateTopic + " 999: error 3"},
		{"nothing", nil, ""},
	} {
		if got := c.deleteRecords(tc.ask...); got != tc.want {
			t.Errorf("%s: %s, a broker says %s", tc.name, got, tc.want)
		}
	}
	for _, timeout := range []int32{0, -1} {
		req := deleteRecordsRequest(2, part{topic: "deletes"})
		req.TimeoutMillis = timeout
		if got := lowWatermarks(ask[*kmsg.DeleteRecordsResponse](c, req)); got != "deletes 0: 0" {
			t.Errorf("timeout %d: %s", timeout, got)
		}
	}
}

// createWith makes a topic with one setting.
func (c *client) createWith(topic string, partitions int32, name, value string) {
	c.Helper()
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(5, withConfig(newTopicSpec(topic, partitions, 1), name, &value)))
	if got.Topics[0].ErrorCode != 0 {
		c.Fatalf("create %s with %s=%s: error %d", topic, name, value, got.Topics[0].ErrorCode)
	}
}

// Every version deletes.
func TestDeleteRecordsVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 1, stamped(1, 2, 3, 4))
	for version := int16(0); version <= 2; version++ {
		got := ask[*kmsg.DeleteRecordsResponse](c, deleteRecordsRequest(version,
			part{topic: topic, partition: 1, offset: int64(version) + 1}, part{topic: "no-such-topic"}))
		want := kmsg.NewPtrDeleteRecordsResponse()
		want.Version = version
		for _, a := range []struct {
			topic     string
			partition int32
			low       int64
			code      int16
		}{{topic, 1, int64(version) + 1, 0}, {"no-such-topic", 0, -1, codeUnknownTopic}} {
			p := kmsg.NewDeleteRecordsResponseTopicPartition()
			p.Partition, p.LowWatermark, p.ErrorCode = a.partition, a.low, a.code
			wt := kmsg.NewDeleteRecordsResponseTopic()
			wt.Topic, wt.Partitions = a.topic, []kmsg.DeleteRecordsResponseTopicPartition{p}
			want.Topics = append(want.Topics, wt)
		}
		if diff := diffResponse(want, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// starts is where a partition begins, as every API tells it that does; all must say the same. The partition ends at end.
func (c *client) starts(topic string, end int64) int64 {
	c.Helper()
	list := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: -2})).Topics[0].Partitions[0]
	local := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: -4})).Topics[0].Partitions[0]
	fetched := c.fetchOne(part{topic: topic, offset: end})
	again := c.deleteRecords(part{topic: topic})
	refused := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: changed(batch("v"), setInt32(atCount, 2))})).Topics[0].Partitions[0]
	if list.Offset != local.Offset || list.Offset != fetched.LogStartOffset || again != fmt.Sprintf("%s 0: %d", topic, list.Offset) ||
		list.Offset != refused.LogStartOffset || fetched.HighWatermark != end || fetched.ErrorCode != 0 {
		c.Errorf("earliest %d, earliest local %d, fetch %+v, delete records %s, produce %+v", list.Offset, local.Offset, fetched, again, refused)
	}
	if list.Offset > 0 {
		if got := c.fetchOne(part{topic: topic, offset: list.Offset - 1}); got.ErrorCode != codeOffsetOutOfRange {
			c.Errorf("fetch before the start: error %d", got.ErrorCode)
		}
	}
	return list.Offset
}

// When the answer is there, whoever asks sees that the records are gone, and so after a restart of the gateway.
func TestDeleteRecords(t *testing.T) {
	iggy := startIggy(t)
	addr := iggy.Addr().String()
	gw := start(t, setup{iggyAddr: addr})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, stamped(100, 101, 500, 103, 104, 105)) // the largest goes early
	if got := c.deleteRecords(part{topic: topic, offset: 3}); got != topic+" 0: 3" {
		t.Fatal(got)
	}
	check := func(c *client, when string) {
		t.Helper()
		if start := c.starts(topic, 6); start != 3 {
			t.Errorf("%s: begins at %d", when, start)
		}
		for offset, code := range map[int64]int16{-1: 1, 0: 1, 2: 1, 3: 0, 5: 0, 6: 0, 7: 1} {
			got := c.fetchOne(part{topic: topic, offset: offset})
			if read := records(t, got.RecordBatches); got.ErrorCode != code || code == 0 && offset < 6 && read[0].offset != offset {
				t.Errorf("%s: fetch from %d: error %d, %+v", when, offset, got.ErrorCode, read)
			}
		}
		var got []string
		for _, timestamp := range []int64{-1, -3, 0, 101, 104, 200} {
			got = append(got, found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: timestamp}))))
		}
		want := []string{
			"6 @-1 epoch 0 error 0", "5 @105 epoch 0 error 0", "3 @103 epoch 0 error 0", "3 @103 epoch 0 error 0",
			"4 @104 epoch 0 error 0", "-1 @-1 epoch -1 error 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	check(c, "at once")
	next := start(t, setup{iggyAddr: addr})
	check(next.dial(t), "another gateway")

	// The older one knows what it knew, and deletes nothing any more.
	<-gw.state.Fenced()
	if got := c.deleteRecords(part{topic: topic, offset: 4}); got != topic+" 0: error 6" {
		t.Errorf("fenced: %s", got)
	}
	if got := c.fetchOne(part{topic: topic, offset: 2}); got.ErrorCode != codeOffsetOutOfRange {
		t.Errorf("fenced: error %d", got.ErrorCode)
	}

	c = next.dial(t)
	if got := c.deleteRecords(part{topic: topic, offset: -1}); got != topic+" 0: 6" {
		t.Error(got)
	}
	if start := c.starts(topic, 6); start != 6 {
		t.Errorf("all deleted: begins at %d", start)
	}
	produced := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: batch("v")})).Topics[0].Partitions[0]
	if produced.BaseOffset != 6 || produced.LogStartOffset != 6 {
		t.Errorf("all deleted: %+v", produced)
	}
}

// A fetch that waits for more is told that what it waits with is gone.
func TestDeleteRecordsWhileFetchWaits(t *testing.T) {
	gw := shared(t)
	topic := gw.newTopic(t, 1)
	gw.dial(t).produce(topic, 0, stamped(1, 2, 3))
	waits := gw.dial(t)
	req := fetchRequest(part{topic: topic, offset: 1})
	req.MaxWaitMillis, req.MinBytes = long, 1<<20
	waits.send(req)
	began := time.Now()
	if got := gw.dial(t).deleteRecords(part{topic: topic, offset: 2}); got != topic+" 0: 2" {
		t.Fatal(got)
	}
	got := onlyPartition(waits, next[*kmsg.FetchResponse](waits))
	if took := time.Since(began); got.ErrorCode != codeOffsetOutOfRange || got.HighWatermark != -1 || took > long*time.Millisecond/2 {
		t.Errorf("%+v after %v", got, took)
	}
}

// An incremental fetch of a session (KIP-227) tells that the log begins later, though nothing else is new.
func TestDeleteRecordsInFetchSession(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, stamped(1, 2, 3))
	req := fetchRequest(part{topic: topic, offset: 3})
	req.SessionEpoch = 0
	opened := ask[*kmsg.FetchResponse](c, req)
	next := fetchRequest()
	next.SessionID, next.SessionEpoch = opened.SessionID, 1
	if got := ask[*kmsg.FetchResponse](c, next); opened.SessionID == 0 || got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Fatalf("session %d: %+v", opened.SessionID, got)
	}
	if got := c.deleteRecords(part{topic: topic, offset: 2}); got != topic+" 0: 2" {
		t.Fatal(got)
	}
	next.SessionEpoch++
	if got := onlyPartition(c, ask[*kmsg.FetchResponse](c, next)); got.LogStartOffset != 2 || got.HighWatermark != 3 || got.ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
	next.SessionEpoch++
	if got := ask[*kmsg.FetchResponse](c, next); got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Errorf("told twice: %+v", got)
	}
}

// A topic that was deleted and made again begins at 0.
func TestDeleteRecordsOfRecreatedTopic(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, stamped(1, 2, 3))
	if got := c.deleteRecords(part{topic: topic, offset: 2}); got != topic+" 0: 2" {
		t.Fatal(got)
	}
	ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic))
	gw.createTopic(t, topic, 1)
	if base := c.produce(topic, 0, stamped(1, 2, 3)); base != 0 {
		t.Errorf("base %d", base)
	}
	if start := c.starts(topic, 3); start != 0 {
		t.Errorf("begins at %d", start)
	}
}

// What is not done in time is answered 7, and may be done later.
func TestDeleteRecordsTimeout(t *testing.T) {
	gw, proxy, _ := behindProxy(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, stamped(1, 2, 3))
	if err := proxy.Script("message.send * answer delay 500ms"); err != nil {
		t.Fatal(err)
	}
	req := deleteRecordsRequest(2, part{topic: topic, offset: 2})
	req.TimeoutMillis = 100
	if got := lowWatermarks(ask[*kmsg.DeleteRecordsResponse](c, req)); got != topic+" 0: error 7" {
		t.Error(got)
	}
	if err := proxy.Script(""); err != nil {
		t.Fatal(err)
	}
	if got := c.deleteRecords(part{topic: topic, offset: 1}); got != topic+" 0: 1" && got != topic+" 0: 2" {
		t.Error(got)
	}
}

// With the bridge off a partition has no leader here.
func TestDeleteRecordsDetached(t *testing.T) {
	gw := start(t, setup{detached: true})
	c := gw.dial(t)
	for version := int16(0); version <= 2; version++ {
		got := lowWatermarks(ask[*kmsg.DeleteRecordsResponse](c, deleteRecordsRequest(version, part{topic: "t"}, part{topic: "t", partition: 1, offset: -1})))
		if got != "t 0: error 6, t 1: error 6" {
			t.Errorf("v%d: %s", version, got)
		}
	}
}
