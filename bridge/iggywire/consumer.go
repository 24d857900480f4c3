// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

// ConsumerKind tells a single consumer from a group.
type ConsumerKind uint8

// The kinds of consumers.
const (
	ConsumerSingle ConsumerKind = 1
	ConsumerGroup  ConsumerKind = 2
)

// Consumer names who polls or whose offset is meant.
//
//	kind u8 | identifier
type Consumer struct {
	Kind ConsumerKind
	ID   Identifier
}

func appendConsumer(dst []byte, c Consumer) []byte {
	return AppendIdentifier(append(dst, byte(c.Kind)), c.ID)
}

func (r *reader) consumer() Consumer {
	c := Consumer{Kind: ConsumerKind(r.u8())}
	if c.Kind != ConsumerSingle && c.Kind != ConsumerGroup {
		r.fail(ErrMalformed)
	}
	c.ID = r.identifier()
	return c
}
