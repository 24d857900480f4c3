// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package producerstate remembers what idempotent producers (KIP-98) last wrote to each partition, and says of a batch whether
// it is to be written. The rules are those of Kafka's ProducerStateManager, ProducerAppendInfo and ProducerStateEntry:
// a batch with the epoch, first and last sequence number of one of the producer's last five was written before; any other
// has to follow the last one; a newer epoch begins at sequence number 0; an older one is refused; a producer of whom
// nothing is known may begin anywhere.
//
// Three things differ, all because of where the state comes from:
//
//   - What was read back from the partition, message by message, does not show where batches began. It is remembered as a
//     [run] of messages, and a batch that lies in it whole is a duplicate. One run counts as one batch of the five: a batch is
//     written in one piece, so that five runs hold at least the last five batches.
//   - A partition may go back, losing what was acknowledged. A producer that lost something may begin anywhere, as if nothing
//     were known of it, but what is left of its batches stays a duplicate: see [Partition.Void].
//   - A batch may fail before it is written while later ones of its producer wait behind it. They must not become the beginning
//     of a producer of whom nothing is known: see [Partition.Failed].
//
// There is no clock and no goroutine here. A [Table] holds the producers of all partitions, so that their number has one
// bound; its methods and those of its partitions are safe for concurrent use.
package producerstate
