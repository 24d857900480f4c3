// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRecordBatch(t *testing.T) {
	value := make([]byte, 100)
	b := recordBatch(value)
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	if got, want := uint32(batch.CRC), crc32.Checksum(b[batchCRCEnd:], crc32.MakeTable(crc32.Castagnoli)); got != want {
		t.Errorf("checksum %x, want %x", got, want)
	}
	if int(batch.Length) != len(b)-batchLengthEnd {
		t.Errorf("length %d of %d bytes", batch.Length, len(b))
	}
	var record kmsg.Record
	if err := record.ReadFrom(batch.Records); err != nil || len(record.Value) != len(value) {
		t.Errorf("%d bytes, %v", len(record.Value), err)
	}
}
