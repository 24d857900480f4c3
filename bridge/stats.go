// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import "sync/atomic"

// Stats are what a Bridge holds now, and its counts since it was opened.
type Stats struct {
	// Lanes are those at work, Queued the batches that wait in them for their turn.
	Lanes, Queued int
	// Sends is how many times messages were sent to Iggy, Batches how many Kafka batches they carried, Messages how many
	// messages, Bytes how large these were in Iggy's form, header included. What is sent again counts again.
	Sends, Batches, Messages, Bytes uint64
	// Duplicates is how many batches of idempotent producers were answered without being written: they had been before.
	Duplicates uint64
	// UnknownOutcomes is how many batches were given up without knowing whether they were written.
	UnknownOutcomes uint64

	// SendCalls and PollCalls are the answered requests to Iggy that carried messages there and back, OtherCalls all others.
	SendCalls, PollCalls, OtherCalls Calls

	// Watches is how many are open, most of them of Fetch requests that wait for records. One of several topics counts for each.
	Watches int

	// Connections to Iggy that live now, by what they are for.
	Connections Connections
	// Dials is how many connections were made, FailedDials how many were tried in vain, Losses how many ended that
	// were in use and that the gateway did not end.
	Dials, FailedDials, Losses uint64

	// Topics is how many there are for Kafka's clients, Hidden how many are left out for their names, as last told by Iggy.
	Topics, Hidden int
	// Refreshes is how many times Iggy was asked for all topics, FailedRefreshes how many times in vain.
	Refreshes, FailedRefreshes uint64

	// Producers is how many pairs of idempotent producer and partition are remembered, ProducerEvictions how many were forgotten
	// because there were more than Config.MaxProducers.
	Producers         int
	ProducerEvictions uint64
}

// Connections counts connections by their roles. The users are those of clients that authenticate: each has its own, of which one
// that both writes and reads counts as both.
type Connections struct {
	Control, Writes, Reads, UserWrites, UserReads, NativeGroups int
}

// counts are the Stats that only grow.
type counts struct {
	sends, batches, messages, bytes atomic.Uint64
	duplicates, unknownOutcomes     atomic.Uint64
	failedDials                     atomic.Uint64
	refreshes, failedRefreshes      atomic.Uint64
	calls                           callTimes
}

// sent counts a send of so many batches.
func (c *counts) sent(batches int, s *sent) {
	c.sends.Add(1)
	c.batches.Add(uint64(batches))
	c.messages.Add(uint64(s.count))
	c.bytes.Add(uint64(s.bytes))
}

// Stats returns them. It takes time in proportion to the topics that are in use.
func (b *Bridge) Stats() Stats {
	s := Stats{
		Sends: b.counts.sends.Load(), Batches: b.counts.batches.Load(),
		Messages: b.counts.messages.Load(), Bytes: b.counts.bytes.Load(),
		Duplicates: b.counts.duplicates.Load(), UnknownOutcomes: b.counts.unknownOutcomes.Load(),
		Dials: b.dials.Load(), FailedDials: b.counts.failedDials.Load(), Losses: b.epoch.Load(),
		Refreshes: b.counts.refreshes.Load(), FailedRefreshes: b.counts.failedRefreshes.Load(),
		SendCalls: b.counts.calls.sends.read(), PollCalls: b.counts.calls.polls.read(), OtherCalls: b.counts.calls.others.read(),
		Producers: b.producers.Len(), ProducerEvictions: uint64(b.producers.Evicted()),
		Connections: Connections{
			Control: b.control.count(), Writes: b.self.writes.count(), Reads: b.self.reads.count(),
			NativeGroups: b.native.Load().count(),
		},
	}
	for _, other := range b.others.all() {
		s.Connections.UserWrites += other.writes.count()
		s.Connections.UserReads += other.reads.count()
	}
	s.Lanes, s.Queued, s.Watches = b.states.inUse()
	s.Topics, s.Hidden = b.view.size()
	return s
}

// count is how many connections of a pool live; a nil one has none.
func (p *connPool) count() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, n, _ := p.leastBusy()
	return n
}

// inUse counts the lanes, what waits in them, and the watches.
func (s *stateTable) inUse() (lanes, queued, watches int) {
	s.mu.Lock()
	states := make([]*topicState, 0, len(s.m))
	for _, st := range s.m {
		states = append(states, st)
	}
	s.mu.Unlock()
	for _, st := range states {
		st.mu.Lock()
		watches += len(st.watches)
		for i := range st.parts {
			if l := st.parts[i].lane; l != nil {
				lanes++
				queued += l.waiting()
			}
		}
		st.mu.Unlock()
	}
	return lanes, queued, watches
}

func (l *lane) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// size is how many topics the newest view has and leaves out.
func (v *topicView) size() (topics, hidden int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.topics, v.hidden
}
