// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testDetached asks a gateway without Iggy: clients connect, and are told to come back for all that needs it.
func testDetached(t *testing.T, target *harness.Target) {
	client := franz(t, target.Kafka)
	const topic = "topic"

	t.Run("metadata", func(t *testing.T) {
		resp := ask[*kmsg.MetadataResponse](t, client, kmsg.NewPtrMetadataRequest()) // of all topics
		if len(resp.Brokers) != 1 || len(resp.Topics) != 0 || resp.ClusterID == nil {
			t.Errorf("got %d brokers, %d topics, cluster id %v; want one broker, no topic, an id", len(resp.Brokers), len(resp.Topics), resp.ClusterID)
		}
	})
	t.Run("metadata-of-a-topic", func(t *testing.T) {
		named := kmsg.NewPtrMetadataRequest()
		named.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
		expectCode(t, ask[*kmsg.MetadataResponse](t, client, named).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
	t.Run("produce", func(t *testing.T) {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 1000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte{}}}}}
		expectCode(t, ask[*kmsg.ProduceResponse](t, client, req).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderForPartition)
	})
	t.Run("fetch", func(t *testing.T) {
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.PartitionMaxBytes = 1 << 20
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis = 100
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: [16]byte{1}, Partitions: []kmsg.FetchRequestTopicPartition{partition}}}
		expectCode(t, ask[*kmsg.FetchResponse](t, client, req).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderForPartition)
	})
	t.Run("list-offsets", func(t *testing.T) {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}}}}
		expectCode(t, ask[*kmsg.ListOffsetsResponse](t, client, req).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderForPartition)
	})
	t.Run("create-topics", func(t *testing.T) {
		asked := kmsg.NewCreateTopicsRequestTopic()
		asked.Topic, asked.NumPartitions, asked.ReplicationFactor = topic, 1, 1
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Topics = []kmsg.CreateTopicsRequestTopic{asked}
		expectCode(t, ask[*kmsg.CreateTopicsResponse](t, client, req).Topics[0].ErrorCode, kerr.NotController)
	})
	t.Run("delete-topics", func(t *testing.T) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{topic}
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr(topic)}}
		expectCode(t, ask[*kmsg.DeleteTopicsResponse](t, client, req).Topics[0].ErrorCode, kerr.NotController)
	})
	t.Run("init-producer-id", func(t *testing.T) {
		resp := ask[*kmsg.InitProducerIDResponse](t, client, kmsg.NewPtrInitProducerIDRequest())
		if resp.ErrorCode != 0 || resp.ProducerID < 0 || resp.ProducerEpoch != 0 {
			t.Errorf("code %d, producer id %d, epoch %d; want an id and epoch 0", resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch)
		}
	})
}

// ask sends one request, without the client's own retries.
func ask[Resp kmsg.Response](t *testing.T, client *kgo.Client, req kmsg.Request) Resp {
	t.Helper()
	resp, err := client.SeedBrokers()[0].Request(within(t, limit), req)
	if err != nil {
		t.Fatal(err)
	}
	typed, ok := resp.(Resp)
	if !ok {
		t.Fatalf("%T answers %T", resp, req)
	}
	return typed
}

func expectCode(t *testing.T, got int16, want *kerr.Error) {
	t.Helper()
	if got != want.Code {
		t.Errorf("code %d (%v), want %d (%v)", got, kerr.ErrorForCode(got), want.Code, want)
	}
}
