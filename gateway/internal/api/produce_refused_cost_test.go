// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// What a request may bring, decompressed, counts for batches that are refused as well: to look at them costs the same.
func TestRefusedBatchesCountForTheRequestCap(t *testing.T) {
	gw := smallGateway(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 12)
	const future = 1 << 45
	for name, tc := range map[string]struct {
		records []byte
		code    int16
	}{
		"a wrong timestamp": {batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: future, value: make([]byte, smallCap-100)}), codeInvalidTimestamp},
		"a bomb":            {batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: 1, value: make([]byte, 2*smallCap)}), codeTooLarge},
	} {
		var parts []part
		var want []string
		for i := range int32(12) {
			parts = append(parts, part{topic: topic, partition: i, records: tc.records})
			code := tc.code
			if i > 8 { // the ninth begins within the bound
				code = codeNotLeader
			}
			want = append(want, fmt.Sprintf("%s/%d: %d at -1", topic, i, code))
		}
		got := producedTo(ask[*kmsg.ProduceResponse](c, produceRequest(parts...)))
		if name == "a bomb" { // how much of it is looked at is not said: no more than a cap each
			got, want = got[10:], want[10:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// An answer lists only so many refused records, however many partitions a request names: few bytes could ask for very many.
func TestRefusedRecordsOfOneRequest(t *testing.T) {
	gw := smallGateway(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 20)
	rs := make([]record, 900)
	for i := range rs {
		rs[i].timestamp = 1 << 45
	}
	b := batchOf(batchForm{codec: recordcodec.CodecZstd}, rs...)
	var parts []part
	for i := range int32(20) {
		parts = append(parts, part{topic: topic, partition: i, records: b})
	}
	listed := 0
	resp := ask[*kmsg.ProduceResponse](c, produceRequest(parts...))
	for _, p := range resp.Topics[0].Partitions {
		if p.ErrorCode != codeInvalidTimestamp || p.ErrorMessage == nil {
			t.Errorf("partition %d: %d", p.Partition, p.ErrorCode)
		}
		listed += len(p.ErrorRecords)
	}
	if first := len(resp.Topics[0].Partitions[0].ErrorRecords); first != 900 || listed > 1000 {
		t.Errorf("%d records are listed, %d of the first partition; %d bytes were sent for each", listed, first, len(b))
	}
}
