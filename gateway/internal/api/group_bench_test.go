// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkOffsetCommit commits one offset at a time in each of many groups at once, through the whole gateway to an Iggy
// in memory.
func BenchmarkOffsetCommit(b *testing.B) {
	gw := shared(b)
	topic := gw.newTopic(b, 1)
	benchGroups(b, gw, topic, func(c *client, group, member string) {
		got := ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, group, member, 1, part{topic: topic, offset: 1}))
		if code := got.Topics[0].Partitions[0].ErrorCode; code != 0 {
			b.Errorf("error %d", code)
		}
	})
}

// BenchmarkHeartbeat sends heartbeats of many members at once.
func BenchmarkHeartbeat(b *testing.B) {
	benchGroups(b, shared(b), "t", func(c *client, group, member string) {
		if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest(group, member, 1)); got.ErrorCode != 0 {
			b.Errorf("error %d", got.ErrorCode)
		}
	})
}

// benchGroups runs op for about a hundred groups of one member at once, each on its own connection.
func benchGroups(b *testing.B, gw *gateway, topic string, op func(c *client, group, member string)) {
	perProcessor := max(100/runtime.GOMAXPROCS(0), 1)
	groups := perProcessor * runtime.GOMAXPROCS(0)
	type one struct {
		c             *client
		group, member string
	}
	all := make([]one, groups)
	for i := range all {
		c, group := gw.dial(b), fmt.Sprintf("bench-%d-%s", i, newGroup())
		all[i] = one{c, group, c.member(group, topic)}
	}
	var next atomic.Int64
	b.SetParallelism(perProcessor)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		mine := all[next.Add(1)-1]
		for pb.Next() {
			op(mine.c, mine.group, mine.member)
		}
	})
}
