// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// A million offsets have to fit: one takes less than 100 bytes of the view.
func TestViewIsCompact(t *testing.T) {
	const groups, topics, partitions = 50, 10, 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	v := newView()
	for p := range int32(partitions) {
		for i := range groups * topics {
			o := coordinator.Offset{Position: 1_000_000, LeaderEpoch: -1, CommittedAt: time.Unix(1_700_000_000, 123_456_789)}
			v.apply(offsetsCommitted{fmt.Sprint("group-", i%groups), []committedTopic{
				{fmt.Sprint("topic-", i/groups), "AAAAAAAAAAAAAAAAAAAAAA", []committedPartition{{p, string(appendOffset(nil, &o))}}},
			}})
		}
	}
	if v.offsets != groups*topics*partitions {
		t.Fatalf("%d offsets", v.offsets)
	}
	each := float64(heap()-before) / float64(v.offsets)
	t.Logf("%.0f bytes an offset", each)
	if each > 100 {
		t.Errorf("an offset takes %.0f bytes", each)
	}
	runtime.KeepAlive(v)
}
