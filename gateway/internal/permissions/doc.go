// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package permissions decides what an Iggy user may do through the gateway, and says it in Kafka's terms.
//
// Whatever runs as the user's own request, Iggy decides itself. The gateway decides about what Iggy never sees or what it
// answers from knowledge that all clients share: names of topics, ends of partitions, groups, settings. It goes by the
// user's Iggy permissions, with the inheritance of the permissioner in Iggy's server (core/metadata, permissioner rules).
// Everything here is pure: no clock, no network.
package permissions
