// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// A partition that went back, here by a native purge: a consumer in what is gone is told so at once, and not answered
// emptily for ever.
func TestFetchAfterPurge(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.produce(topic, 0, batchOf(batchForm{}, manyRecords(10, 10)...))
	if read := c.fetchAll(topic, 0); len(read) != 10 {
		t.Fatalf("%d records", len(read))
	}
	purge := iggywire.PurgeTopic{Stream: iggywire.NamedID("kafka"), Topic: iggywire.NamedID(topic)}
	gw.native(t, purge)
	for answers := 1; ; answers++ {
		got := onlyPartition(c, ask[*kmsg.FetchResponse](c, fetchRequest(part{topic: topic, offset: 5})))
		if got.ErrorCode == codeOffsetOutOfRange {
			break
		}
		if answers == 3 {
			t.Fatalf("answer %d: code %d, high watermark %d", answers, got.ErrorCode, got.HighWatermark)
		}
	}
	if base := c.produce(topic, 0, batch("after")); base != 0 {
		t.Errorf("the next record went to %d", base)
	}
}

// Compressed batches that wait for Iggy hold what they are, not what their compression could have hidden: many wait
// together.
func TestCompressedBatchesWaitTogether(t *testing.T) {
	t.Parallel()
	gw, proxy, _ := behindProxy(t)
	const waiting = 8
	topic := gw.newTopic(t, waiting)
	gw.dial(t).produce(topic, 0, batch("the lanes know where they are"))

	random := make([]byte, 60<<10)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32() % 64) // gzip makes three quarters of it
	}
	gzipped := batchOf(batchForm{codec: recordcodec.CodecGzip}, record{timestamp: time.Now().UnixMilli(), value: random})
	if !bytes.Equal(gzipped[:8], make([]byte, 8)) || len(gzipped) < 40<<10 {
		t.Fatalf("the batch has %d bytes", len(gzipped))
	}
	if err := proxy.Script("message.send * answer delay 1s"); err != nil {
		t.Fatal(err)
	}
	var clients []*client
	for p := range int32(waiting) {
		c := gw.dial(t)
		c.send(produceRequest(part{topic: topic, partition: p, records: gzipped}))
		clients = append(clients, c)
	}
	for p, c := range clients {
		got := next[*kmsg.ProduceResponse](c).Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			t.Errorf("partition %d: error %d", p, got.ErrorCode)
		}
	}
}
