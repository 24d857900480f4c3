// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package statelog keeps the state of a gateway in an append-only log that others hold for it: groups and their offsets,
// producer ids given out, settings of topics and where they begin, client quotas.
//
// A [Log] is opened on a [Storage], a log in partitions such as a topic of a message server. [Log.Run] reads it, takes it
// over from whoever wrote it before, and then appends one record per change. What is appended at the same time goes out
// together. A change counts, and its caller is told so, when the storage has confirmed it and everything before it in
// the log is known. From time to time the whole state is written again, as a checkpoint, so that reading it back does not
// take longer and longer, and so that the storage may drop old messages.
//
// One gateway owns the log. A second one that starts takes it over, and the first notices within a second, or at its next
// change, whichever is first: then [Log.Fenced] is closed, and every change is refused with ErrNotCoordinator of package
// coordinator. What it wrote after it was taken over does not count.
//
// Groups live in the partition that the FNV-1a hash of their id names, everything else in partition 0. FORMAT.md has the
// records byte by byte; DESIGN.md of the module says how the log is kept in agreement with what is in memory.
package statelog
