// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package recordcodec_test

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// A decoded batch is one allocation, however many records it has.
func TestDecodeAllocates(t *testing.T) {
	d := recordcodec.NewDecoder()
	batch := appendBench(t, recordcodec.NewEncoder(), nil, recordcodec.CodecNone, benchValues())
	allocs := testing.AllocsPerRun(100, func() {
		b, err := d.Decode(batch, wide)
		if err != nil {
			t.Fatal(err)
		}
		for it := b.Records(); it.Next(); {
			for h := it.Record.Headers.Iter(); h.Next(); {
				t.Fatal("there are no headers")
			}
		}
		b.Release()
	})
	if allocs > 1 {
		t.Errorf("%v allocations", allocs)
	}
}

// An uncompressed batch goes into a slice that has room without any allocation.
func TestEncodeAllocates(t *testing.T) {
	e := recordcodec.NewEncoder()
	values := benchValues()
	dst := make([]byte, 0, 1<<18)
	if allocs := testing.AllocsPerRun(100, func() { appendBench(t, e, dst, recordcodec.CodecNone, values) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
