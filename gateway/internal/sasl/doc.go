// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package sasl is how Kafka clients authenticate: SASL/PLAIN (RFC 4616) in Kafka's framing (KIP-43, KIP-152), and again
// before a session's lifetime ends (KIP-368).
//
//	        ApiVersions                                     any request
//	          ┌───┐                                           ┌───┐
//	          ▼   │    SaslHandshake       token              ▼   │
//	─▶ fresh ─┴─────────────▶ awaiting ───────────▶ checking ─────▶ ready
//	     │                  token  │ ▲                  │            │ │
//	     │ other requests          │ └──────────────────┼────────────┘ │ lifetime over,
//	     ▼                         ▼    SaslHandshake   ▼ refused      ▼ no handshake
//	   closed                    closed               closed         closed
//
// A [Session] is where one connection is in this picture; its table is pure. A [Gate] checks tokens for all connections: how
// many at a time, for whom not again so soon, and when a client is told that it is refused. Whether a password is right is the
// [Authenticator]'s to say.
package sasl
