// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec

// Limits bounds what decoding one batch may cost. Every field is a plain maximum: zero allows nothing of its kind.
//
// The decompressed size is bounded before the output is allocated, whatever the batch declares, so a few compressed bytes cannot
// claim memory. The record count is checked before anything is decompressed.
type Limits struct {
	MaxBytes   int // decompressed bytes of the records, the batch header not counted
	MaxRecords int // records in the batch
	MaxHeaders int // record headers in the whole batch
}
