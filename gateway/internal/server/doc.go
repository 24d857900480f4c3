// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package server is the gateway's network edge. It accepts connections, reads requests through wire's firewall, hands
// them to a Handler, and writes the answers in the order of the requests.
//
// # A connection
//
//	          ┌ reader ──────────────────────────────────────────────┐
//	socket ──▶│ length, key, version ▶ memory ▶ frame ▶ walk ▶ kmsg  │──▶ Handler.Start, one at a time
//	          └──────────────────────────────────────────────────────┘        │
//	                        pipeline: MaxInFlight requests in order           ▼
//	          ┌ who completed the first one ─────────┐      Pending, long ones on goroutines ▶ encode
//	socket ◀──│ what is complete at the front, writev│◀─────────────────┘
//	          └──────────────────────────────────────┘
//
// The reader reads ahead while answers are awaited, up to MaxInFlight, so it notices when the client goes away. It
// begins a Produce or Fetch request while others of these are unanswered, and else one request at a time; those that have
// to wait are not read, and hold no memory. A reason to
// close that is found while reading (a refused frame, a shutdown) takes effect behind the answers to what came before
// it, as if requests were served one by one, which is what Kafka does. When nobody is left to take answers, they are
// dropped at once.
//
// # Authentication
//
// Where clients authenticate, each connection has a [sasl.Session], and the Handler answers by it. Until somebody has
// authenticated ([Conn.SetPrincipal]) the reader looks at a frame only when all before it are answered, takes at most 64 KiB, and
// waits for less time. After SaslHandshake v0 it reads a token without a request header and hands it on as a SaslAuthenticate.
//
// # Memory
//
// Frames above 64 KiB, decoding and answers are each charged to a budget of bytes that all connections share, and
// wait for room up to the read or write timeout. A request's charges last until its answer is encoded or its handler
// gives them back ([Conn.GiveBack]), an answer's until it is written. Frames and answers are in pooled buffers.
//
// # Duties of others
//
// Handlers bound their own waits by the request's timeout; the end of their context means only that the answer is of
// no use any more. They may not keep a request's bytes once their Pending has returned.
package server
