// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import "time"

// PartitionStats are what a partition of the log holds.
type PartitionStats struct {
	// Entries is how many records the state comes to, Since how many were appended after the newest whole checkpoint.
	Entries, Since int
	// Checkpoint is when the newest whole checkpoint was begun; zero: there is none.
	Checkpoint time.Time
	// Queued is how many bytes wait to be appended.
	Queued int
}

// Stats returns those of all partitions, by number. While the log is loaded they are zero.
func (l *Log) Stats() []PartitionStats {
	all := make([]PartitionStats, len(l.partitions))
	for i, p := range l.partitions {
		all[i] = p.stats()
	}
	return all
}

func (p *partition) stats() (s PartitionStats) {
	p.mu.Lock()
	s.Queued = p.queued
	p.mu.Unlock()
	p.state.RLock()
	defer p.state.RUnlock()
	if f := p.fold; f != nil {
		s.Entries, s.Since = f.view.entries(), f.since
		if f.checkpoint >= 0 {
			s.Checkpoint = f.checkpointAt
		}
	}
	return s
}
