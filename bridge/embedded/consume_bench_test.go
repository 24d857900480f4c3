// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// BenchmarkConsume reads a partition of 100 MB from its beginning to its end, again and again, one poll after the other: it was
// written in sends of 4,096 messages of 100 bytes, as a gateway gathers them. Most of it lies in tables on the disk.
func BenchmarkConsume(b *testing.B) {
	const perSend, sends = 4096, 150
	for name, cfg := range stores(b) {
		conn := dial(b, startServer(b, cfg))
		login(b, conn)
		createTopic(b, conn, 1)
		pipeline(b, conn, benchSendOf(b, 0, perSend), sends)
		for _, count := range []uint32{100, 1000, 4096} {
			b.Run(fmt.Sprintf("%s/count=%d", name, count), func(b *testing.B) {
				b.SetBytes(int64(count) * benchPayload)
				b.ReportAllocs()
				next := uint64(0)
				for b.Loop() {
					poll := iggywire.Poll{
						Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
						Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"), HasPartition: true,
						Strategy: iggywire.PollOffset, Value: next, Count: count,
					}
					status, body := roundTrip(b, conn, poll.Code(), poll.AppendTo(nil))
					if status != iggywire.StatusOK || len(body) == iggywire.PollResultHeaderSize {
						b.Fatal(status, len(body))
					}
					if next += uint64(count); next > perSend*sends-uint64(count) {
						next = 0
					}
				}
				b.ReportMetric(float64(b.N)*float64(count)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
