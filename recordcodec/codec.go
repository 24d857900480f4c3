// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import "fmt"

// Codec is how the records of a batch are compressed: bits 0-2 of the batch's attributes.
type Codec int8

// The codecs of Kafka, by the numbers that they have on the wire (zstd since KIP-110).
const (
	CodecNone Codec = iota
	CodecGzip
	CodecSnappy
	CodecLZ4
	CodecZstd
)

// String is the codec's name in Kafka's compression.type.
func (c Codec) String() string {
	switch c {
	case CodecNone:
		return "none"
	case CodecGzip:
		return "gzip"
	case CodecSnappy:
		return "snappy"
	case CodecLZ4:
		return "lz4"
	case CodecZstd:
		return "zstd"
	}
	return fmt.Sprintf("codec(%d)", int8(c))
}

// ParseCodec is the codec with that name, or an ErrUnknownCodec.
func ParseCodec(name string) (Codec, error) {
	for c := CodecNone; c <= CodecZstd; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	return CodecNone, fmt.Errorf("recordcodec: %q: %w", name, ErrUnknownCodec)
}

// codecOf reads the codec bits of the attributes of a batch or of a message of format 0 or 1.
func codecOf(attributes int16) (Codec, error) {
	c := Codec(attributes & codecMask)
	if c > CodecZstd {
		return CodecNone, fmt.Errorf("recordcodec: compression %d: %w", c, ErrUnknownCodec)
	}
	return c, nil
}
