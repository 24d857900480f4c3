// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package producerstate

import "math"

// Sequence numbers count from 0 to 2147483647 and begin anew at 0, as in Kafka's DefaultRecordBatch.incrementSequence: they are
// numbers modulo 2^31.

// distance is how many steps lead from one sequence number to another.
func distance(from, to int32) int64 {
	return int64((uint32(to) - uint32(from)) & math.MaxInt32)
}

// follows reports that next is the sequence number after last.
func follows(last, next int32) bool { return distance(last, next) == 1 }

// after reports that a comes after b, for numbers less than half of all apart.
func after(a, b int32) bool {
	d := distance(b, a)
	return d != 0 && d <= math.MaxInt32/2
}

// Batch names the batch of an idempotent producer. Its sequence numbers may wrap within it.
type Batch struct {
	Producer    int64
	Epoch       int16
	First, Last int32
}

// Count is the number of records.
func (b Batch) Count() int64 { return distance(b.First, b.Last) + 1 }

// has reports that one of the records has that sequence number.
func (b Batch) has(sequence int32) bool { return distance(b.First, sequence) < b.Count() }

// Extend makes b longer by the batch that follows it, and reports false when next is none.
func (b *Batch) Extend(next Batch) bool {
	if next.Producer != b.Producer || next.Epoch != b.Epoch || !follows(b.Last, next.First) {
		return false
	}
	b.Last = next.Last
	return true
}
