// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// partitionsRequest asks for so many partitions in all; each assignment is one more partition's.
func partitionsRequest(version int16, topic string, total int32, assignments ...[]int32) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, total
	for _, nodes := range assignments {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = nodes
		t.Assignment = append(t.Assignment, a)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// New partitions can be used when the answer comes, by whoever had been using the topic, and the old ones keep what they have.
func TestCreatePartitions(t *testing.T) {
	gw := shared(t)
	for version := int16(0); version <= 3; version++ {
		c := gw.dial(t)
		topic := newName()
		c.create(topic, 1)
		c.produce(topic, 0, batch("old"))
		c.fetchOne(part{topic: topic})
		if got := c.altered(partitionsRequest(version, topic, 3)); got != "0" {
			t.Fatalf("v%d: %s", version, got)
		}
		if n := len(ask[*kmsg.MetadataResponse](c, metadataRequest(12, topic)).Topics[0].Partitions); n != 3 {
			t.Errorf("v%d: %d partitions in metadata", version, n)
		}
		if at := c.produce(topic, 2, batch("new")); at != 0 {
			t.Errorf("v%d: written at %d", version, at)
		}
		list := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: topic, partition: 1, timestamp: -1}, part{topic: topic, partition: 2, timestamp: -1}))
		for i, want := range []int64{0, 1} {
			if got := list.Topics[0].Partitions[i]; got.ErrorCode != 0 || got.Offset != want {
				t.Errorf("v%d: end of partition %d: %+v", version, i+1, got)
			}
		}
		for partition, want := range []int{1, 0, 1} {
			if got := c.fetchAll(topic, int32(partition)); len(got) != want {
				t.Errorf("v%d: %d records in partition %d", version, len(got), partition)
			}
		}
		if got := c.altered(partitionsRequest(version, topic, 5, []int32{nodeID}, []int32{nodeID})); got != "0" {
			t.Errorf("v%d, with an assignment: %s", version, got)
		}
	}
}

// A Fetch session that was refused a partition gets its records once it is there.
func TestCreatePartitionsInSession(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1)
	open := fetchRequest(part{topic: topic}, part{topic: topic, partition: 1})
	open.SessionEpoch = 0
	got := ask[*kmsg.FetchResponse](c, open)
	if code := got.Topics[0].Partitions[1].ErrorCode; code != codeUnknownTopic {
		t.Fatalf("error %d before", code)
	}
	if got := c.altered(partitionsRequest(3, topic, 2)); got != "0" {
		t.Fatal(got)
	}
	c.produce(topic, 1, batch("v"))
	next := fetchRequest()
	next.SessionID, next.SessionEpoch = got.SessionID, 1
	got = ask[*kmsg.FetchResponse](c, next)
	if len(got.Topics) != 1 || got.Topics[0].Partitions[0].Partition != 1 || got.Topics[0].Partitions[0].ErrorCode != 0 || len(got.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Errorf("afterwards: %+v", got)
	}
}

// What is refused, with the texts of a broker, and changes nothing.
func TestCreatePartitionsRefusals(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	gw.createTopic(t, topic, 2)
	late := partitionsRequest(3, topic, 3)
	late.TimeoutMillis = 0
	twice := partitionsRequest(3, topic, 3)
	twice.Topics = append(twice.Topics, partitionsRequest(3, topic, 4).Topics[0], partitionsRequest(3, "no-such-topic", 4).Topics[0])
	none := partitionsRequest(3, topic, 3)
	none.Topics[0].Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	excess := partitionsRequest(3, topic, 3)
	excess.Topics = nil
	for range 11 {
		excess.Topics = append(excess.Topics, partitionsRequest(3, gw.newTopic(t, 1), 1000).Topics...)
	}
	excess.ValidateOnly = true
	for _, tc := range []struct {
		req  kmsg.Request
		want string
	}{
		{partitionsRequest(3, topic, 2), "37: Topic already has 2 partition(s)."},
		{partitionsRequest(3, topic, 1), "37: The topic " + topic + " currently has 2 partition(s); 1 would not be an increase."},
		{partitionsRequest(3, topic, -1), "37: The topic " + topic + " currently has 2 partition(s); -1 would not be an increase."},
		{partitionsRequest(3, topic, 1001), "37: Number of partitions 1001 is above 1000, the most that a topic can have."},
		{partitionsRequest(3, "no-such-topic", 2), "3"},
		{partitionsRequest(3, "a b", 2), "3"},
		{partitionsRequest(3, stateTopic, 9), "17: Topic '__iggy_kafka_state' is internal."},
		{late, "7"},
		{twice, "42: Duplicate topic name.; 3"},
		{none, "39: Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified."},
		{partitionsRequest(3, topic, 4, []int32{nodeID}), "39: Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
		{partitionsRequest(3, topic, 3, []int32{}), "39: The manual partition assignment includes an empty replica list."},
		{partitionsRequest(3, topic, 3, []int32{7}), "39: The manual partition assignment includes broker 7, but no such broker is registered."},
		{partitionsRequest(3, topic, 3, []int32{nodeID, nodeID}), "39: The manual partition assignment includes the broker 1 more than once."},
		{excess, strings.Repeat("0; ", 10) + "44: Excessively large number of partitions per request."},
	} {
		if got := c.altered(tc.req); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
	validated := partitionsRequest(3, topic, 3)
	validated.ValidateOnly = true
	if got := c.altered(validated); got != "0" {
		t.Errorf("validated only: %s", got)
	}
	if n := gw.topic(t, topic).Partitions; n != 2 {
		t.Errorf("%d partitions", n)
	}
}

// The maximum size follows the partitions; whatever else Iggy holds stays.
func TestCreatePartitionsKeepsSettings(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for _, tc := range []struct {
		settings []string
		maxSize  uint64
	}{
		{nil, iggywire.UnlimitedSize},
		{[]string{"retention.bytes", "2147483648", "retention.ms", "60000"}, 6 << 30},
		{[]string{"retention.bytes", "1000"}, 1 << 30}, // below a segment
		{[]string{"retention.bytes", "2147483648", "cleanup.policy", "compact"}, iggywire.UnlimitedSize},
		{[]string{"retention.bytes", "-1"}, iggywire.UnlimitedSize},
	} {
		topic := newName()
		c.create(topic, 2, tc.settings...)
		before, own := gw.topic(t, topic), c.ownConfigs(topic)
		if got := c.altered(partitionsRequest(3, topic, 3)); got != "0" {
			t.Fatal(got)
		}
		now := gw.topic(t, topic)
		if now.MaxSize != tc.maxSize || now.MessageExpiry != before.MessageExpiry || now.ID != before.ID || now.Partitions != 3 {
			t.Errorf("%v: %+v", tc.settings, now)
		}
		if diff := cmp.Diff(own, c.ownConfigs(topic)); diff != "" {
			t.Errorf("%v: %s", tc.settings, diff)
		}
	}
}

// Many who grow a topic at the same time grow it once.
func TestCreatePartitionsAtOnce(t *testing.T) {
	gw := shared(t)
	topic := newName()
	gw.createTopic(t, topic, 1)
	var clients []*client
	for range 8 {
		c := gw.dial(t)
		c.send(partitionsRequest(3, topic, 4))
		clients = append(clients, c)
	}
	count := map[int16]int{}
	for _, c := range clients {
		count[next[*kmsg.CreatePartitionsResponse](c).Topics[0].ErrorCode]++
	}
	if n := gw.topic(t, topic).Partitions; n != 4 || fmt.Sprint(count) != "map[0:1 37:7]" {
		t.Errorf("%d partitions, answered %v", n, count)
	}
}
