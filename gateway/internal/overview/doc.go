// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package overview is what a gateway knows at one moment: topics with where their partitions begin and end, how large they
// are and how fast they grow; groups with members, committed offsets and lag.
//
// A [Source] builds a [Snapshot] when somebody asks and the last one is too old; all who ask at the same time share it.
// Building one is bounded in time, and a snapshot in memory. Iggy is asked for each stream, and then only for the topics
// that have changed since. While Iggy is away, or the state of the groups is not there, the snapshot has what was known
// last, and says so.
//
// A snapshot shows everything. Who may see what of it is for those to decide who show it.
package overview
