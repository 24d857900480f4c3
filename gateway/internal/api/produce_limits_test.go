// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

const smallCap = 64 << 10

func smallGateway(t *testing.T) *gateway {
	return start(t, setup{tune: func(cfg *api.Config) { cfg.PartitionCap = smallCap }})
}

// What a partition's records may cost: bytes once decompressed, records, headers. Everything above is 10, however
// little of it there is on the wire.
func TestProducePartitionCap(t *testing.T) {
	gw := smallGateway(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	zeros := func(codec recordcodec.Codec, n int) []byte {
		return batchOf(batchForm{codec: codec}, record{timestamp: 1, value: make([]byte, n)})
	}
	repeat := func(n int, r record) []byte {
		rs := make([]record, n)
		for i := range rs {
			rs[i] = r
		}
		return batchOf(batchForm{}, rs...)
	}
	headers := make([]header, 4)
	type capCase struct {
		name string
		b    []byte
		code int16
	}
	cases := []capCase{
		{"as many records as slots", repeat(smallCap/64, record{}), 0},
		{"one record more", repeat(smallCap/64+1, record{}), codeTooLarge},
		{"three headers for each slot", repeat(smallCap/64, record{headers: headers[:3]}), 0},
		{"more headers", repeat(smallCap/64, record{headers: headers}), codeTooLarge},
		{"plain, too large", zeros(recordcodec.CodecNone, smallCap), codeTooLarge},
	}
	for _, codec := range []recordcodec.Codec{recordcodec.CodecGzip, recordcodec.CodecSnappy, recordcodec.CodecLZ4, recordcodec.CodecZstd} {
		cases = append(cases,
			capCase{codec.String() + " that fits", zeros(codec, smallCap-100), 0},
			capCase{codec.String() + " too large", zeros(codec, smallCap), codeTooLarge})
	}
	cases = append(cases, capCase{"a bomb", zeros(recordcodec.CodecZstd, 128<<20), codeTooLarge})
	written := 0
	for _, tc := range cases {
		got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: tc.b})).Topics[0].Partitions[0]
		if got.ErrorCode != tc.code {
			t.Errorf("%s: error %d, want %d", tc.name, got.ErrorCode, tc.code)
		}
		if tc.code == 0 {
			h, err := recordcodec.ParseHeader(tc.b)
			if err != nil {
				t.Fatal(err)
			}
			written += int(h.Count)
		}
	}
	if got := len(c.fetchAll(topic, 0)); got != written {
		t.Errorf("%d records, want %d", got, written)
	}
}

// One request may bring 8 partition caps; what comes behind is answered 6, and can be sent again.
func TestProduceRequestCap(t *testing.T) {
	gw := smallGateway(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 12)
	b := batchOf(batchForm{codec: recordcodec.CodecZstd}, record{timestamp: 1, value: make([]byte, smallCap-100)})
	var parts []part
	var want []string
	for i := range int32(12) {
		parts = append(parts, part{topic: topic, partition: i, records: b})
		if i <= 8 { // the ninth begins within the bound
			want = append(want, fmt.Sprintf("%s/%d: 0 at 0", topic, i))
		} else {
			want = append(want, fmt.Sprintf("%s/%d: %d at -1", topic, i, codeNotLeader))
		}
	}
	if diff := cmp.Diff(want, producedTo(ask[*kmsg.ProduceResponse](c, produceRequest(parts...)))); diff != "" {
		t.Error(diff)
	}
}

// A message larger than Iggy may take is refused, with nothing of its batch written.
func TestProduceMessageLimit(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.MaxMessageSize = 1000 }})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	b := batchOf(batchForm{}, record{value: []byte("small")}, record{value: make([]byte, 1001)})
	got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: b})).Topics[0].Partitions[0]
	if got.ErrorCode != codeTooLarge {
		t.Errorf("error %d", got.ErrorCode)
	}
	c.produce(topic, 0, batchOf(batchForm{}, record{value: make([]byte, 1000)}))
	if all := c.fetchAll(topic, 0); len(all) != 1 {
		t.Errorf("%d records", len(all))
	}
}

// While others hold the decode budget a request waits, and answers 7 at its deadline, with nothing written; one that
// could never get what it needs is answered 10 at once.
func TestProduceWaitsForBudget(t *testing.T) {
	const size = 8 << 20
	gw := start(t, setup{budget: size})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	decode := gw.budgets["decode"]
	b := batchOf(batchForm{}, record{value: bytes.Repeat([]byte("x"), 200<<10)})

	const piece = 32 << 10 // small: large ones may not take it all
	const pieces = (size - 64<<10) / piece
	for range pieces {
		if err := decode.Acquire(context.Background(), piece); err != nil {
			t.Fatal(err)
		}
	}
	req := produceRequest(part{topic: topic, records: b})
	req.TimeoutMillis = 200
	if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); got[0] != fmt.Sprintf("%s/0: %d at -1", topic, codeTimedOut) {
		t.Errorf("got %q", got)
	}

	req.TimeoutMillis = 20_000
	c.send(req)
	for range pieces {
		decode.Release(piece)
	}
	if got := producedTo(next[*kmsg.ProduceResponse](c)); got[0] != topic+"/0: 0 at 0" {
		t.Errorf("got %q", got)
	}

	req = produceRequest(part{topic: topic, records: batchOf(batchForm{codec: recordcodec.CodecZstd}, record{value: make([]byte, 16<<20)})})
	if got := producedTo(ask[*kmsg.ProduceResponse](c, req)); got[0] != fmt.Sprintf("%s/0: %d at -1", topic, codeTooLarge) {
		t.Errorf("more than the budget: %q", got)
	}
}
