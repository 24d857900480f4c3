// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package embedded is an Apache Iggy 0.8 server in Go for one machine: the real
// TCP protocol, in memory for tests or durable in a folder for those who want to
// begin without installing a server.
//
// # Guarantees
//
// A send is answered once its messages are durable (unless [Config.NoFsync] is
// set): neither kill -9 nor a power failure loses an acknowledged message, and
// the offset of an acknowledged message is never given to another one. A send is
// kept as a whole or not at all. A poll never shows a message that is not
// durable yet. The order of a partition's messages is that in which their sends
// arrived. When the disk fails, nothing is acknowledged any more, and
// [Server.Close] tells why.
//
// # Duties
//
//	iggywire       the bytes of the protocol
//	Server         listens, knows the sessions, owns catalogue and store
//	session        one connection: a goroutine that reads requests, carries them
//	               out and writes the answers in their order
//	catalog        streams, topics, groups, users, tokens: one mutex, short critical
//	               sections
//	partition      gives out offsets, knows what is durable and where segments begin
//	cleaner        a goroutine of the server: takes away segments that retention
//	               does not keep
//	store          records of the catalogue and logs of messages: in memory, or
//	               in Pebble with one goroutine that commits for everybody
//
// Locks are taken in this order: catalog.mu, partition.appendMu, partition.mu,
// the store's. Nothing waits for a disk or a peer while holding one, but for
// [Server.Lose] and the start.
//
// See README.md for what a real server does and this one does not.
package embedded
