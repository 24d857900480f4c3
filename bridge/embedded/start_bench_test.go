// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkStart starts a server on a folder with so many messages of 100 bytes,
// sent 1,000 at a time to each of four partitions in turn. The first start is told
// apart: it reads what the database's log says of its memory at the end, 64 MiB at
// most, the later ones find that in tables.
func BenchmarkStart(b *testing.B) {
	for _, millions := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("messages=%dM", millions), func(b *testing.B) {
			cfg := Config{DataDir: b.TempDir()}
			s := mustStart(b, cfg)
			conn := dial(b, s)
			login(b, conn)
			createTopic(b, conn, 4)
			for partition := range uint32(4) {
				pipeline(b, conn, benchSendTo(b, partition), millions*1e6/benchBatch/4)
			}
			mustClose(b, s)
			begin := time.Now()
			s = mustStart(b, cfg)
			first := time.Since(begin)
			stored := uint64(0)
			for _, p := range s.catalog.streams.get(0).topics.get(0).partitions {
				stored += p.describe().Messages
			}
			if stored != uint64(millions)*1e6 {
				b.Errorf("%d messages after the start", stored)
			}
			mustClose(b, s)
			b.ResetTimer()
			for range b.N {
				s := mustStart(b, cfg)
				b.StopTimer()
				mustClose(b, s)
				b.StartTimer()
			}
			b.ReportMetric(float64(first.Milliseconds()), "ms/first")
		})
	}
}

func mustStart(b *testing.B, cfg Config) *Server {
	b.Helper()
	s, err := Start(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func mustClose(b *testing.B, s *Server) {
	b.Helper()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
