// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkHeartbeat is the request that coordinators see most, in groups of a few and of many members.
func BenchmarkHeartbeat(b *testing.B) {
	for _, members := range []int{4, 1000} {
		b.Run(fmt.Sprint(members, " members"), func(b *testing.B) {
			cfg := DefaultConfig()
			groups := NewGroups(cfg)
			now := time.Unix(0, 0)
			s := Snapshot{Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "m0"}
			for i := range members {
				s.Members = append(s.Members, MemberSnapshot{MemberID: fmt.Sprint("m", i), SessionTimeout: 45 * time.Second})
			}
			groups.Restore("g", GroupSaved{s})
			groups.Resume(now)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(3 * time.Second / time.Duration(members))
				effects := groups.Step(now, "g", Heartbeat{Request: 1, MemberID: s.Members[i%members].MemberID, Generation: 1})
				if effects[0].(Reply).Err != nil {
					b.Fatal(effects)
				}
			}
		})
	}
}

// millionOffsets returns 1,000 groups with 1,000 offsets each, of 10 topics that all read, and one topic more in one group.
func millionOffsets() *Groups {
	groups := NewGroups(DefaultConfig())
	commit := func(group, topic string, partition int32) {
		groups.Restore(group, OffsetCommitted{TopicPartition{topic, partition}, Offset{TopicID: "id", Position: 1}})
	}
	for g := range 1_000 {
		for i := range int32(1_000) {
			commit(fmt.Sprint("g", g), fmt.Sprint("t", i/100), i%100)
		}
	}
	commit("g0", "one", 0)
	groups.Resume(time.Unix(0, 0))
	return groups
}

// BenchmarkDropTopic is how long a coordinator of a million offsets stands still for a topic that is gone. Nothing is
// written, so each turn finds the same.
func BenchmarkDropTopic(b *testing.B) {
	groups := millionOffsets()
	for _, topic := range []DropTopic{{Topic: "none"}, {Topic: "one", TopicID: "another"}, {Topic: "t0", TopicID: "another"}} {
		b.Run(topic.Topic, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if effects := groups.DropTopic(time.Unix(0, 0), topic); len(effects) > 0 {
					b.Fatal(effects[0])
				}
			}
		})
	}
}

// BenchmarkDriverHeartbeats is 1,000 groups of 3 members through a driver. The metric is the part of a core that they take
// if each member sends one every 3 s.
func BenchmarkDriverHeartbeats(b *testing.B) {
	const groups, members = 1_000, 3
	store := NewMemoryStore()
	for g := range groups {
		s := Snapshot{Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "m0"}
		for i := range members {
			s.Members = append(s.Members, MemberSnapshot{MemberID: fmt.Sprint("m", i), SessionTimeout: 45 * time.Second})
		}
		store.Append(fmt.Sprint("group-", g), []Change{GroupSaved{s}}, func(error) {})
	}
	d, err := NewDriver(DriverConfig{Config: DefaultConfig(), Store: store})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	<-d.Loaded()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h := Heartbeat{MemberID: fmt.Sprint("m", i%members), Generation: 1}
		if err := d.Heartbeat(ctx, fmt.Sprint("group-", i/members%groups), h); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N)*groups*members/3, "%core")
	stop()
	if err := <-ran; err != nil {
		b.Error(err)
	}
}
