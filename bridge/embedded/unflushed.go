// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// A real server writes a partition's messages to the disk once this many or this
// much of them have gathered, or its segment is full.
const (
	flushMessages = 1024
	flushBytes    = 1 << 20
)

// unflushed is what a real server would not have written to the disk yet: the
// state behind [Config.LoseUnflushed]. Messages are always durable. A record says
// from which offset on they are not supposed to be; it is written with the first of them and
// taken back with the last, and a start that finds it cuts the log there.
type unflushed struct {
	marked bool // there is a record
	count  uint32
	bytes  uint64
}

// add counts an entry and returns the changes of records that belong to it.
func (u *unflushed) add(id logID, e *entry, segmentFull bool) []record {
	u.count += e.count
	u.bytes += uint64(len(e.messages))
	switch {
	case segmentFull || u.count >= flushMessages || u.bytes >= flushBytes:
		return u.flush(id)
	case u.marked:
		return nil
	}
	u.marked = true
	return []record{unflushedRecord(id, e.base)}
}

// flush returns the changes of records that make everything count as flushed.
func (u *unflushed) flush(id logID) (changes []record) {
	if u.marked {
		changes = []record{{key: unflushedKey(id)}}
	}
	*u = unflushed{}
	return changes
}

// flush makes what was sent to the partition until now durable, in the sense of
// [Config.LoseUnflushed] too. The returned function waits for it.
func (s *Server) flush(p *partition) (wait func() iggywire.Status) {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	return s.commit(edit{records: p.unflushed.flush(p.logID)})
}

// flushAll flushes all partitions.
func (s *Server) flushAll() {
	c := &s.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, st := range c.streams.all {
		for _, t := range st.topics.all {
			for _, p := range t.partitions {
				s.flush(p)
			}
		}
	}
}
