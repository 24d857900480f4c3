// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"math"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

func TestMaxTimestamp(t *testing.T) {
	for _, c := range []struct {
		name       string
		timestamps []int64
		appendTime int64 // 0: none
		want       int64
		index      int
	}{
		{"the last", []int64{1, 2, 3}, 0, 3, 2},
		{"the first", []int64{3, 2, 1}, 0, 3, 0},
		{"the first of equals", []int64{1, 7, 2, 7}, 0, 7, 1},
		{"none", []int64{-1, -1}, 0, -1, 0},
		{"far apart", []int64{0, 1_700_000_000_000, math.MaxInt32}, 0, 1_700_000_000_000, 1},
		{"negative", []int64{math.MinInt64, -5}, 0, -5, 1},
		{"the least", []int64{math.MinInt64}, 0, math.MinInt64, 0},
		{"append time", []int64{1, 9}, 5, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := recordcodec.NewEncoder().Batch(nil, recordcodec.BatchOptions{})
			for i, timestamp := range c.timestamps {
				w.Begin(&recordcodec.RecordHead{Offset: int64(i), Timestamp: timestamp})
			}
			encoded, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			be.PutUint64(encoded[35:], 12345) // the header's max timestamp, a lie
			b, err := recordcodec.NewDecoder().Decode(seal(encoded), wide)
			if err != nil {
				t.Fatal(err)
			}
			if c.appendTime != 0 {
				b.SetLogAppendTime(c.appendTime)
			}
			if got, index := b.MaxTimestamp(); got != c.want || index != c.index {
				t.Errorf("%d at %d, not %d at %d", got, index, c.want, c.index)
			}
			b.Release()
			if got, index := b.MaxTimestamp(); got != -1 || index != -1 {
				t.Errorf("%d at %d once released", got, index)
			}
		})
	}
}

// checkMaxTimestamp compares MaxTimestamp with the records.
func checkMaxTimestamp(tb testing.TB, b *recordcodec.Batch) {
	tb.Helper()
	want, wantIndex, i := int64(-1), -1, 0
	for it := b.Records(); it.Next(); i++ {
		if i == 0 || it.Record.Timestamp > want {
			want, wantIndex = it.Record.Timestamp, i
		}
	}
	if got, index := b.MaxTimestamp(); got != want || index != wantIndex {
		tb.Errorf("the largest timestamp is %d at %d, not %d at %d", got, index, want, wantIndex)
	}
}
