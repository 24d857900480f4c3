// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxElements is how many elements all arrays of one request may hold together.
	maxElements = 4096
	// bytesPerElement replaces maxElements for the APIs whose requests name many partitions, where it allows more:
	// one element for each so many bytes of the frame. They count no arrays of scalars, as those grow no larger
	// in memory than on the wire.
	bytesPerElement = 8
	// maxTags is how many tagged fields one request may hold, the header's included.
	maxTags = 64
	// A request may make decoding allocate baseCost and costPerByte for each byte of its frame. That leaves room for
	// maxElements of any type, and above that for all but the shortest elements at one per bytesPerElement.
	baseCost, costPerByte = 512 << 10, 9
)

// Request is one checked and decoded request.
type Request struct {
	Header Header
	// Body has its version set. Its byte slices alias the frame, its strings are copies.
	Body kmsg.Request
	// Size is the request's with its header and without its length, in bytes.
	Size int
	// AboveMax says that this is an ApiVersions request of a version above the highest served. Its body was not
	// parsed; what answers it is Table.ApiVersions (KIP-511).
	AboveMax bool

	respHeader int8
}

// Inspection is a frame that has passed the firewall and is not yet decoded.
type Inspection struct {
	// Cost bounds what Decode allocates, in bytes.
	Cost int64

	row    *row
	layout *compiled
	header Header
	body   []byte
	size   int // of the frame
}

// Inspect checks a frame, given without its length, against the layout of its API and version: every declared
// length fits in what remains, arrays and tagged fields stay within what one request may hold, and decoding will
// allocate at most 512 KiB and 9 bytes per byte of the frame. It allocates nothing but the client id. Bytes behind the
// last field are ignored.
//
// kmsg by itself is no guard. It accepts versions that do not exist, and allocates an array's elements by the declared
// count before it reads them, which makes some 50 bytes out of one.
//
// The error wraps one of this package's.
func (t *Table) Inspect(frame []byte) (Inspection, error) {
	if len(frame) < minRequestSize {
		return Inspection{}, fmt.Errorf("wire: %w: %d", ErrBadLength, len(frame))
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	row, lay, err := t.admit(key, version)
	if err != nil {
		return Inspection{}, err
	}
	if lay == nil {
		h := Header{Key: key, Version: version, CorrelationID: correlationID(frame)}
		return Inspection{Cost: requestCost, row: row, header: h, size: len(frame)}, nil
	}

	c := cursor{rest: frame, elements: maxElements, scalars: true, tagsLeft: maxTags, cost: requestCost}
	if row.manyPartitions {
		c.elements, c.scalars = max(maxElements, len(frame)/bytesPerElement), false
	}
	in := Inspection{row: row, layout: lay, size: len(frame)}
	in.header.read(&c, lay.header)
	in.body = c.rest
	c.walk(lay.fields)
	// What follows the last field is nobody's, as in Kafka: librdkafka 2.16 sends three bytes more when it asks for the
	// metadata of all topics.
	in.body = in.body[:len(in.body)-len(c.rest)]
	if c.err == nil && c.cost > maxCost(len(frame)) {
		c.err = ErrOverBudget
	}
	if c.err != nil {
		return Inspection{}, fmt.Errorf("wire: %s v%d: %w", row.Name, version, c.err)
	}
	in.Cost = c.cost
	return in, nil
}

// maxCost is the most that decoding a frame of so many bytes may cost.
func maxCost(frame int) int64 { return baseCost + costPerByte*int64(frame) }

// Decode decodes what has been inspected. The error wraps ErrMalformed: what remains to go wrong is inside tagged
// fields that kmsg knows, and nulls where the API allows none.
func (in Inspection) Decode() (*Request, error) {
	req := &Request{Header: in.header, Body: kmsg.RequestForKey(in.header.Key), Size: in.size}
	req.Body.SetVersion(in.header.Version)
	if in.layout == nil {
		req.AboveMax = true
		return req, nil
	}
	req.respHeader = in.layout.respHeader
	if err := req.Body.ReadFrom(in.body); err != nil {
		return nil, fmt.Errorf("wire: %s v%d: %w: %w", in.row.Name, in.header.Version, ErrMalformed, err)
	}
	return req, nil
}

// Decode is Inspect and Inspection.Decode in one, for callers that bound memory in other ways.
func (t *Table) Decode(frame []byte) (*Request, error) {
	in, err := t.Inspect(frame)
	if err != nil {
		return nil, err
	}
	return in.Decode()
}
