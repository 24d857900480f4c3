// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Every version answers for the end and the start, with a leader epoch since v4.
func TestListOffsetsVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 1, stamped(5, 6, 7))
	for version := int16(1); version <= 10; version++ {
		req := listOffsetsRequest(version, part{topic: topic, partition: 1, timestamp: -1}, part{topic: topic, timestamp: -2},
			part{topic: "no-such-topic", timestamp: -1})
		got := ask[*kmsg.ListOffsetsResponse](c, req)

		want := kmsg.NewPtrListOffsetsResponse()
		want.Version = version
		for _, a := range []struct {
			topic     string
			partition int32
			offset    int64
			epoch     int32
			code      int16
		}{{topic, 1, 3, 0, 0}, {topic, 0, 0, 0, 0}, {"no-such-topic", 0, -1, -1, codeUnknownTopic}} {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.Offset, p.Timestamp, p.LeaderEpoch, p.ErrorCode = a.partition, a.offset, -1, a.epoch, a.code
			if n := len(want.Topics); n == 0 || want.Topics[n-1].Topic != a.topic {
				wt := kmsg.NewListOffsetsResponseTopic()
				wt.Topic = a.topic
				want.Topics = append(want.Topics, wt)
			}
			wt := &want.Topics[len(want.Topics)-1]
			wt.Partitions = append(wt.Partitions, p)
		}
		if diff := diffResponse(want, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// found is an answer in short: offset, timestamp, epoch, error.
func found(resp *kmsg.ListOffsetsResponse) string {
	p := resp.Topics[0].Partitions[0]
	return fmt.Sprintf("%d @%d epoch %d error %d", p.Offset, p.Timestamp, p.LeaderEpoch, p.ErrorCode)
}

// What stands for a timestamp, and since which version.
func TestListOffsetsSpecial(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 0, stamped(5, 9, 7))
	const unsupported, nothing = "-1 @-1 epoch -1 error 35", "-1 @-1 epoch -1 error 0"
	for _, tc := range []struct {
		timestamp int64
		since     int16
		want      string
		empty     string
	}{
		{-1, 1, "3 @-1 epoch 0 error 0", "0 @-1 epoch 0 error 0"},
		{-2, 1, "0 @-1 epoch 0 error 0", "0 @-1 epoch 0 error 0"},
		{-3, 7, "1 @9 epoch 0 error 0", nothing},
		{-4, 8, "0 @-1 epoch 0 error 0", "0 @-1 epoch 0 error 0"},
		{-5, 9, nothing, nothing},
		{-6, 11, "", ""},
		{-1 << 62, 11, "", ""},
	} {
		for version := int16(4); version <= 10; version++ {
			want := map[int32]string{0: tc.want, 1: tc.empty}
			if version < tc.since {
				want = map[int32]string{0: unsupported, 1: unsupported}
			}
			for p, want := range want {
				got := found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(version, part{topic: topic, partition: p, timestamp: tc.timestamp})))
				if got != want {
					t.Errorf("v%d, partition %d, %d: got %s, want %s", version, p, tc.timestamp, got, want)
				}
			}
		}
	}
}

// The first record at or after a timestamp, with its own timestamp.
func TestListOffsetsByTimestamp(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	c.produce(topic, 0, stamped(2, 4))
	c.produce(topic, 0, stamped(6, 8))
	const nothing = "-1 @-1 epoch -1 error 0"
	for asked, want := range map[int64]string{
		0: "0 @2 epoch 0 error 0", 1: "0 @2 epoch 0 error 0", 2: "0 @2 epoch 0 error 0", 3: "1 @4 epoch 0 error 0",
		4: "1 @4 epoch 0 error 0", 8: "3 @8 epoch 0 error 0", 9: nothing, 1 << 62: nothing,
	} {
		got := found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, timestamp: asked})))
		if got != want {
			t.Errorf("%d: got %s, want %s", asked, got, want)
		}
		got = found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, partition: 1, timestamp: asked})))
		if got != nothing {
			t.Errorf("%d, empty partition: got %s", asked, got)
		}
	}
}

// Records out of order by up to 1,000 places are found as a scan from the start finds them.
func TestListOffsetsDisorder(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	const n, disorder, base = 10_000, 1000, 1_000_000
	random := rand.New(rand.NewPCG(1, 2))
	// A record may be late: it is moved behind at most disorder of those that should come after it.
	stamps := make([]int64, 0, n)
	for i := 0; i < n; i += disorder {
		for _, j := range random.Perm(disorder) {
			stamps = append(stamps, base+int64(i+j)/3) // and several have one timestamp
		}
	}
	for i := 0; i < n; i += 500 {
		c.produce(topic, 0, stamped(stamps[i:i+500]...))
	}
	for range 200 {
		asked := base - 10 + random.Int64N(n/3+20)
		want := "-1 @-1 epoch -1 error 0"
		for i, ts := range stamps {
			if ts >= asked {
				want = fmt.Sprintf("%d @%d epoch 0 error 0", i, ts)
				break
			}
		}
		got := found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, timestamp: asked})))
		if got != want {
			t.Errorf("%d: got %s, want %s", asked, got, want)
		}
	}
}

// The largest timestamp: among the last 1,000, whoever wrote them, and all that this gateway wrote; the first record
// that has it.
func TestListOffsetsMaxTimestamp(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	max := func() string {
		return found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: topic, timestamp: -3})))
	}
	c.produce(topic, 0, stamped(10, 50, 50, 20))
	if got := max(); got != "1 @50 epoch 0 error 0" {
		t.Errorf("got %s", got)
	}
	for range 4 {
		c.produce(topic, 0, batchOf(batchForm{}, manyRecords(500, 1)...)) // all at 1
	}
	if got := max(); got != "1 @50 epoch 0 error 0" {
		t.Errorf("2,000 records later: got %s", got)
	}
	gw.sendNative(t, topic, "now") // read with the server's time, as it has none of its own
	got := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(7, part{topic: topic, timestamp: -3})).Topics[0].Partitions[0]
	if got.Offset != 2004 || time.Since(time.UnixMilli(got.Timestamp)).Abs() > patience {
		t.Errorf("a native message: %+v", got)
	}
}

// A partition named twice is answered once, with 42, wherever it stands in the request.
func TestListOffsetsPartitionTwice(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 2)
	resp := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6,
		part{topic: topic, partition: 1, timestamp: -1}, part{topic: topic, timestamp: -1}, part{topic: topic, partition: 1, timestamp: -2}))
	var got []string
	for _, p := range resp.Topics[0].Partitions {
		got = append(got, fmt.Sprintf("%d: %d", p.Partition, p.ErrorCode))
	}
	if fmt.Sprint(got) != fmt.Sprintf("[1: %d 0: 0]", codeInvalidRequest) {
		t.Errorf("got %v", got)
	}
}

// Leader epochs are compared since v4, and after it is known that there is such a partition.
func TestListOffsetsLeaderEpoch(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for _, tc := range []struct {
		version   int16
		partition int32
		epoch     int32
		code      int16
	}{{4, 0, -1, 0}, {4, 0, 0, 0}, {4, 0, 1, 75}, {3, 0, 1, 0}, {10, 0, 1 << 30, 75}, {4, 9, 1, codeUnknownTopic}, {4, -1, -1, codeUnknownTopic}} {
		req := listOffsetsRequest(tc.version, part{topic: topic, partition: tc.partition, timestamp: -1, epoch: 1 + tc.epoch})
		if got := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]; got.ErrorCode != tc.code {
			t.Errorf("%+v: error %d", tc, got.ErrorCode)
		}
	}
}

// The end is never from memory: what a native producer has just written is in it.
func TestListOffsetsNativeWrites(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for i := range int64(5) {
		gw.sendNative(t, topic, "v")
		got := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, timestamp: -1})).Topics[0].Partitions[0]
		if got.Offset != i+1 {
			t.Errorf("end %d, want %d", got.Offset, i+1)
		}
	}
}

// There are no transactions: the end is the same for those who read what is committed only.
func TestListOffsetsIsolation(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, stamped(2, 4))
	for level := range int8(2) {
		var got []string
		for _, timestamp := range []int64{-1, -2, -3, 3, 5} {
			req := listOffsetsRequest(7, part{topic: topic, timestamp: timestamp})
			req.IsolationLevel = level
			got = append(got, found(ask[*kmsg.ListOffsetsResponse](c, req)))
		}
		want := []string{
			"2 @-1 epoch 0 error 0", "0 @-1 epoch 0 error 0", "1 @4 epoch 0 error 0", "1 @4 epoch 0 error 0", "-1 @-1 epoch -1 error 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("level %d: %s", level, diff)
		}
	}
}

// Where the topic says LogAppendTime, records have the time when Iggy got them; the largest is that of the last ones, and
// found at the first that has it. Kafka 4.1.1 answers like that.
func TestListOffsetsLogAppendTime(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.createWith(topic, 1, "message.timestamp.type", "LogAppendTime")
	const empty = "-1 @-1 epoch -1 error 0"
	list := func(timestamp int64) string {
		return found(ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(8, part{topic: topic, timestamp: timestamp})))
	}
	if got := list(-3) + ", " + list(0); got != empty+", "+empty {
		t.Errorf("empty: %s", got)
	}
	for range 3 {
		c.produce(topic, 0, stamped(9, 2, 5)) // what the producer says does not count
		last := gw.appendTimes(t, topic)
		for now := last[len(last)-1]; time.Now().UnixMilli() <= now+1; { // another batch, another time
			time.Sleep(time.Millisecond)
		}
	}
	c.produce(topic, 0, batchOf(batchForm{}, manyRecords(2500, 1)...))
	times := gw.appendTimes(t, topic)
	for _, asked := range []int64{0, times[0] - 1, times[0], times[0] + 1, times[3], times[4] + 1, times[6], times[9], times[2508]} {
		if want := scan(times, asked); list(asked) != want {
			t.Errorf("%d: got %s, want %s", asked, list(asked), want)
		}
	}
	if got := list(times[2508] + 1); got != empty {
		t.Errorf("in the future: %s", got)
	}
	if got, want := list(-3), scan(times, times[2508]); got != want || !strings.HasPrefix(got, "9 ") {
		t.Errorf("the largest: got %s, want %s", got, want)
	}
}

// appendTimes lists when Iggy got the records of partition 0 of a topic, in ms.
func (gw *gateway) appendTimes(t *testing.T, name string) (times []int64) {
	t.Helper()
	view, err := gw.bridge.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	topic, ok := view.ByName(name)
	if !ok {
		t.Fatal("no topic")
	}
	m, err := gw.bridge.Read(t.Context(), gw.bridge.Self(), topic, 0, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	for rest := m.Messages; len(rest) > 0; {
		var msg []byte
		if msg, rest, err = iggywire.NextMessage(rest); err != nil {
			t.Fatal(err)
		}
		times = append(times, int64(iggywire.MessageTimestamp(msg)/1000))
	}
	return times
}
