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
		10: plain(a.findCoordinator),
		18: plain(a.apiVersions),
		19: replying(a.createTopics),
		20: plain(a.deleteTopics),
		22: plain(a.initProducerID),
		60: plain(a.describeCluster),
	}
}

// detach replaces the handlers that need Iggy by answers that do without: a gateway that runs with the bridge off.
func (a *API) detach() {
	a.handlers[0] = a.produceDetached
	a.handlers[1] = a.fetchDetached
	a.handlers[2] = plain(a.listOffsetsDetached)
	a.handlers[3] = plain(a.metadataDetached)
	a.handlers[19] = plain(a.createTopicsDetached)
	a.handlers[20] = plain(a.deleteTopicsDetached)
}
