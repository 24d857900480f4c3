// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// What a broker answers to the same is compared in e2e. Here is what a broker cannot be asked: Iggy's sizes, an Iggy that is not
// there, none at all, and answers that must stay small.

func logDirs(version int16, topics ...kmsg.DescribeLogDirsRequestTopic) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version, req.Topics = version, topics
	return req
}

// sizes is what DescribeLogDirs answers, as "topic/partition=size".
func sizes(t *testing.T, resp *kmsg.DescribeLogDirsResponse) (list []string) {
	t.Helper()
	if len(resp.Dirs) != 1 || resp.Dirs[0].Dir != "iggy" || resp.ErrorCode != 0 {
		t.Fatalf("error %d, %d directories", resp.ErrorCode, len(resp.Dirs))
	}
	dir := resp.Dirs[0]
	if dir.ErrorCode != 0 || dir.TotalBytes != -1 || dir.UsableBytes != -1 {
		t.Errorf("error %d, %d bytes, %d to use", dir.ErrorCode, dir.TotalBytes, dir.UsableBytes)
	}
	for _, topic := range dir.Topics {
		for _, p := range topic.Partitions {
			list = append(list, fmt.Sprintf("%s/%d=%d", topic.Topic, p.Partition, p.Size))
		}
	}
	slices.Sort(list)
	return list
}

func TestLogDirs(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	c.create("sized", 2)
	c.create("other", 1)
	ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: "sized", partition: 1, records: batch("a", "b")}))
	view, err := gw.bridge.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	topic, _ := view.ByName("sized")
	bounds, err := gw.bridge.Bounds(t.Context(), topic)
	if err != nil || bounds[1].Bytes == 0 {
		t.Fatal(bounds, err)
	}
	sized := []string{"sized/0=0", fmt.Sprintf("sized/1=%d", bounds[1].Bytes)}
	for version := int16(1); version <= 4; version++ {
		all := sizes(t, ask[*kmsg.DescribeLogDirsResponse](c, logDirs(version)))
		all = slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, "_") }) // the gateway's own
		if diff := cmp.Diff(append([]string{"other/0=0"}, sized...), all); diff != "" {
			t.Errorf("v%d, all: %s", version, diff)
		}
		some := logDirs(version, kmsg.DescribeLogDirsRequestTopic{Topic: "sized", Partitions: []int32{1, 7}}, kmsg.DescribeLogDirsRequestTopic{Topic: "missing", Partitions: []int32{0}})
		if diff := cmp.Diff(sized[1:], sizes(t, ask[*kmsg.DescribeLogDirsResponse](c, some))); diff != "" {
			t.Errorf("v%d, some: %s", version, diff)
		}
	}
}

// Without Iggy there is nothing, and every API says so.
func TestAdminDetached(t *testing.T) {
	c := start(t, setup{detached: true}).dial(t)
	if got := sizes(t, ask[*kmsg.DescribeLogDirsResponse](c, logDirs(4))); got != nil {
		t.Error(got)
	}
	elected := ask[*kmsg.ElectLeadersResponse](c, electLeaders("t", 0))
	if p := elected.Topics[0].Partitions[0]; p.ErrorCode != 3 || elected.ErrorCode != 0 {
		t.Errorf("elect leaders: %d, %d", elected.ErrorCode, p.ErrorCode)
	}
	if got := ask[*kmsg.DescribeTopicPartitionsResponse](c, topicPartitions(10, nil, "t")).Topics; len(got) != 1 || got[0].ErrorCode != 3 {
		t.Errorf("a topic: %+v", got)
	}
	if got := ask[*kmsg.DescribeTopicPartitionsResponse](c, topicPartitions(10, nil)).Topics; len(got) != 0 {
		t.Errorf("all: %+v", got)
	}
}

// An Iggy that does not answer is no empty one.
func TestAdminWithoutAnswer(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	c.create("there", 1)
	if err := gw.iggy.Close(); err != nil {
		t.Fatal(err)
	}
	gw.iggy = nil
	dirs := ask[*kmsg.DescribeLogDirsResponse](c, logDirs(4, kmsg.DescribeLogDirsRequestTopic{Topic: "there", Partitions: []int32{0}}))
	if dir := dirs.Dirs[0]; dir.ErrorCode != 56 || len(dir.Topics) != 0 {
		t.Errorf("log directory: error %d, %d topics", dir.ErrorCode, len(dir.Topics))
	}
}

func electLeaders(topic string, partitions ...int32) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.TimeoutMillis = 2, 1000
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: partitions}}
	return req
}

func topicPartitions(limit int32, from *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, from
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: topic})
	}
	return req
}

// However the pages are cut, together they are what Metadata says, each partition once.
func TestTopicPartitionsInPages(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	want := []string{}
	for i, partitions := range []int32{3, 1, 4, 1, 5} {
		name := fmt.Sprintf("page-%d", i)
		c.create(name, partitions)
		for p := range partitions {
			want = append(want, fmt.Sprintf("%s/%d", name, p))
		}
	}
	for limit := int32(1); limit <= 16; limit++ {
		var got []string
		var cursor *kmsg.DescribeTopicPartitionsRequestCursor
		for pages := 0; ; pages++ {
			resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, topicPartitions(limit, cursor))
			told := int32(0)
			for _, topic := range resp.Topics {
				told += int32(len(topic.Partitions))
				for _, p := range topic.Partitions {
					if strings.HasPrefix(*topic.Topic, "page-") {
						got = append(got, fmt.Sprintf("%s/%d", *topic.Topic, p.Partition))
					}
				}
			}
			if told > limit || pages > 100 {
				t.Fatalf("limit %d: a page of %d, %d pages", limit, told, pages)
			}
			if resp.NextCursor == nil {
				break
			}
			cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: resp.NextCursor.Topic, Partition: resp.NextCursor.Partition}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("limit %d: %s", limit, diff)
		}
	}
}

// A page has 2,000 partitions at most, whatever is asked, as on a broker.
func TestTopicPartitionsAreBounded(t *testing.T) {
	gw := start(t, setup{})
	for i := range 3 {
		spec := bridge.TopicSpec{Name: fmt.Sprintf("wide-%d", i), Partitions: 900}
		if _, err := gw.bridge.CreateTopic(t.Context(), gw.bridge.Self(), spec); err != nil {
			t.Fatal(err)
		}
	}
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](gw.dial(t), topicPartitions(1<<30, nil, "wide-0", "wide-1", "wide-2"))
	n := 0
	for _, topic := range resp.Topics {
		n += len(topic.Partitions)
	}
	if n != 2000 || resp.NextCursor == nil || resp.NextCursor.Topic != "wide-2" || resp.NextCursor.Partition != 200 {
		t.Errorf("%d partitions, then %+v", n, resp.NextCursor)
	}
}
