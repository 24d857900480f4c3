// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// request is what a row of the table asks. As far as can be it changes nothing that another row depends on: what may be done
// is refused for another reason, or comes to nothing.
func (u *permissionUser) request(t *testing.T, key int16, what string, version int16) kmsg.Request {
	t.Helper()
	req := u.ask(what, key, version)
	if req == nil {
		t.Fatalf("nothing is known to ask %s for %q", kmsg.NameForKey(key), what)
	}
	req.SetVersion(version)
	return req
}

func (u *permissionUser) ask(what string, key, version int16) kmsg.Request {
	topic := u.topics[what]
	switch kmsg.Key(key) {
	case kmsg.Produce:
		return u.produce(what, version)
	case kmsg.Fetch:
		return u.fetch(what, version)
	case kmsg.ListOffsets:
		switch what {
		case "search":
			return listOffsetsRequest(version, part{topic: u.topics["here"], timestamp: 0})
		case "beyond":
			return listOffsetsRequest(version, part{topic: u.topics["here"], partition: 9, timestamp: -1})
		}
		return listOffsetsRequest(version, part{topic: topic, timestamp: -1})
	case kmsg.Metadata:
		return u.metadata(what, version)
	case kmsg.CreateTopics:
		req := createRequest(version, newTopicSpec(topic, 1, 1))
		req.ValidateOnly = true
		return req
	case kmsg.DeleteTopics:
		if id, byID := u.byID(what); byID {
			return deleteByID(kmsg.DeleteTopicsRequestTopic{TopicID: id})
		}
		return deleteRequest(version, topic)
	case kmsg.DeleteRecords:
		return deleteRecordsRequest(version, part{topic: topic})
	case kmsg.OffsetForLeaderEpoch:
		return epochRequest(version, 0, part{topic: topic})
	case kmsg.DescribeProducers:
		return describeProducers(part{topic: topic}, 0)
	case kmsg.OffsetCommit:
		return commitRequest(version, u.group, "", -1, part{topic: topic})
	case kmsg.OffsetFetch:
		if what == "all" {
			return committedRequest(version, u.group)
		}
		return committedRequest(version, u.group, part{topic: topic})
	case kmsg.OffsetDelete:
		if what == "none" {
			return offsetDeleteRequest(u.group)
		}
		return offsetDeleteRequest(u.group, part{topic: topic, partition: 0})
	case kmsg.DescribeConfigs:
		if what == "broker" {
			return describeConfigs(version, kmsg.ConfigResourceTypeBroker, "1")
		}
		return describeConfigs(version, kmsg.ConfigResourceTypeTopic, topic)
	case kmsg.AlterConfigs:
		req := replacing(kmsg.ConfigResourceTypeTopic, topic, "max.message.bytes=1000000")
		switch what { // what a broker cannot change it says to everybody (ConfigAdminManager)
		case "broker":
			req = replacing(kmsg.ConfigResourceTypeBroker, "1")
		case "broker-fixed":
			req = replacing(kmsg.ConfigResourceTypeBroker, "1", "num.partitions=3")
		}
		req.ValidateOnly = true
		return req
	case kmsg.IncrementalAlterConfigs:
		req := incremental(kmsg.ConfigResourceTypeTopic, topic, "max.message.bytes=1000000")
		switch what {
		case "broker":
			req = incremental(kmsg.ConfigResourceTypeBroker, "1", "num.partitions")
		case "broker-fixed":
			req = incremental(kmsg.ConfigResourceTypeBroker, "1", "num.partitions=3")
		}
		req.ValidateOnly = true
		return req
	case kmsg.CreatePartitions:
		return partitionsRequest(version, topic, 1)
	}
	return u.askGroupOrCluster(what, key, version)
}

func (u *permissionUser) askGroupOrCluster(what string, key, version int16) kmsg.Request {
	const group = "a group of nobody"
	switch kmsg.Key(key) {
	case kmsg.FindCoordinator:
		kind := int8(0)
		if what == "transaction" {
			kind = 1
		}
		return findCoordinator(version, kind, group)
	case kmsg.JoinGroup:
		// One that is left alone: a new member would wait for the members of the versions before.
		return joinRequest(u.group+"-join-"+string(rune('a'+version)), "", u.topics["here"])
	case kmsg.SyncGroup:
		return syncRequest(group, "nobody", 1)
	case kmsg.Heartbeat:
		return heartbeatRequest(group, "nobody", 1)
	case kmsg.LeaveGroup:
		return leaveRequest(version, group, "nobody")
	case kmsg.DescribeGroups:
		return describeRequest(version, group)
	case kmsg.ListGroups:
		return listRequest(version, nil, nil)
	case kmsg.DeleteGroups:
		return deleteGroupsRequest(version, group)
	case kmsg.InitProducerID:
		return initProducerID(version, nil, -1, -1)
	case kmsg.ApiVersions:
		return apiVersions(version)
	case kmsg.SASLHandshake:
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Mechanism = "PLAIN"
		return req
	case kmsg.SASLAuthenticate:
		return kmsg.NewPtrSASLAuthenticateRequest()
	case kmsg.DescribeACLs:
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
		return req
	case kmsg.DescribeCluster:
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 1
		return req
	case kmsg.ListConfigResources:
		return kmsg.NewPtrListConfigResourcesRequest()
	}
	return u.askCluster(what, key)
}

func (u *permissionUser) askCluster(what string, key int16) kmsg.Request {
	switch kmsg.Key(key) {
	case kmsg.DescribeLogDirs:
		return kmsg.NewPtrDescribeLogDirsRequest()
	case kmsg.ElectLeaders:
		req := kmsg.NewPtrElectLeadersRequest()
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: u.topics[what], Partitions: []int32{0}}}
		return req
	case kmsg.ListPartitionReassignments:
		return kmsg.NewPtrListPartitionReassignmentsRequest()
	case kmsg.DescribeClientQuotas:
		return kmsg.NewPtrDescribeClientQuotasRequest()
	case kmsg.AlterClientQuotas:
		req := kmsg.NewPtrAlterClientQuotasRequest()
		req.ValidateOnly = true
		req.Entries = []kmsg.AlterClientQuotasRequestEntry{{
			Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: kmsg.StringPtr("somebody")}},
			Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1e6}},
		}}
		return req
	case kmsg.DescribeUserSCRAMCredentials:
		return kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	case kmsg.DescribeTransactions:
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{"transaction"}
		return req
	case kmsg.ListTransactions:
		return kmsg.NewPtrListTransactionsRequest()
	case kmsg.DescribeTopicPartitions:
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = 1000
		if what != "all" {
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: u.topics[what]}}
		}
		return req
	}
	return nil
}

// byID is the id of the topic in a place, for rows that ask by id.
func (u *permissionUser) byID(what string) (id [16]byte, ok bool) {
	const suffix = "-id"
	if len(what) <= len(suffix) || what[len(what)-len(suffix):] != suffix {
		return id, false
	}
	return u.ids[what[:len(what)-len(suffix)]], true
}

func (u *permissionUser) produce(what string, version int16) kmsg.Request {
	place, records := what, batch("v")
	if what == "garbage" {
		place, records = "here", wrongCRC(batch("v"))
	}
	req := produceRequest(part{topic: u.topics[place], records: records})
	if version >= 13 {
		req.Topics[0].Topic, req.Topics[0].TopicID = "", u.ids[place]
	}
	return req
}

func (u *permissionUser) fetch(what string, version int16) kmsg.Request {
	place, offset := what, int64(0)
	switch what {
	case "beyond":
		place, offset = "here", 1<<40
	case "session":
		place = "here"
	}
	req := fetchRequest(part{topic: u.topics[place], offset: offset})
	if what == "session" {
		req.SessionEpoch = 0
	}
	if version >= 13 {
		req.Topics[0].Topic, req.Topics[0].TopicID = "", u.ids[place]
	}
	return req
}

func (u *permissionUser) metadata(what string, version int16) kmsg.Request {
	if id, byID := u.byID(what); byID {
		return metadataByID(version, id)
	}
	switch what {
	case "all":
		req := metadataRequest(version)
		req.Topics = nil
		return req
	case "none":
		if version == 0 { // which cannot ask for none
			return metadataRequest(1)
		}
		return metadataRequest(version)
	}
	return metadataRequest(version, u.topics[what])
}
