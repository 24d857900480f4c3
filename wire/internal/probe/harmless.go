// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Absent names what a server does not have: a topic, group, user, transaction, and a topic's id.
type Absent struct {
	Name string
	ID   [16]byte
}

// Harmless makes a request that any server answers and none is changed by, whatever it holds: it asks, or it changes
// what is absent, or it is to be validated only. Where an API tells fewer things by name than there are versions, it
// asks for all. The request is nil for an API that is not known here.
//
// Two leave a trace: InitProducerId uses up a producer id, and the first FindCoordinator of a Kafka cluster's life makes
// it create its topic of offsets.
func Harmless(key, version int16, absent Absent) kmsg.Request {
	name := absent.Name
	req := kmsg.RequestForKey(key)
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		// A batch that is whole, since Kafka leaves one that is null unanswered.
		req.Acks, req.TimeoutMillis = -1, 1000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: name, TopicID: absent.ID,
			Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch()}}}}
	case *kmsg.FetchRequest:
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.PartitionMaxBytes = 1
		req.MaxBytes = 1
		req.Topics = []kmsg.FetchRequestTopic{{Topic: name, TopicID: absent.ID,
			Partitions: []kmsg.FetchRequestTopicPartition{partition}}}
	case *kmsg.ListOffsetsRequest:
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Timestamp, partition.MaxNumOffsets = -1, 1
		req.ReplicaID = -1
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name,
			Partitions: []kmsg.ListOffsetsRequestTopicPartition{partition}}}
	case *kmsg.MetadataRequest:
		req.AllowAutoTopicCreation = false // cannot be said before v4, where naming a topic may create it: all of them
	case *kmsg.OffsetForLeaderEpochRequest:
		req.ReplicaID = -1
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: name,
			Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{kmsg.NewOffsetForLeaderEpochRequestTopicPartition()}}}
	case *kmsg.ApiVersionsRequest:
		req.ClientSoftwareName, req.ClientSoftwareVersion = ClientID, "1"
	case *kmsg.SASLHandshakeRequest:
		req.Mechanism = "PLAIN"
	case *kmsg.InitProducerIDRequest:
		req.ProducerID, req.ProducerEpoch = -1, -1
	default:
		harmlessGroups(req, absent)
		harmlessAdmin(req, absent)
	}
	if req != nil {
		req.SetVersion(version)
	}
	return req
}

// harmlessGroups fills in the requests about groups: those of an unknown member of an absent group.
func harmlessGroups(req kmsg.Request, absent Absent) {
	const nobody = "nobody"
	name := absent.Name
	switch req := req.(type) {
	case *kmsg.OffsetCommitRequest:
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		req.Group, req.Generation, req.MemberID = name, 1, nobody
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: name, TopicID: absent.ID,
			Partitions: []kmsg.OffsetCommitRequestTopicPartition{partition}}}
	case *kmsg.OffsetFetchRequest:
		group := kmsg.NewOffsetFetchRequestGroup()
		group.Group = name
		group.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: name, TopicID: absent.ID, Partitions: []int32{0}}}
		req.Group, req.Groups = name, []kmsg.OffsetFetchRequestGroup{group}
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: name, Partitions: []int32{0}}}
	case *kmsg.FindCoordinatorRequest:
		req.CoordinatorKey, req.CoordinatorKeys = name, []string{name}
	case *kmsg.JoinGroupRequest:
		req.Group, req.MemberID, req.ProtocolType = name, nobody, "consumer"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 10_000
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{}}}
	case *kmsg.HeartbeatRequest:
		req.Group, req.Generation, req.MemberID = name, 1, nobody
	case *kmsg.LeaveGroupRequest:
		req.Group, req.MemberID, req.Members = name, nobody, []kmsg.LeaveGroupRequestMember{{MemberID: nobody}}
	case *kmsg.SyncGroupRequest:
		req.Group, req.Generation, req.MemberID = name, 1, nobody
		req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	case *kmsg.DescribeGroupsRequest:
		req.Groups = []string{name}
	case *kmsg.DeleteGroupsRequest:
		req.Groups = []string{name}
	case *kmsg.OffsetDeleteRequest:
		req.Group = name
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: name, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		req.Group, req.MemberID, req.MemberEpoch = name, nobody, 5
	case *kmsg.ConsumerGroupDescribeRequest:
		req.Groups = []string{name}
	}
}

// harmlessAdmin fills in the requests of administrators.
func harmlessAdmin(req kmsg.Request, absent Absent) {
	const topicType, timeout = kmsg.ConfigResourceTypeTopic, 1000
	name := absent.Name
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		req.Topics, req.TimeoutMillis, req.ValidateOnly = []kmsg.CreateTopicsRequestTopic{topic}, timeout, true
	case *kmsg.DeleteTopicsRequest:
		req.TopicNames, req.TimeoutMillis = []string{name}, timeout
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	case *kmsg.DeleteRecordsRequest:
		req.TimeoutMillis = timeout
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{}}}}
	case *kmsg.CreatePartitionsRequest:
		req.TimeoutMillis, req.ValidateOnly = timeout, true
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: 1}}
	case *kmsg.ElectLeadersRequest:
		req.TimeoutMillis = timeout
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: name, Partitions: []int32{0}}} // null would be all
	case *kmsg.ListPartitionReassignmentsRequest:
		req.TimeoutMillis = timeout
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: name, Partitions: []int32{0}}}
	case *kmsg.DescribeConfigsRequest:
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: topicType, ResourceName: name}}
	case *kmsg.AlterConfigsRequest:
		req.ValidateOnly = true
		req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicType, ResourceName: name}}
	case *kmsg.IncrementalAlterConfigsRequest:
		req.ValidateOnly = true
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: topicType, ResourceName: name}}
	case *kmsg.DescribeLogDirsRequest:
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: name, Partitions: []int32{0}}}
	case *kmsg.DescribeACLsRequest:
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeTopic, kmsg.ACLResourcePatternTypeLiteral
		req.ResourceName, req.Operation, req.PermissionType = &name, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	case *kmsg.DescribeClientQuotasRequest:
		req.Strict = true
		req.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", Match: &name}}
	case *kmsg.AlterClientQuotasRequest:
		req.ValidateOnly = true
		req.Entries = []kmsg.AlterClientQuotasRequestEntry{{
			Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &name}},
			Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1}},
		}}
	case *kmsg.DescribeUserSCRAMCredentialsRequest:
		req.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: name}}
	case *kmsg.DescribeProducersRequest:
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: name, Partitions: []int32{0}}}
	case *kmsg.DescribeTransactionsRequest:
		req.TransactionalIDs = []string{name}
	case *kmsg.DescribeTopicPartitionsRequest:
		req.ResponsePartitionLimit = 1
		req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: name}}
	}
}

// batch is a record batch of one empty record.
func batch() []byte {
	const lengthEnd, crcEnd = 12, 21       // bytes before and with each field
	record := []byte{12, 0, 0, 0, 1, 1, 0} // length 6; attributes, time and offset deltas, null key and value, no headers
	b := kmsg.RecordBatch{
		Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, PartitionLeaderEpoch: -1,
		NumRecords: 1, Records: record,
	}
	b.Length = int32(len(b.AppendTo(nil)) - lengthEnd)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[crcEnd:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}
