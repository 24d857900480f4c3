// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

const (
	benchGroups  = 5_000
	benchOffsets = 1_000_000
)

// BenchmarkLoad reads a million offsets of 5,000 groups into a coordinator, after histories of different lengths.
func BenchmarkLoad(b *testing.B) {
	for _, history := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			storage := statelogtest.New(4)
			writeHistory(b, storage, history)
			for b.Loop() {
				log, stop := runLog(b, storage, fmt.Sprint("boot ", b.N))
				groups, count := coordinator.NewGroups(coordinator.DefaultConfig()), 0
				err := log.Groups().Load(b.Context(), func(group string, change coordinator.Change) error {
					groups.Restore(group, change)
					count++
					return nil
				})
				if err != nil || count != benchOffsets {
					b.Fatal(count, err)
				}
				stop()
			}
		})
	}
}

func runLog(b *testing.B, storage statelog.Storage, boot string) (log *statelog.Log, stop func()) {
	b.Helper()
	log, err := statelog.New(statelog.Config{Storage: storage, BootID: boot})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- log.Run(ctx) }()
	<-log.Loaded()
	return log, func() {
		cancel()
		if err := <-ran; err != nil {
			b.Error(err)
		}
	}
}

// writeHistory commits one offset at a time, all of them again and again. What no start can need goes, as with retention.
func writeHistory(b *testing.B, storage *statelogtest.Storage, commits int) {
	b.Helper()
	log, stop := runLog(b, storage, fmt.Sprint("writer ", commits))
	store := log.Groups()
	window := make(chan struct{}, 5_000)
	var all sync.WaitGroup
	names := make([]string, benchGroups)
	for i := range names {
		names[i] = fmt.Sprintf("consumer-group-%d", i)
	}
	for i := range commits {
		key := i % benchOffsets
		window <- struct{}{}
		all.Add(1)
		store.Append(names[key%benchGroups], []coordinator.Change{coordinator.OffsetCommitted{
			TopicPartition: coordinator.TopicPartition{Topic: fmt.Sprint("topic-", key/benchGroups/20), Partition: int32(key / benchGroups % 20)},
			Offset:         coordinator.Offset{TopicID: "AAAAAAAAAAAAAAAAAAAAAA", Position: int64(i), LeaderEpoch: -1, CommittedAt: time.Unix(1_700_000_000, int64(i))},
		}}, func(err error) {
			if err != nil {
				b.Error(err)
			}
			<-window
			all.Done()
		})
		if i%200_000 == 0 {
			expireUnneeded(b, storage)
		}
	}
	all.Wait()
	stop()
}

func expireUnneeded(b *testing.B, storage *statelogtest.Storage) {
	b.Helper()
	for p := range storage.Partitions() {
		_, next, err := storage.Bounds(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		if tail, err := storage.Read(b.Context(), p, next-1, 1); err == nil && len(tail) == 1 {
			storage.Expire(p, tail[0].Checkpoint)
		}
	}
}

// BenchmarkCommits is 100 groups that commit at once, each waiting for its last commit, through a driver.
func BenchmarkCommits(b *testing.B) {
	for _, delay := range []time.Duration{0, 500 * time.Microsecond} {
		b.Run(fmt.Sprint("delay=", delay), func(b *testing.B) {
			storage := statelogtest.New(4)
			storage.Delay = delay
			log, stop := runLog(b, storage, "boot")
			defer stop()
			driver, stopDriver := runDriver(b, log.Groups())
			defer stopDriver()
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for g := range 100 {
				all.Go(func() {
					group := fmt.Sprint("group-", g)
					for i := g; i < b.N; i += 100 {
						_, err := driver.Commit(b.Context(), group, coordinator.Commit{Generation: -1, Offsets: []coordinator.OffsetCommit{{
							TopicPartition: coordinator.TopicPartition{Topic: "topic", Partition: int32(i % 10)}, Offset: int64(i),
						}}})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64(storage.Appends())/float64(b.N), "appends/commit")
		})
	}
}

func runDriver(b *testing.B, store coordinator.Store) (*coordinator.Driver, func()) {
	b.Helper()
	driver, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig(), Store: store})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- driver.Run(ctx) }()
	<-driver.Loaded()
	return driver, func() {
		cancel()
		if err := <-ran; err != nil {
			b.Error(err)
		}
	}
}
