// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

const (
	benchBatch   = 1000
	benchPayload = 100
)

func benchSend(b *testing.B) []byte { return benchSendTo(b, 0) }

func benchSendTo(b *testing.B, partition uint32) []byte { return benchSendOf(b, partition, benchBatch) }

func benchSendOf(b *testing.B, partition uint32, count int) []byte {
	messages := make([][]byte, count)
	for i := range messages {
		messages[i] = message(uint64(i+1), strings.Repeat("x", benchPayload))
	}
	body := sendBodyTo(b, partition, "s", "t", messages...)
	return append(iggywire.AppendRequestHeader(nil, iggywire.CodeSendMessages, len(body)), body...)
}

// pipeline writes n frames ahead of their answers and returns how many bytes
// the answers had.
func pipeline(b *testing.B, conn net.Conn, frame []byte, n int) int64 {
	var writing sync.WaitGroup
	defer writing.Wait()
	ahead := make(chan struct{}, 8)
	writing.Go(func() {
		for range n {
			ahead <- struct{}{}
			if _, err := conn.Write(frame); err != nil {
				b.Error(err)
				return
			}
		}
	})
	size := int64(0)
	for range n {
		status, body, err := readAnswer(conn)
		if err != nil || status != iggywire.StatusOK {
			b.Fatal(status, err)
		}
		size += int64(len(body))
		<-ahead
	}
	return size
}

func benchStores(b *testing.B) map[string]Config {
	all := stores(b)
	all["pebble-nofsync"] = Config{DataDir: b.TempDir(), NoFsync: true}
	return all
}

// BenchmarkSend sends 1,000 messages of 100 bytes per request, 8 requests in
// flight on one connection.
func BenchmarkSend(b *testing.B) {
	for name, cfg := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			if cfg.DataDir != "" {
				cfg.DataDir = b.TempDir()
			}
			conn := dial(b, startServer(b, cfg))
			login(b, conn)
			createTopic(b, conn, 1)
			frame := benchSend(b)
			b.SetBytes(benchBatch * benchPayload)
			b.ReportAllocs()
			b.ResetTimer()
			pipeline(b, conn, frame, b.N)
			b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkPoll polls 1,000 messages of 100 bytes per request.
func BenchmarkPoll(b *testing.B) {
	for name, cfg := range stores(b) {
		b.Run(name, func(b *testing.B) {
			if cfg.DataDir != "" {
				cfg.DataDir = b.TempDir()
			}
			conn := dial(b, startServer(b, cfg))
			login(b, conn)
			createTopic(b, conn, 1)
			pipeline(b, conn, benchSend(b), 100)
			request := iggywire.AppendFrame(nil, iggywire.Poll{
				Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle},
				Stream:   iggywire.NamedID("s"), Topic: iggywire.NamedID("t"),
				Strategy: iggywire.PollOffset, Value: 50_500, Count: benchBatch,
			})
			b.SetBytes(benchBatch * benchPayload)
			b.ReportAllocs()
			b.ResetTimer()
			pipeline(b, conn, request, b.N)
			b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkRoundTrip sends one message per request, one after the other.
func BenchmarkRoundTrip(b *testing.B) {
	conn := dial(b, startServer(b, Config{InMemory: true}))
	login(b, conn)
	createTopic(b, conn, 1)
	body := sendBody(b, "s", "t", message(1, strings.Repeat("x", benchPayload)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		roundTrip(b, conn, iggywire.CodeSendMessages, body)
	}
}

// BenchmarkSmallSends sends one message per request and waits for its answer, on
// 32 connections at once: durable sends share syncs.
func BenchmarkSmallSends(b *testing.B) {
	for name, cfg := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			if cfg.DataDir != "" {
				cfg.DataDir = b.TempDir()
			}
			s := startServer(b, cfg)
			conn := dial(b, s)
			login(b, conn)
			createTopic(b, conn, 1)
			body := sendBody(b, "s", "t", message(1, strings.Repeat("x", benchPayload)))
			work := make(chan struct{})
			var senders sync.WaitGroup
			for range 32 {
				c := dial(b, s)
				login(b, c)
				senders.Go(func() {
					for range work {
						if status, _, err := request(c, iggywire.CodeSendMessages, body); err != nil || status != iggywire.StatusOK {
							b.Error(status, err)
						}
					}
				})
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			senders.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
