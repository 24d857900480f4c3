// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import "github.com/twmb/franz-go/pkg/kmsg"

// produceRequest writes to one partition with acks of all; the topic's id counts from version 13 on.
func produceRequest(version int16, topic topicRef, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{
		Topic: topic.name, TopicID: topic.id,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: records}},
	}}
	return req
}

// fetchFrom is a partition and where to read it.
type fetchFrom struct {
	topic     topicRef
	partition int32
	offset    int64
}

// fetchRequest reads without waiting and outside of sessions.
func fetchRequest(version int16, from ...fetchFrom) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = version, 0, 0, 50<<20, -1
	for _, f := range from {
		addPartition(req, f)
	}
	return req
}

// addPartition puts a partition into a request, beside others of its topic.
func addPartition(req *kmsg.FetchRequest, f fetchFrom) *kmsg.FetchRequestTopicPartition {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = f.partition, f.offset, 1<<20
	last := len(req.Topics) - 1
	if last < 0 || req.Topics[last].Topic != f.topic.name || req.Topics[last].TopicID != f.topic.id {
		req.Topics = append(req.Topics, kmsg.FetchRequestTopic{Topic: f.topic.name, TopicID: f.topic.id})
		last++
	}
	partitions := &req.Topics[last].Partitions
	*partitions = append(*partitions, partition)
	return &(*partitions)[len(*partitions)-1]
}

// fetchAtEpoch reads partition 0 from its begin, naming the leader's epoch.
func fetchAtEpoch(version int16, topic topicRef, epoch int32) *kmsg.FetchRequest {
	req := fetchRequest(version)
	addPartition(req, fetchFrom{topic: topic}).CurrentLeaderEpoch = epoch
	return req
}

// listOffsetsRequest asks for the offset of a timestamp, or of one of the negative ones that have a meaning.
func listOffsetsRequest(version int16, topic string, timestamp int64, partition, epoch int32) *kmsg.ListOffsetsRequest {
	asked := kmsg.NewListOffsetsRequestTopicPartition()
	asked.Partition, asked.Timestamp, asked.CurrentLeaderEpoch = partition, timestamp, epoch
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{asked}}}
	return req
}

// leaderEpochRequest asks where an epoch ended.
func leaderEpochRequest(version int16, topic string, partition, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
	asked := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	asked.Partition, asked.CurrentLeaderEpoch, asked.LeaderEpoch = partition, current, epoch
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version, req.ReplicaID = version, -1
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{asked}}}
	return req
}

// deleteRecordsRequest deletes what is before an offset of one partition.
func deleteRecordsRequest(version int16, topic string, partition int32, before int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: before}}}}
	return req
}
