// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

import (
	"errors"
	"fmt"
)

// The classes of failure that callers act on; every error of this module wraps one of them, so test with errors.Is.
var (
	// ErrCorrupt says that the bytes are damaged: a wrong CRC-32C, a batch cut short, compressed data that does not decompress.
	// Kafka answers CORRUPT_MESSAGE (2).
	ErrCorrupt = errors.New("corrupt data")

	// ErrInvalid says that the bytes arrived as they were sent but break the format: a record count that lies, bytes after
	// the batch, a record whose parts do not add up to its length. Kafka answers INVALID_RECORD (87).
	ErrInvalid = errors.New("invalid record batch")

	// ErrLegacy says that the bytes are a message set of format 0 or 1, which came before record batches (KIP-98).
	// It is also an ErrInvalid, as a Produce request of version 3 or later must not carry one.
	ErrLegacy = fmt.Errorf("message format 0 or 1: %w", ErrInvalid)

	// ErrTooLarge says that one of the caller's limits would be passed. Kafka answers MESSAGE_TOO_LARGE (10).
	ErrTooLarge = errors.New("too large")

	// ErrUnknownCodec says that the attributes name a compression that Kafka does not have.
	// Kafka answers UNSUPPORTED_COMPRESSION_TYPE (76).
	ErrUnknownCodec = errors.New("unknown compression codec")
)
