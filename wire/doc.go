// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire stands between a Kafka client's bytes and the requests that kmsg decodes: frames, headers, the table
// of APIs and versions served, and the checks that come before kmsg.
//
// A frame is
//
//	length          int32, of what follows
//	api key         int16  ┐
//	api version     int16  │ request header v1
//	correlation id  int32  │
//	client id       string, int16 length, -1 = null ┘
//	tagged fields   header v2 only, with flexible bodies (KIP-482)
//	body            as key and version say
//
// and an answer is
//
//	length          int32, of what follows
//	correlation id  int32, the request's ─ response header v0
//	tagged fields   header v1 only, with flexible bodies, but never for ApiVersions (KIP-511)
//	body
//
// A server reads in four steps, between which it can wait for memory or change a deadline:
//
//	p, err := table.ReadPreamble(r, limits)  // length, key, version: refused before anything is allocated
//	frame, err := p.ReadFrame(r, pool)       // p.Size bytes
//	in, err := table.Inspect(frame.B)        // one walk over the body by its layout; in.Cost is known
//	req, err := in.Decode()                  // kmsg
//
// Byte slices in the decoded request alias the frame, so a frame lives until its request is answered; strings are
// copies. Any error here means that the connection has to be closed: Kafka closes it too, since there is no body
// that the client could parse.
//
// Limits of sizes, elements and tagged fields are this package's duty; how many bytes all connections together may
// hold, and for how long, is its user's.
package wire
