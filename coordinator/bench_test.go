// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
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
