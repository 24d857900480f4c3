// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkTurns is how long the driver serves nobody else while 10,000 groups of three members and ten offsets are listed, while
// one turn of a survey of them lasts, and while one group with as many offsets as there may be in all is surveyed.
func BenchmarkTurns(b *testing.B) {
	const groups, members, offsets = 10_000, 3, 10
	many, ids := NewGroups(DefaultConfig()), make([]string, groups)
	for g := range groups {
		ids[g] = fmt.Sprintf("group-%05d", g)
		saved := Snapshot{Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "m0"}
		for m := range members {
			saved.Members = append(saved.Members, MemberSnapshot{MemberID: fmt.Sprint("m", m), SessionTimeout: time.Minute})
		}
		many.Restore(ids[g], GroupSaved{saved})
		for p := range int32(offsets) {
			many.Restore(ids[g], OffsetCommitted{TopicPartition{"topic", p}, Offset{Position: 1}})
		}
	}
	one := NewGroups(DefaultConfig())
	for p := range int32(DefaultConfig().MaxOffsets) {
		one.Restore("g", OffsetCommitted{TopicPartition{"topic", p}, Offset{Position: 1}})
	}
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			many.listUnsorted(Filter{})
		}
	})
	b.Run("survey", func(b *testing.B) {
		b.ReportAllocs()
		rest := ids
		for b.Loop() {
			if _, rest = many.survey(rest); len(rest) == 0 {
				rest = ids
			}
		}
	})
	b.Run("one large group", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one.survey([]string{"g"})
		}
	})
}
