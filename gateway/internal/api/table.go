// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

// table lists the handler of each API key; a test holds it against wire's table.
func (a *API) table() map[int16]handler {
	return map[int16]handler{
		0:  a.produce,
		1:  a.fetch,
		2:  plain(a.listOffsets),
		3:  replying(a.metadata),
		8:  plain(a.offsetCommit),
		9:  replying(a.offsetFetch),
		10: plain(a.findCoordinator),
		11: a.joinGroup,
		12: plain(a.heartbeat),
		13: plain(a.leaveGroup),
		14: a.syncGroup,
		15: replying(a.describeGroups),
		16: replying(a.listGroups),
		17: replying(a.saslHandshake),
		18: plain(a.apiVersions),
		19: replying(a.createTopics),
		20: plain(a.deleteTopics),
		21: plain(a.deleteRecords),
		22: plain(a.initProducerID),
		23: plain(a.offsetForLeaderEpoch),
		29: replying(a.describeACLs),
		32: replying(a.describeConfigs),
		33: plain(a.replaceConfigs),
		36: a.saslAuthenticate,
		35: replying(a.describeLogDirs),
		37: plain(a.createPartitions),
		42: plain(a.deleteGroups),
		43: replying(a.electLeaders),
		44: plain(a.incrementalAlterConfigs),
		46: plain(a.listPartitionReassignments),
		47: plain(a.offsetDelete),
		48: replying(a.describeClientQuotas),
		49: replying(a.alterClientQuotas),
		50: replying(a.describeUserScramCredentials),
		60: plain(a.describeCluster),
		61: replying(a.describeProducers),
		65: replying(a.describeTransactions),
		66: plain(a.listTransactions),
		74: replying(a.listConfigResources),
		75: replying(a.describeTopicPartitions),
	}
}

// detach replaces the handlers that need Iggy by answers that do without: a gateway that runs with the bridge off.
func (a *API) detach() {
	a.handlers[0] = a.produceDetached
	a.handlers[1] = a.fetchDetached
	a.handlers[2] = plain(a.listOffsetsDetached)
	a.handlers[3] = plain(a.metadataDetached)
	a.handlers[8] = plain(a.offsetCommitDetached)
	a.handlers[9] = plain(a.offsetFetchDetached)
	a.handlers[19] = plain(a.createTopicsDetached)
	a.handlers[20] = plain(a.deleteTopicsDetached)
	a.handlers[21] = plain(a.deleteRecordsDetached)
	a.handlers[23] = plain(a.offsetForLeaderEpochDetached)
	a.handlers[37] = plain(a.createPartitionsDetached)
	a.handlers[61] = plain(a.describeProducersDetached)
}
