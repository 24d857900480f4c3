// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends a whole answer: length, response header, and resp in the version that it is set to.
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	// An ApiVersions answer has header v0 in every version, so that a client can read it before it knows what
	// the server speaks (KIP-511).
	flexible := resp.IsFlexible() && resp.Key() != apiVersionsKey
	dst = appendResponseHeader(dst, correlationID, flexible)
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthSize))
	return dst
}

// AppendResponsePrefix appends the length and the response header for an answer to r whose body, bodySize bytes,
// the caller has encoded by itself.
func (r *Request) AppendResponsePrefix(dst []byte, bodySize int) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendResponseHeader(dst, r.Header.CorrelationID, r.respHeader > 0)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthSize+bodySize))
	return dst
}

// appendResponseHeader appends header v0, or v1 with no tagged fields.
func appendResponseHeader(dst []byte, correlationID int32, flexible bool) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if flexible {
		dst = append(dst, 0)
	}
	return dst
}
