// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// ErrInUse is what [Server.Lose] returns while sends to the partition are under way.
var ErrInUse = errors.New("sends are under way")

// Lose takes the messages from offset end on out of a partition, acknowledged or
// not, and gives their offsets to the messages that come next. It is for tests:
// a real server that is killed before it flushed comes back like that; see also
// [Config.LoseUnflushed].
func (s *Server) Lose(stream, topic string, number uint32, end uint64) error {
	c := &s.catalog
	c.mu.RLock()
	t, status := c.topic(iggywire.NamedID(stream), iggywire.NamedID(topic))
	var p *partition
	if status == iggywire.StatusOK {
		p, status = t.partition(number)
	}
	c.mu.RUnlock()
	if status != iggywire.StatusOK {
		return fmt.Errorf("embedded: lose messages: %w", status)
	}
	gone, err := p.lose(end)
	if err != nil {
		return fmt.Errorf("embedded: lose messages: %w", err)
	}
	if status := s.commit(edit{records: gone})(); status != iggywire.StatusOK {
		return fmt.Errorf("embedded: lose messages: %w", status)
	}
	return nil
}

// lose returns the changes of records that belong to it. It holds the partition's
// mutexes while the log is cut, disk and all.
func (p *partition) lose(end uint64) (gone []record, err error) {
	p.appendMu.Lock()
	defer p.appendMu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	end = max(end, p.segments[0].base)
	switch {
	case p.next != p.end:
		return nil, ErrInUse
	case end >= p.end:
		return nil, nil
	}
	lost, err := p.log.truncate(end)
	if err != nil {
		return nil, err
	}
	p.next, p.end = end, end
	p.size -= lost
	p.endSize = p.size
	return p.cutSegments(end), nil
}
