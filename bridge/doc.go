// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package bridge does Kafka-shaped operations on an Iggy server: topics with ids, appends that learn their base
// offset, reads, and the bounds of partitions.
//
// A Bridge is opened on one server and is safe for concurrent use. What it promises:
//
//   - Append writes the batches of a partition in the order of the calls, and reports success only when Iggy has
//     confirmed them, with the offset that Iggy gave the first record. When a send's outcome is lost, the messages are
//     looked for by their ids before anything else is written to the partition.
//   - Append writes a batch of an idempotent producer once, however often it is sent, and refuses one that does not follow the
//     producer's last, as Kafka does. What it knows of producers it reads back from the partition after a restart, and after
//     the partition lost messages. It relies on one Bridge at a time writing to a partition for idempotent producers.
//   - Bounds and Topics answer what Iggy says. Whatever was acknowledged before a call to Bounds shows in its answer;
//     Topics may be Config.TopicViewAge old, but never older than a change made through the same Bridge.
//   - KnownBounds and TopicsNow answer from memory, without waiting and however old.
//   - What is done with a Session is done on connections that its Iggy user alone has signed in on. The passwords of users other than
//     the bridge's own are not kept. Config.MaxWriteConnections holds for all users together; none of them starves.
//   - Every call that waits for Iggy takes a context and returns within its deadline. Errors fall into the classes of
//     errors.go.
//
// Message bytes are Iggy's wire form of recordcodec/mapping; what surrounds them on the wire is package iggywire's.
// DESIGN.md says how it works inside.
package bridge
