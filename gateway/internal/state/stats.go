// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// Stats are what a State holds, and its counts since the start.
type Stats struct {
	// Loaded: groups are served. Fenced: another gateway has taken over, and they are not served any more.
	Loaded, Fenced bool
	// Partitions are those of the state log, by number; none without Iggy.
	Partitions []statelog.PartitionStats
	// Failures is how many times the storage began to fail, Checkpoints how many were written, Disagreements how many times the
	// log was not what this gateway had written.
	Failures, Checkpoints, Disagreements uint64
	// Rebalances is how many times a group began to rebalance.
	Rebalances uint64
}

type counts struct{ failures, checkpoints, disagreements, rebalances atomic.Uint64 }

// Stats returns them.
func (s *State) Stats() Stats {
	out := Stats{
		Loaded: isClosed(s.Groups.Loaded()), Fenced: isClosed(s.Fenced()),
		Failures: s.counts.failures.Load(), Checkpoints: s.counts.checkpoints.Load(),
		Disagreements: s.counts.disagreements.Load(), Rebalances: s.counts.rebalances.Load(),
	}
	if s.Log != nil {
		out.Partitions = s.Log.Stats()
	}
	return out
}

func (c *counts) group(e coordinator.Effect) {
	if moved, ok := e.(coordinator.StateChanged); ok && moved.To == coordinator.PreparingRebalance {
		c.rebalances.Add(1)
	}
}

func (c *counts) log(e statelog.Event) {
	switch e.(type) {
	case statelog.Failed:
		c.failures.Add(1)
	case statelog.Checkpointed:
		c.checkpoints.Add(1)
	case statelog.Disagreed:
		c.disagreements.Add(1)
	}
}
