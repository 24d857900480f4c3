// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping turns Kafka records into Apache Iggy messages and back: one record is one message, so that both sides number them
// alike, and native Iggy producers and consumers share topics with Kafka clients.
//
// # A message in Iggy 0.8's wire form
//
// Numbers are little-endian. A send or a poll holds messages one after another.
//
//	 0 u64 checksum          | the server's
//	 8     id, 16 bytes      | msgid.go
//	24 u64 offset            | the server's
//	32 u64 timestamp         | µs, the server's
//	40 u64 origin timestamp  | µs, the producer's
//	48 u32 length of the user headers
//	52 u32 length of the payload
//	56 u64 reserved
//	64     payload, then user headers (headers.go)
//
// # The rules
//
//	Kafka                  Iggy
//	value                  payload
//	key                    user header kafka.key
//	record header NAME     user header kafka.h.NAME
//	timestamp, ms          origin timestamp, µs; none (-1) is 0, and 0 is 1
//	offset                 offset
//	null or empty value    payload of one byte 00 and user header kafka.value = null or empty
//	producer id, epoch,    the message id
//	sequence
//
// Iggy's rules leave out some records: an empty key, or one above 255 bytes; a header name above 255 bytes with its prefix; a header
// value that is null, empty or above 255 bytes; repeated header names; user headers of more than 100,000 bytes. Such a record goes
// whole into the payload, as an envelope (envelope.go), and the user header kafka.envelope says so.
//
// Reading, a message without any of these headers is a native producer's: its payload is the value, its user headers are record
// headers, in order. In mixed messages an envelope goes first, headers outside the namespace "kafka." always become record headers,
// and names inside that mean nothing are dropped and counted. A header kafka.ts (ms, decimal) overrides the timestamp.
//
// A message that breaks these rules is ErrUnmappable. Served to Kafka clients by AppendRecordBatch it is its raw payload with the
// header kafka.gateway.error, so that it never stops a consumer.
package mapping
