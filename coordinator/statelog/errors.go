// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

var (
	// ErrFenced: another gateway has taken the log over. Nothing more is written. It wraps coordinator.ErrNotCoordinator.
	ErrFenced = fmt.Errorf("statelog: fenced by a newer owner: %w", coordinator.ErrNotCoordinator)
	// ErrCorrupt: a message is not a record, or the records do not fit together.
	ErrCorrupt = errors.New("statelog: corrupt")
	// ErrUnknownRecord: a record has a version or kind that this code does not know; it may come from a newer one.
	ErrUnknownRecord = errors.New("statelog: unknown record")
	// ErrStateLost: the beginning of the log is gone, and no whole checkpoint is left that could stand for it.
	ErrStateLost = errors.New("statelog: state lost")
	// ErrPartitions: the log was written with another number of partitions, so groups would not be found where they are.
	ErrPartitions = errors.New("statelog: another number of partitions")
	// ErrRecordTooLarge: a record is larger than Config.MaxRecord.
	ErrRecordTooLarge = errors.New("statelog: record too large")
	// ErrQueueFull: Config.MaxQueued bytes wait for one partition.
	ErrQueueFull = errors.New("statelog: queue full")
	// ErrStopped: Run has returned.
	ErrStopped = errors.New("statelog: stopped")
)

// permanent tells the errors that trying again does not mend.
func permanent(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnknownRecord) ||
		errors.Is(err, ErrStateLost) || errors.Is(err, ErrPartitions)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
