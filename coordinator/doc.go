// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package coordinator keeps consumer groups and their offsets, for gateways that speak a protocol with groups in it: who is
// a member, who leads, which generation it is, who owns what by the leader's word, and how far the group has read.
//
// It behaves like a Kafka broker's group coordinator, without Kafka's wire: member metadata and assignments are bytes
// that only clients understand, requests are plain structs, and errors are Go errors, one per Kafka error.
//
// There are three ways in, each built on the one before:
//
//   - [Group] is one group, a pure state machine. Step takes the time and an [Event] and returns [Effect]s; NextDeadline
//     says when Tick has to be called. Nothing in it waits, reads a clock, starts a goroutine or draws a random number.
//   - [Groups] is all groups of a coordinator: it makes, bounds and drops them, and finds the one that falls due first.
//   - [Driver] is the goroutine around Groups, with the clock, the timer and a [Store]. Its methods wait for the answer.
//
// What a gateway does: it turns requests into the Driver's calls, decides who may do what and which topics and partitions
// exist, reads the subscribed topics out of a member's metadata if it can (Join.Topics), and turns errors and results into
// answers of the version that was asked for. A Kafka gateway needs these:
//
//   - JoinGroup sets Join.RequireMemberID from v4 and Join.SkipAssignment from v9, and leaves out instance ids below v5;
//     SyncGroup sets Sync.RequireProtocol from v5.
//   - OffsetCommit below v9 answers ILLEGAL_GENERATION for ErrGroupIDNotFound.
//   - DescribeGroups below v6 answers no error for ErrGroupIDNotFound, and state Dead.
//   - LeaveGroup below v3 has one member: the error of its Left is the answer's.
//
// What a store does: [Store] says; package statelog has one that lasts. The coordinator answers a commit, and a leader's
// assignment, when the store has it, and shows no offset that the store does not have.
package coordinator
