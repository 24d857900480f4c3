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
