// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// With the bridge off every API answers, and says to try elsewhere where it needs Iggy.
func TestDetached(t *testing.T) {
	gw := start(t, setup{detached: true, tune: func(cfg *api.Config) { cfg.AutoCreateTopics = true }})
	c := gw.dial(t)
	for version := int16(3); version <= 13; version++ {
		req := produceRequest(part{topic: "t", records: batch("v")}, part{topic: "t", partition: 5, records: nil})
		req.Version = version
		for _, p := range ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions {
			if p.ErrorCode != codeNotLeader || p.BaseOffset != -1 || version >= 5 && p.LogStartOffset != -1 {
				t.Errorf("produce v%d: %+v", version, p)
			}
		}
	}
	for version := int16(4); version <= 18; version++ {
		req := fetchRequest(part{topic: "t"})
		req.Version, req.MaxWaitMillis = version, 10
		if got := onlyPartition(c, ask[*kmsg.FetchResponse](c, req)); got.ErrorCode != codeNotLeader || got.HighWatermark != -1 || got.RecordBatches == nil {
			t.Errorf("fetch v%d: %+v", version, got)
		}
	}
	for version := int16(1); version <= 10; version++ {
		got := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(version, part{topic: "t", timestamp: -1})).Topics[0].Partitions[0]
		if got.ErrorCode != codeNotLeader || got.Offset != -1 || got.Timestamp != -1 {
			t.Errorf("list offsets v%d: %+v", version, got)
		}
	}
	for version := int16(0); version <= 13; version++ {
		req := metadataRequest(version, "t", "a b")
		req.AllowAutoTopicCreation = true
		got := ask[*kmsg.MetadataResponse](c, req)
		if fmt.Sprint(topicsOf(got)) != "[t: 3 a b: 17]" || len(got.Brokers) != 1 || version >= 1 && got.ControllerID != nodeID {
			t.Errorf("metadata v%d: %+v", version, got)
		}
	}
	if got := ask[*kmsg.MetadataResponse](c, metadataRequest(0)); len(got.Topics) != 0 || len(got.Brokers) != 1 {
		t.Errorf("metadata of all: %+v", got)
	}
	if got := ask[*kmsg.MetadataResponse](c, metadataByID(13, [16]byte{1})); got.Topics[0].ErrorCode != codeUnknownTopicID {
		t.Errorf("metadata by id: %+v", got)
	}
	const notController = "41: This is not the correct controller for this cluster."
	for version := int16(2); version <= 7; version++ {
		got := created(ask[*kmsg.CreateTopicsResponse](c, createRequest(version, newTopicSpec("t", 1, 1))), 0)
		if got != notController {
			t.Errorf("create v%d: %s", version, got)
		}
	}
	for version := int16(1); version <= 6; version++ {
		if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(version, "t")).Topics[0]; got.ErrorCode != 41 || *got.Topic != "t" {
			t.Errorf("delete v%d: %+v", version, got)
		}
	}
	if got := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1)); got.ErrorCode != 0 {
		t.Errorf("init producer id: %+v", got)
	}
	if got := ask[*kmsg.DescribeProducersResponse](c, describeProducers(part{topic: "t"}, 0)).Topics[0].Partitions[0]; got.ErrorCode != codeUnknownTopic || got.ErrorMessage == nil {
		t.Errorf("describe producers: %+v", got)
	}
	if got := ask[*kmsg.DescribeClusterResponse](c, kmsg.NewPtrDescribeClusterRequest()); got.ClusterID != "detached" {
		t.Errorf("describe cluster: %+v", got)
	}

	unacknowledged := produceRequest(part{topic: "t", records: batch("v")})
	unacknowledged.Acks = 0
	c.send(unacknowledged)
	c.expectClosed()
}
