// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetchsession keeps incremental fetch sessions (KIP-227): a consumer names its partitions once, later requests
// carry what changed, and answers leave out the partitions that have nothing new. It decides what Kafka's FetchManager,
// FetchSession and FetchSessionCacheShard decide, and does no I/O; time and randomness come in by argument.
//
// A Fetch request goes through three steps:
//
//	Begin   takes in what the request changes, and moves the session to its next epoch: no other request has this one
//	Each    lists the partitions to fetch, in the order to serve them; Memory says before what that takes
//	Finish  takes what is answered for each, and says which of them the answer leaves out, and the session's id
//	        (Omits foresees it; Withhold is for an answer that is not given, as its client is throttled)
//
// An answer that never reaches its client is no loss: the client asks with an epoch that is over, is told so, and begins
// anew with a full fetch.
//
// A session is its id: whoever knows it may use it, on any connection. Two requests that use one session at the same time
// exclude each other by its epoch; when a second one comes with the next epoch before the first is answered, the first
// fails.
//
// Memory is bounded by the number of sessions, the partitions of one, and the bytes of all (Config). Beyond a bound a full
// fetch is answered without a session, and a session that would outgrow it ends, upon which its client begins anew: every
// client understands both. The last two bounds are ours; Kafka has none. Nor does it end sessions that nobody uses while there is
// room: for that there is Expire.
package fetchsession
