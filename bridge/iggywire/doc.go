// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package iggywire holds the bytes of the Apache Iggy 0.8 TCP protocol, both
// sides, without any I/O: frames, statuses, command codes, and for every
// command the request and the answer as plain structs that append themselves
// to a buffer and are parsed from one.
//
// All integers are little endian. A request and an answer are framed alike:
//
//	request   length u32 (code and body) | code u32   | body
//	answer    status u32                 | length u32 | body
//
// An answer with a status other than [StatusOK] has no body. The server answers
// the requests of one connection in their order; several may be in flight.
//
// # Rules that hold for every type
//
// A request type has AppendTo, Code and a Parse function; an answer type has
// AppendTo and a Parse function. Parse functions check every length before they
// use it and return an error that wraps [ErrMalformed]; they never panic. Bytes
// left over are refused in answers and ignored in requests, as the real server
// does. Strings and identifiers are copied out of the input; fields documented as
// aliases are not.
//
// A name is 1 to 255 bytes of UTF-8 ([ValidName]). AppendTo cannot fail: a
// string that its length prefix cannot count is written as an empty one, which
// every server refuses, and is never cut short.
//
// Asking for something that does not exist is not an error in Iggy: the answer
// to a get is then an empty body, and its Parse function reports found = false.
//
// The layout of one message inside a send or a poll answer is walked and stamped
// here ([NextMessage], [Stamp]) but interpreted by package mapping of recordcodec.
package iggywire
