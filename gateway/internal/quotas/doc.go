// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package quotas holds clients to rates of bytes, by their users and client ids, as a broker does (KIP-13, KIP-55,
// KIP-219; ClientQuotaManager and DefaultQuotaCallback there).
//
// A quota belongs to an entity: a user, a client id, both, or the defaults of these. Of the quotas that apply to a client
// the most specific one counts (limits.go), and all clients of that entity share one rate (rate.go): the bytes of the last
// 11 samples of one second each. Produce requests count with their size, Fetch answers with theirs.
//
// Who is above its rate is answered at once and told for how long it is throttled; the package says for how long, and the
// server does not read the connection meanwhile. A Fetch that would go above the rate is answered without records, and does
// not count.
//
// Quotas are kept in a [Store], the state log. Nobody has to be told of changes: the store's version says that there were
// some. Where no quota is set for a kind of traffic, counting it is a look at two numbers.
package quotas
