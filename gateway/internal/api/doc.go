// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package api answers Kafka requests: one file NN_name.go for each API, NN its key, which opens with the versions
// served and what each adds. What is left out stands in skipped.md.
//
// A handler turns a request into operations of the bridge and their outcomes into Kafka's words. A Kafka failure is an
// error code in the answer; a Go error means that the connection must close. Which bridge error is which code is
// decided in errors.go alone.
//
// Produce is the one API that spans requests of a connection: its checks, decoding and queuing run in request order
// (server.Handler.Start), so that the batches of a partition reach their lane in the order they were sent.
package api
