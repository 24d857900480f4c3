// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

var (
	// ErrUnmappable says that a message cannot be read as a record: its envelope is broken, or its user headers are.
	ErrUnmappable = errors.New("message cannot be mapped to a record")

	// ErrTimestamp says that a record's timestamp does not fit a message: below -1, or more than 2^64 - 1 µs.
	// The gateway answers INVALID_TIMESTAMP (32).
	ErrTimestamp = errors.New("timestamp out of range")
)

// unmappable is why a message is: an ErrUnmappable. Consumers read the same words in the header ErrorHeader.
type unmappable string

const (
	errUserHeaders      unmappable = "bad user headers"
	errEnvelopeVersion  unmappable = "envelope: unknown version"
	errEnvelopeFlag     unmappable = "envelope: unknown flag"
	errEnvelopeShort    unmappable = "envelope: short"
	errEnvelopeAbsent   unmappable = "envelope: absent part has a length"
	errEnvelopeTrailing unmappable = "envelope: trailing bytes"
)

func (e unmappable) Error() string { return fmt.Sprintf("mapping: %s: %v", string(e), ErrUnmappable) }

func (e unmappable) Unwrap() error { return ErrUnmappable }

var (
	errMessageCut      = fmt.Errorf("mapping: message cut short: %w", recordcodec.ErrCorrupt)
	errMessageOrder    = fmt.Errorf("mapping: offsets do not ascend: %w", recordcodec.ErrCorrupt)
	errMessageOffset   = fmt.Errorf("mapping: offset beyond 2^63 - 1: %w", recordcodec.ErrCorrupt)
	errPayloadTooLarge = fmt.Errorf("payload over the limit: %w", recordcodec.ErrTooLarge)
	errHeadersTooLarge = fmt.Errorf("user headers over the limit: %w", recordcodec.ErrTooLarge)
)

// RecordError says which record of a batch could not become a message, and why: an error that wraps ErrTimestamp or
// recordcodec.ErrTooLarge.
type RecordError struct {
	Index int // of the record in its batch, from 0
	Err   error
}

// Error names the record by its index.
func (e *RecordError) Error() string { return fmt.Sprintf("mapping: record %d: %v", e.Index, e.Err) }

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }
