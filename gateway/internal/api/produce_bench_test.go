// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkProduce sends batches of 100 records of 100 bytes, 32 requests in flight on one connection, to a gateway with
// an embedded Iggy in memory, all in this process. An operation is one request; the client's own part is small, as it
// encodes each request once and then changes the sequence in its bytes.
func BenchmarkProduce(b *testing.B) {
	for _, bc := range []struct {
		name       string
		idempotent bool
		settings   []string
	}{
		{name: "plain"},
		{name: "idempotent", idempotent: true},
		{name: "log append time", settings: []string{"message.timestamp.type", "LogAppendTime"}},
		{name: "compacted", settings: []string{"cleanup.policy", "compact"}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			gw := start(b, setup{})
			c := gw.dial(b)
			c.create("bench", 1, bc.settings...)
			p := produceStream{client: c, idempotent: bc.idempotent}
			p.prepare()
			b.SetBytes(benchRecords * benchRecordSize)
			b.ReportAllocs()
			b.ResetTimer()
			for sent := 0; sent < b.N; sent += benchInFlight {
				p.round(min(benchInFlight, b.N-sent))
			}
		})
	}
}

const (
	benchRecords    = 100
	benchRecordSize = 100
	benchInFlight   = 32
)

// produceStream sends the same batch again and again, with ascending sequences if it is idempotent.
type produceStream struct {
	client     *client
	idempotent bool

	frame    []byte // one request
	batchAt  int    // where its batch begins
	sequence int32
	frames   []byte
}

func (p *produceStream) prepare() {
	rs := make([]record, benchRecords)
	for i := range rs {
		rs[i] = record{timestamp: 1_700_000_000_000, key: []byte("key"), value: make([]byte, benchRecordSize)}
	}
	form := batchForm{}
	if p.idempotent {
		form.producer = &producer{id: 1}
	}
	b := batchOf(form, rs...)
	req := produceRequest(part{topic: "bench", records: b})
	p.frame = kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 1)
	const tail = 3 // empty tag sections behind the batch: of the partition, the topic and the request
	p.batchAt = len(p.frame) - tail - len(b)
}

// round sends n requests in one write and reads their answers.
func (p *produceStream) round(n int) {
	c := p.client
	p.frames = p.frames[:0]
	for range n {
		b := p.frame[p.batchAt : len(p.frame)-3]
		if p.idempotent {
			binary.BigEndian.PutUint32(b[atSequence:], uint32(p.sequence))
			binary.BigEndian.PutUint32(b[atCRC:], crcOf(b))
			p.sequence = (p.sequence + benchRecords) & math.MaxInt32
		}
		p.frames = append(p.frames, p.frame...)
	}
	c.write(p.frames)
	for range n {
		_, rest := c.readAnswer()
		const codeAt = 1 + 1 + 1 + len("bench") + 1 + 4 // header tags, one topic, its name, one partition and its number
		if code := int16(binary.BigEndian.Uint16(rest[codeAt:])); code != 0 {
			c.Fatalf("error %d", code)
		}
	}
}
