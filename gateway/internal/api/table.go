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
		18: plain(a.apiVersions),
		19: replying(a.createTopics),
		20: plain(a.deleteTopics),
		21: plain(a.deleteRecords),
		22: plain(a.initProducerID),
		23: plain(a.offsetForLeaderEpoch),
		42: plain(a.deleteGroups),
		47: plain(a.offsetDelete),
		60: plain(a.describeCluster),
		61: replying(a.describeProducers),
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
	a.handlers[61] = plain(a.describeProducersDetached)
}
