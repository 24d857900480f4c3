// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
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
	driver, stop := startDriver(b)
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

// startDriver runs a coordinator whose state is in memory.
func startDriver(b *testing.B) (*coordinator.Driver, func()) {
	driver, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig()})
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
