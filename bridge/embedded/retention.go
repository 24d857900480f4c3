// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// every calls do after each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// clean takes away what the topics' settings do not keep any longer.
func (s *Server) clean() error {
	var waits []func() error
	c := &s.catalog
	c.mu.RLock()
	for _, st := range c.streams.all {
		for _, t := range st.topics.all {
			waits = append(waits, t.expire(s.now())...)
			waits = append(waits, t.shrink()...)
		}
	}
	c.mu.RUnlock()
	var errs []error
	for _, wait := range waits {
		errs = append(errs, wait())
	}
	return errors.Join(errs...)
}

// expire takes away the segments whose last message is older than the topic's
// expiry. An expiry of 0, which an update may set, is the server's default, which
// is none. The catalogue's mutex is held.
func (t *topic) expire(now uint64) (waits []func() error) {
	expiry := t.settings.MessageExpiry
	if expiry == iggywire.ServerDefault || expiry > now {
		return nil
	}
	for _, p := range t.partitions {
		if n := p.expired(now - expiry); n > 0 {
			waits = append(waits, p.trim(n))
		}
	}
	return waits
}

// shrink takes away segments while the topic, all partitions together, has 9/10
// of its maximum size, which is where a real server begins; the oldest of all
// partitions first. A size of 0, which an update may set, is the server's default
// here, which is unlimited; a real server's cleaner takes it for a limit. The
// catalogue's mutex is held.
func (t *topic) shrink() (waits []func() error) {
	limit := t.settings.MaxSize
	if limit == iggywire.ServerDefault || limit == iggywire.UnlimitedSize {
		return nil
	}
	for t.describe(false).Size >= limit/10*9 {
		p := t.oldest()
		if p == nil {
			break
		}
		waits = append(waits, p.trim(1))
	}
	return waits
}

// oldest returns the partition with the oldest segment that may be taken away.
func (t *topic) oldest() (oldest *partition) {
	var lowest uint64
	for _, p := range t.partitions {
		if timestamp, ok := p.oldest(); ok && (oldest == nil || timestamp < lowest) {
			oldest, lowest = p, timestamp
		}
	}
	return oldest
}
