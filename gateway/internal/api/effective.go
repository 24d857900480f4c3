// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"sync"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// settingsCache holds what the settings of topics come to. It is void as a whole when the store says that any of them
// may have changed, also by a change that nobody waited for to the end: so nobody has to be told of changes. The zero
// value is ready.
type settingsCache struct {
	mu      sync.RWMutex
	version uint64 // of the store, when byID was begun
	byID    map[bridge.TopicID]*topicconfig.Effective
	// making holds the names of topics that may be there already while their settings are still to be stored, each with what is
	// closed afterwards.
	making map[string]chan struct{}
}

// get returns what is known; making says that something else is about to be.
func (c *settingsCache) get(t *bridge.Topic, version uint64) (set *topicconfig.Effective, known, making bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if _, making := c.making[t.Name]; making {
		return nil, false, true
	}
	set, known = c.byID[t.ID]
	return set, known && c.version == version, false
}

// hold makes the settings of a topic unknown until release is called: somebody else could find it, and write to it, before
// they are stored. One request at a time makes a topic of a name, so that none takes another's for its own; the error is ctx's, when
// it ended before it was this one's turn.
func (c *settingsCache) hold(ctx context.Context, name string) (release func(), err error) {
	for {
		over, mine := c.take(name)
		if mine {
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.making, name)
				close(over)
			}, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns what is closed when the name is free again; mine says that it was free.
func (c *settingsCache) take(name string) (over chan struct{}, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if over, taken := c.making[name]; taken {
		return over, false
	}
	if c.making == nil {
		c.making = map[string]chan struct{}{}
	}
	over = make(chan struct{})
	c.making[name] = over
	return over, true
}

// put keeps what was read after the store had that version.
func (c *settingsCache) put(id bridge.TopicID, version uint64, set *topicconfig.Effective) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.version {
		return
	}
	if c.byID == nil || version > c.version || len(c.byID) >= maxTopics {
		c.version, c.byID = version, map[bridge.TopicID]*topicconfig.Effective{}
	}
	c.byID[id] = set
}

// effective returns what a topic's settings come to; it must not be changed. The error is coordinator.ErrLoadInProgress
// until the state log is loaded, and while the topic is being made: nobody knows then, and to take the defaults could
// break what was set.
func (a *API) effective(t *bridge.Topic) (*topicconfig.Effective, error) {
	version := a.Topics.SettingsVersion()
	set, known, making := a.settings.get(t, version)
	switch {
	case version == 0 || making:
		return nil, fmt.Errorf("api: settings of topic %q: %w", t.Name, coordinator.ErrLoadInProgress)
	case known:
		return set, nil
	}
	set = &a.defaults
	if kept, ok := a.Topics.TopicSettings(t.ID.String()); ok {
		own := topicconfig.NewEffective(kept)
		set = &own
	}
	a.settings.put(t.ID, version, set)
	return set, nil
}

// awaitSettings waits until effective can answer, or ctx ends: shortly after the start a client is better served by a
// pause than by an error, of which some retry only a few within a second.
func (a *API) awaitSettings(ctx context.Context) {
	select {
	case <-a.Topics.Loaded():
	case <-ctx.Done():
	}
}
