// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
)

// A partition that went back, under a bridge that knows it and under one that does not: what is left is a duplicate, and only
// the one that knew more lets the producer go on as if nothing were lost.
func TestProducersOfALosingServer(t *testing.T) {
	s := startServer(t, Config{InMemory: true})
	open := func() *bridge.Bridge {
		b, err := bridge.Open(t.Context(), bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			b.Close(ctx)
		})
		return b
	}
	b := open()
	top, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(b *bridge.Bridge, first int32, want string) {
		t.Helper()
		a := bridgetest.Idempotent(b, 7, 0, first, 10, func(i int) []byte { return fmt.Append(nil, int(first)+i) })
		if got := bridgetest.Outcome(t.Context(), b, top, a); got != want {
			t.Errorf("from %d: %s, want %s", first, got, want)
		}
	}
	for i := range int32(5) {
		expect(b, 10*i, fmt.Sprintf("at %d", 10*i))
	}
	if err := s.Lose("kafka", "orders", 0, 30); err != nil {
		t.Fatal(err)
	}
	expect(open(), 50, "out of order") // its producer begins a new epoch, as Kafka's do
	expect(b, 50, "at 30")
	expect(b, 20, "duplicate of 20")
	expect(b, 70, "out of order")
	expect(b, 60, "at 40")
	if err := s.Lose("kafka", "orders", 0, 0); err != nil {
		t.Fatal(err)
	}
	expect(b, 70, "at 0")
	expect(b, 70, "duplicate of 0")
	expect(open(), 70, "duplicate of 0")
}

// BenchmarkRebuild is what learning the producers of a partition from its tail takes, after a restart of the gateway: messages
// of 100 bytes in batches of 100, of 20 producers.
func BenchmarkRebuild(b *testing.B) {
	for _, messages := range []int{5_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			s := startServer(b, Config{InMemory: true})
			cfg := bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), TailAge: time.Hour}
			top := fillForRebuild(b, cfg, messages)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				fresh, err := bridge.Open(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				states, err := fresh.Producers(b.Context(), top, 0)
				if err != nil || len(states) != 20 {
					b.Fatal(len(states), err)
				}
				b.StopTimer()
				fresh.Close(b.Context())
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N)*float64(messages)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

func fillForRebuild(b *testing.B, cfg bridge.Config, messages int) *bridge.Topic {
	b.Helper()
	writer, err := bridge.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer writer.Close(b.Context())
	top, err := writer.CreateTopic(b.Context(), writer.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 100)
	for i := range messages / 100 {
		a := bridgetest.Idempotent(writer, int64(i%20), 0, int32(i/20*100), 100, func(int) []byte { return payload })
		if err := writer.Append(top, 0, a); err != nil {
			b.Fatal(err)
		}
		if i%100 == 99 || i == messages/100-1 {
			if _, err := a.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	return top
}

// BenchmarkAppend is what deduplication adds to a lane: batches of 10 small messages, 64 in flight, of 8 producers.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range []string{"plain", "idempotent"} {
		b.Run(kind, func(b *testing.B) {
			s := startServer(b, Config{InMemory: true})
			writer, err := bridge.Open(b.Context(), bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
			if err != nil {
				b.Fatal(err)
			}
			defer writer.Close(b.Context())
			top, err := writer.CreateTopic(b.Context(), writer.Self(), bridge.TopicSpec{Name: "orders", Partitions: 1})
			if err != nil {
				b.Fatal(err)
			}
			payload := make([]byte, 100)
			ready := make([]*bridge.Append, b.N)
			template := bridgetest.Idempotent(writer, 1, 0, 0, 10, func(int) []byte { return payload })
			for i := range ready {
				a := *template
				first := int32(i / 8 * 10)
				a.Producer = bridge.ProducerBatch{Idempotent: kind == "idempotent", ID: int64(i % 8), FirstSequence: first, LastSequence: first + 9}
				a.Deadline = time.Now().Add(time.Hour)
				ready[i] = &a
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i, a := range ready {
				if i >= 64 {
					if _, err := ready[i-64].Wait(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if err := writer.Append(top, 0, a); err != nil {
					b.Fatal(err)
				}
			}
			for _, a := range ready[max(0, len(ready)-64):] {
				if _, err := a.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*10/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
