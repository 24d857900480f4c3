// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Header is a request header, v1 or v2.
type Header struct {
	Key           int16
	Version       int16
	CorrelationID int32
	// ClientID is nil when the client sent none. It is a copy and may be kept.
	ClientID *string
}

// read takes the header off the front of c. Versions 1 and 2 share the client id's form: even the flexible header
// has it with a two-byte length (KIP-482).
func (h *Header) read(c *cursor, version int8) {
	h.Key = int16(c.uint16())
	h.Version = int16(c.uint16())
	h.CorrelationID = int32(c.uint32())
	if id := c.string(); id != nil {
		s := string(id)
		h.ClientID = &s
	}
	if version >= 2 {
		c.tags(nil)
	}
}

// correlationID is where every header version has it; frame holds minRequestSize bytes or more.
func correlationID(frame []byte) int32 { return int32(binary.BigEndian.Uint32(frame[4:])) }
