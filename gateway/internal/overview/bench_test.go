// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// BenchmarkSnapshot builds snapshots of an embedded Iggy with 1,000 topics of four partitions, and 500 groups with offsets in ten
// topics each: the first one, and those that follow while nothing has changed.
func BenchmarkSnapshot(b *testing.B) {
	const topics, groups, read = 1000, 500, 10
	iggy, err := embedded.Start(b.Context(), embedded.Config{InMemory: true})
	if err != nil {
		b.Fatal(err)
	}
	defer iggy.Close()
	br, err := bridge.Open(b.Context(), bridge.Config{
		Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), CreateStreams: true, Dial: iggy.Dial,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer br.Close(context.Background())
	for i := range topics {
		_, err := br.CreateTopic(b.Context(), br.Self(), bridge.TopicSpec{
			Name: topicName(i), Partitions: 4, MessageExpiry: iggywire.NeverExpire, MaxSize: iggywire.UnlimitedSize,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	driver, stop := startDriver(b, nil)
	defer stop()
	for i := range groups {
		var commit coordinator.Commit
		commit.Generation = -1
		for j := range read {
			for partition := range int32(4) {
				commit.Offsets = append(commit.Offsets, coordinator.OffsetCommit{
					TopicPartition: coordinator.TopicPartition{Topic: topicName((7*i + j) % topics), Partition: partition},
				})
			}
		}
		if _, err := driver.Commit(b.Context(), fmt.Sprint("group-", i), commit); err != nil {
			b.Fatal(err)
		}
	}
	build := func(b *testing.B, s *Source, last *Snapshot) *Snapshot {
		snap := s.build(b.Context(), last)
		if snap.TopicsStatus.Err != nil || snap.GroupsStatus.Err != nil || len(snap.Topics) != topics || len(snap.Groups) != groups {
			b.Fatalf("%+v %+v, %d topics, %d groups", snap.TopicsStatus, snap.GroupsStatus, len(snap.Topics), len(snap.Groups))
		}
		return snap
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			build(b, New(br, driver), nil)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		s := New(br, driver)
		last := build(b, s, nil)
		for b.Loop() {
			last = build(b, s, last)
		}
	})
}

func topicName(i int) string { return fmt.Sprintf("topic-%04d", i) }

// BenchmarkManyGroups builds snapshots back to back of 10,000 groups, each of three members with ten offsets, while their members
// send heartbeats, one in three seconds each: how long a snapshot takes, and how long the heartbeats wait. Without snapshots it is
// the heartbeats alone.
func BenchmarkManyGroups(b *testing.B) {
	const groups, members, offsets = 10_000, 3, 10
	store := coordinator.NewMemoryStore()
	for g := range groups {
		saved := coordinator.Snapshot{Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "m0"}
		for m := range members {
			saved.Members = append(saved.Members, coordinator.MemberSnapshot{MemberID: fmt.Sprint("m", m), SessionTimeout: 10 * time.Minute})
		}
		changes := []coordinator.Change{coordinator.GroupSaved{Snapshot: saved}}
		for p := range int32(offsets) {
			changes = append(changes, coordinator.OffsetCommitted{
				TopicPartition: coordinator.TopicPartition{Topic: topicName(g % 100), Partition: p}, Offset: coordinator.Offset{Position: 1},
			})
		}
		store.Append(fmt.Sprintf("group-%05d", g), changes, func(error) {})
	}
	driver, stop := startDriver(b, store)
	defer stop()
	iggy := newFakeTopics()
	for i := range 100 {
		iggy.set(topicName(i), make([]bridge.Bounds, offsets)...)
	}
	for _, looked := range []bool{false, true} {
		name := "heartbeats alone"
		if looked {
			name = "snapshots"
		}
		b.Run(name, func(b *testing.B) {
			beat := func(n int) {
				h := coordinator.Heartbeat{MemberID: fmt.Sprint("m", n%members), Generation: 1}
				if err := driver.Heartbeat(b.Context(), fmt.Sprintf("group-%05d", n/members%groups), h); err != nil {
					b.Error(err)
				}
			}
			waits, stopBeating := heartbeats(groups*members/3, beat)
			s := New(iggy, driver)
			var last *Snapshot
			b.ReportAllocs()
			for b.Loop() {
				if !looked {
					time.Sleep(time.Second) // an operation is a second of heartbeats
					continue
				}
				last = s.build(b.Context(), last)
				if last.GroupsStatus.Err != nil || len(last.Groups) != groups || last.Groups[groups-1].LagKnown != true {
					b.Fatalf("%+v, %d groups", last.GroupsStatus, len(last.Groups))
				}
			}
			stopBeating()
			slices.Sort(*waits)
			for q, unit := range map[int]string{500: "p50-µs", 900: "p90-µs", 990: "p99-µs", 999: "p99.9-µs"} {
				b.ReportMetric(float64((*waits)[len(*waits)*q/1000].Nanoseconds())/1e3, unit)
			}
			b.ReportMetric(float64(len(*waits))/b.Elapsed().Seconds(), "heartbeats/s")
		})
	}
}

// heartbeats beats so often a second until it is stopped, from several goroutines, and notes how long each took.
func heartbeats(rate int, beat func(n int)) (waits *[]time.Duration, stop func()) {
	const senders = 8
	waits = new([]time.Duration)
	var (
		mu      sync.Mutex // guards *waits
		sending sync.WaitGroup
		over    = make(chan struct{})
		every   = senders * time.Second / time.Duration(rate)
	)
	for i := range senders {
		sending.Go(func() {
			var took []time.Duration
			due := time.Now().Add(every * time.Duration(i) / senders)
			for n := i; ; n += senders {
				select {
				case <-over:
					mu.Lock()
					*waits = append(*waits, took...)
					mu.Unlock()
					return
				case <-time.After(time.Until(due)):
				}
				begun := time.Now() // timers are late by themselves
				beat(n)
				took = append(took, time.Since(begun))
				due = due.Add(every)
			}
		})
	}
	return waits, func() {
		close(over)
		sending.Wait()
	}
}

// startDriver runs a coordinator whose state is in memory, in a store that may have some already.
func startDriver(b *testing.B, store coordinator.Store) (*coordinator.Driver, func()) {
	driver, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig(), Store: store})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := driver.Run(ctx); err != nil {
			b.Error(err)
		}
	}()
	select {
	case <-driver.Loaded():
	case <-time.After(time.Minute):
		b.Fatal("not loaded")
	}
	return driver, func() {
		cancel()
		<-ended
	}
}
