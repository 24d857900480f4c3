// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what keeps a Kafka client from working, from where the client is.
//
// It takes the steps that every client takes, one after the other, and says of each what it found and what to do:
//
//	settings ─▶ dns ─▶ connect ─▶ tls ─▶ protocol ─▶ login ─▶ metadata ─▶ advertised ─▶ controller
//	                                                                       │
//	           cleanup ◀─ clock ◀─ latency ◀─ group ◀─ fetch ◀─ produce ◀─ topic            readiness
//
// Up to metadata it speaks on connections of its own ([visit]), since a client library only says that it could not connect. From
// topic on it is an ordinary client of a library in wide use (franz-go): what works for it works for others. It knows nothing
// of the gateway but what clients see, and so examines any Kafka broker as well.
package doctor
