// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics tells Prometheus what a gateway does.
//
// Requests are counted as they are answered, in arrays of atomics that are laid out from the version table at the start: nothing
// is allocated and no map is looked into. All else the parts of the gateway count themselves; a scrape asks them for their
// Stats. So none of them knows of Prometheus.
//
// Each label has a known set of values, except for the names of groups and topics: see MaxGroupSeries.
package metrics
