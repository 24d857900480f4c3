// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// entry is one line of the list that the table is built from.
type entry struct {
	key      int16
	name     string
	min, max int16
	// serve is the highest version served so far, or later.
	serve int16
	flags flag
}

type flag uint8

const (
	largeFrame     flag = 1 << iota // requests as large as Limits.MaxFrameSize
	manyPartitions                  // array elements bounded by the frame's size
	advertiseZero                   // advertised from version 0 on (API.AdvertisedMin)
	authOnly                        // advertised only where clients authenticate (API.Hidden)
)

// later marks an API that is not served yet.
const later = -1

// entries lists every API that is or will be served, by ascending key. To serve one more API or version, change
// serve. Keys 24, 25, 26 and 28 are left out for good: transactions are refused by their absence.
func entries() []entry {
	return []entry{
		{0, "Produce", 3, 13, 13, largeFrame | manyPartitions | advertiseZero},
		{1, "Fetch", 4, 18, 18, largeFrame | manyPartitions},
		{2, "ListOffsets", 1, 10, 10, largeFrame | manyPartitions},
		{3, "Metadata", 0, 13, 13, manyPartitions},
		{8, "OffsetCommit", 2, 9, 9, largeFrame | manyPartitions},
		{9, "OffsetFetch", 1, 9, 9, largeFrame | manyPartitions},
		{10, "FindCoordinator", 0, 6, 6, 0},
		{11, "JoinGroup", 0, 9, 9, largeFrame},
		{12, "Heartbeat", 0, 4, 4, 0},
		{13, "LeaveGroup", 0, 5, 5, 0},
		{14, "SyncGroup", 0, 5, 5, largeFrame},
		{15, "DescribeGroups", 0, 6, 6, manyPartitions},
		{16, "ListGroups", 0, 5, 5, 0},
		{17, "SaslHandshake", 0, 1, 1, authOnly},
		{18, "ApiVersions", 0, 4, 4, 0},
		{19, "CreateTopics", 2, 7, 7, largeFrame},
		{20, "DeleteTopics", 1, 6, 6, 0},
		{21, "DeleteRecords", 0, 2, 2, 0},
		{22, "InitProducerId", 0, 5, 5, 0},
		{23, "OffsetForLeaderEpoch", 2, 4, 4, manyPartitions},
		{29, "DescribeAcls", 1, 3, 3, authOnly},
		{32, "DescribeConfigs", 1, 4, 4, manyPartitions},
		{33, "AlterConfigs", 0, 2, 2, 0},
		{35, "DescribeLogDirs", 1, 4, 4, 0},
		{36, "SaslAuthenticate", 0, 2, 2, authOnly},
		{37, "CreatePartitions", 0, 3, 3, 0},
		{42, "DeleteGroups", 0, 2, 2, manyPartitions},
		{43, "ElectLeaders", 0, 2, 2, 0},
		{44, "IncrementalAlterConfigs", 0, 1, 1, 0},
		{46, "ListPartitionReassignments", 0, 0, 0, 0},
		{47, "OffsetDelete", 0, 0, 0, 0},
		{48, "DescribeClientQuotas", 0, 1, 1, 0},
		{49, "AlterClientQuotas", 0, 1, 1, 0},
		{50, "DescribeUserScramCredentials", 0, 0, 0, 0},
		{60, "DescribeCluster", 0, 2, 2, 0},
		{61, "DescribeProducers", 0, 0, 0, 0},
		{65, "DescribeTransactions", 0, 0, 0, 0},
		{66, "ListTransactions", 0, 2, 2, 0},
		{68, "ConsumerGroupHeartbeat", 0, 1, later, 0},
		{69, "ConsumerGroupDescribe", 0, 1, later, 0},
		{74, "ListConfigResources", 0, 1, 1, 0},
		{75, "DescribeTopicPartitions", 0, 0, 0, manyPartitions},
	}
}

func (e entry) row() row {
	api := API{
		Key: e.key, Name: e.name,
		Min: e.min, Max: e.max, AdvertisedMin: e.min,
		LargeFrame: e.flags&largeFrame != 0,
		Served:     e.serve != later,
		Hidden:     e.flags&authOnly != 0,
	}
	if api.Served {
		api.Max = e.serve
	}
	if e.flags&advertiseZero != 0 {
		api.AdvertisedMin = 0
	}
	return row{API: api, manyPartitions: e.flags&manyPartitions != 0}
}
