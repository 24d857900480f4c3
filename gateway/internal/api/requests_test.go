// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The versions that tests use where the version does not matter.
const (
	produceVersion = 9
	fetchVersion   = 11
)

// part is a partition of a topic, with what a test sends to it or asks of it.
type part struct {
	topic     string
	partition int32
	records   []byte  // Produce
	offset    int64   // Fetch, OffsetCommit
	maxBytes  int32   // Fetch; 0: 1 MiB
	epoch     int32   // Fetch, ListOffsets, OffsetCommit: current leader epoch, less 1
	timestamp int64   // ListOffsets
	metadata  *string // OffsetCommit
}

// produceRequest writes parts, all confirmed; parts of one topic that follow each other share its entry.
func produceRequest(parts ...part) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, -1, 10_000
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			t := kmsg.NewProduceRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		in := kmsg.NewProduceRequestTopicPartition()
		in.Partition, in.Records = p.partition, p.records
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, in)
	}
	return req
}

// fetchRequest reads parts without waiting.
func fetchRequest(parts ...part) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.MaxWaitMillis = fetchVersion, 50<<20, 1, 0
	req.ReplicaID, req.SessionEpoch = -1, -1
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		in := kmsg.NewFetchRequestTopicPartition()
		in.Partition, in.FetchOffset, in.PartitionMaxBytes, in.CurrentLeaderEpoch = p.partition, p.offset, p.maxBytes, p.epoch-1
		if p.maxBytes == 0 {
			in.PartitionMaxBytes = 1 << 20
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, in)
	}
	return req
}

// listOffsetsRequest asks for the offsets of parts.
func listOffsetsRequest(version int16, parts ...part) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		in := kmsg.NewListOffsetsRequestTopicPartition()
		in.Partition, in.Timestamp, in.CurrentLeaderEpoch = p.partition, p.timestamp, p.epoch-1
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, in)
	}
	return req
}

// metadataRequest asks for topics by name and creates none; without names for no topic.
func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// createRequest asks for one topic.
func createRequest(version int16, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	req.Topics = topics
	return req
}

func newTopicSpec(name string, partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	return t
}

// deleteRequest deletes topics by name.
func deleteRequest(version int16, names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	for _, name := range names {
		if version < 6 {
			req.TopicNames = append(req.TopicNames, name)
			continue
		}
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// produce writes one batch, which must succeed, and returns its base offset.
func (c *client) produce(topic string, partition int32, records []byte) int64 {
	c.Helper()
	resp := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, partition: partition, records: records}))
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.Fatalf("produce: error %d", p.ErrorCode)
	}
	return p.BaseOffset
}

// fetchOne reads one partition and returns what was answered for it.
func (c *client) fetchOne(p part) kmsg.FetchResponseTopicPartition {
	c.Helper()
	return onlyPartition(c, ask[*kmsg.FetchResponse](c, fetchRequest(p)))
}

func onlyPartition(c *client, resp *kmsg.FetchResponse) kmsg.FetchResponseTopicPartition {
	c.Helper()
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		c.Fatalf("fetch: not an answer for one partition: %+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}

func metadataByID(version int16, ids ...[16]byte) *kmsg.MetadataRequest {
	req := metadataRequest(version)
	for _, id := range ids {
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	return req
}

// deleteByID is DeleteTopics v6, whose topics have a name, an id, or whatever they should not have.
func deleteByID(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	req := deleteRequest(6)
	req.Topics = topics
	return req
}

func withConfig(t kmsg.CreateTopicsRequestTopic, name string, value *string) kmsg.CreateTopicsRequestTopic {
	c := kmsg.NewCreateTopicsRequestTopicConfig()
	c.Name, c.Value = name, value
	t.Configs = append(t.Configs, c)
	return t
}

// withAssignment places partitions on this node by hand.
func withAssignment(t kmsg.CreateTopicsRequestTopic, partitions ...int32) kmsg.CreateTopicsRequestTopic {
	for _, p := range partitions {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = p, []int32{nodeID}
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

// withNode moves the last partition that was placed by hand to other nodes.
func withNode(t kmsg.CreateTopicsRequestTopic, nodes ...int32) kmsg.CreateTopicsRequestTopic {
	t.ReplicaAssignment[len(t.ReplicaAssignment)-1].Replicas = nodes
	return t
}

// findCoordinator asks for the coordinators of keys; below v4 there is one.
func findCoordinator(version int16, kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = version, kind, keys
	if version < 4 {
		req.CoordinatorKey, req.CoordinatorKeys = keys[0], nil
	}
	return req
}

func initProducerID(version int16, transactionalID *string, id int64, epoch int16) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = version, transactionalID, id, epoch
	return req
}
