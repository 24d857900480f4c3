// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import "context"

// Storage is an append-only log in partitions, numbered from 0, that others may write to as well. It must be safe for
// concurrent use; no two calls for one partition overlap.
type Storage interface {
	// Partitions is how many there are. It does not change.
	Partitions() int
	// Bounds returns the offset of the first message that a partition keeps, and the offset that the next one gets.
	Bounds(ctx context.Context, partition int) (first, next int64, err error)
	// Append writes messages as one contiguous run and returns the offset of the first, once that is confirmed. After an
	// error they may have been written, or be written later. Offsets in messages mean nothing; payloads are read only, and
	// not looked at any more when it has returned.
	Append(ctx context.Context, partition int, messages []Message) (base int64, err error)
	// Read returns messages from the offset from on, at most limit and, unless from is at or past the end, at least one. When
	// the first messages are kept no more, it may return later ones than asked for. The payloads are the caller's.
	Read(ctx context.Context, partition int, from int64, limit int) ([]Message, error)
}

// Message is one message of the log: a record, or a part of one. The storage keeps the two numbers beside the payload.
type Message struct {
	Offset int64
	// Checkpoint is the offset at which the newest whole checkpoint before this message begins, -1 if there is none.
	Checkpoint int64
	// Sequence counts the messages of one writer in one partition, from 1, in the order in which it sent them.
	Sequence uint64
	Payload  []byte
}
