// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// What a request is refused with. Such an answer has session id 0 and no topics.
var (
	ErrNotFound = errors.New("fetchsession: no such session")                              // FETCH_SESSION_ID_NOT_FOUND (70)
	ErrEpoch    = errors.New("fetchsession: not the session's next epoch")                 // INVALID_FETCH_SESSION_EPOCH (71)
	ErrTopicID  = errors.New("fetchsession: topics by name and by id in the same session") // FETCH_SESSION_TOPIC_ID_ERROR (106)
)

// Config bounds a Cache.
type Config struct {
	// MaxSessions is how many there are (Kafka: max.incremental.fetch.session.cache.slots).
	MaxSessions int
	// MaxPartitions is how many partitions one session has.
	MaxPartitions int
	// MaxBytes is the memory of all sessions together, as charged by the constants of session.go.
	MaxBytes int64
	// EvictAfter is how long a session may be unused before any new one may take its place, and how old it must have
	// become in use before a larger one may.
	EvictAfter time.Duration
	// Rand is where ids come from; it should not be predictable.
	Rand io.Reader
}

// Cache holds the sessions. Its methods are safe for concurrent use.
//
// A session's lock may be held when the cache's is taken, never the other way round.
type Cache struct {
	cfg Config

	mu       sync.Mutex
	sessions map[int32]*session
	bytes    int64 // charged for all of them
	evicted  uint64
}

// Stats are what a Cache holds, and its counts so far.
type Stats struct {
	Sessions, Partitions int
	Bytes                int64
	Limit                int    // of Sessions
	Evicted              uint64 // sessions that had to make room for others
}

// Stats returns them.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Sessions: len(c.sessions), Bytes: c.bytes, Limit: c.cfg.MaxSessions, Evicted: c.evicted}
	for _, session := range c.sessions {
		s.Partitions += session.place.size
	}
	return s
}

// NewCache returns a cache without sessions.
func NewCache(cfg Config) *Cache {
	return &Cache{cfg: cfg, sessions: map[int32]*session{}}
}

// place is what the cache knows of a session, under the cache's lock.
type place struct {
	id       int32
	size     int   // partitions when it was last used
	charge   int64 // bytes
	created  time.Time
	lastUsed time.Time
}

func (c *Cache) find(id int32) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// mayHold says whether a session of that extent is within the bounds.
func (c *Cache) mayHold(e extent) bool {
	return e.partitions <= c.cfg.MaxPartitions && e.charge() <= c.cfg.MaxBytes
}

// add gives s a place and an id, evicting others if need be; 0: there is no room for it. Nobody else knows s yet.
func (c *Cache) add(s *session, now time.Time) int32 {
	size, charge := s.size, s.charge
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.makeRoom(size, charge, now) {
		return 0
	}
	id, ok := c.newID()
	if !ok {
		return 0
	}
	s.place = place{id: id, size: size, charge: charge, created: now, lastUsed: now}
	c.sessions[id] = s
	c.bytes += charge
	return id
}

// newID draws an id that no session has. mu is held.
func (c *Cache) newID() (id int32, ok bool) {
	for {
		var b [4]byte
		if _, err := io.ReadFull(c.cfg.Rand, b[:]); err != nil {
			return 0, false
		}
		id = int32(binary.BigEndian.Uint32(b[:]) >> 1)
		if _, taken := c.sessions[id]; !taken && id != 0 {
			return id, true
		}
	}
}

// touch notes that s was used, and what it becomes. It is false when s has lost its place: to a newer one, to a full fetch
// that named it, or just now because it outgrows the bounds. The caller holds s's lock.
func (c *Cache) touch(s *session, e extent, now time.Time) bool {
	charge := max(s.charge, e.charge())
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &s.place
	if c.sessions[p.id] != s {
		return false
	}
	if e.partitions > c.cfg.MaxPartitions || c.bytes-p.charge+charge > c.cfg.MaxBytes {
		c.drop(s)
		return false
	}
	c.bytes += charge - p.charge
	p.size, p.charge, p.lastUsed = e.partitions, charge, now
	return true
}

// drop takes a session out if it is still in. mu is held.
func (c *Cache) drop(s *session) {
	if s != nil && c.sessions[s.place.id] == s {
		delete(c.sessions, s.place.id)
		c.bytes -= s.place.charge
	}
}

// remove ends the session of that id, if there is one; none has id 0.
func (c *Cache) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.sessions[id])
}

// end ends s.
func (c *Cache) end(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(s)
}

// makeRoom evicts what a new session may evict until it has a place, or nothing when all of that is not enough. mu is held.
func (c *Cache) makeRoom(size int, charge int64, now time.Time) bool {
	for len(c.sessions) >= c.cfg.MaxSessions || c.bytes+charge > c.cfg.MaxBytes {
		var victim *session
		var gain int64
		for _, s := range c.sessions {
			if !c.evictable(&s.place, size, now) {
				continue
			}
			gain += s.place.charge
			if victim == nil || c.before(&s.place, &victim.place, now) {
				victim = s
			}
		}
		if victim == nil || c.bytes-gain+charge > c.cfg.MaxBytes {
			return false
		}
		c.drop(victim)
		c.evicted++
	}
	return true
}

// Expire ends the sessions that were last used before then, and says how many are left.
func (c *Cache) Expire(then time.Time) (left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		if s.place.lastUsed.Before(then) {
			c.drop(s)
		}
	}
	return len(c.sessions)
}

func (c *Cache) stale(p *place, now time.Time) bool { return now.Sub(p.lastUsed) > c.cfg.EvictAfter }

// evictable says whether a new session of so many partitions may take p: one that nobody uses, or a smaller one that is
// not young. An equal one stays, as in Kafka: two that want one place would else take it from each other for ever.
func (c *Cache) evictable(p *place, size int, now time.Time) bool {
	return c.stale(p, now) || p.size < size && p.lastUsed.Sub(p.created) > c.cfg.EvictAfter
}

// before is the order of eviction: who was unused longest, then who is smallest.
func (c *Cache) before(a, b *place, now time.Time) bool {
	staleA, staleB := c.stale(a, now), c.stale(b, now)
	switch {
	case staleA != staleB:
		return staleA
	case staleA:
		return cmp.Or(a.lastUsed.Compare(b.lastUsed), cmp.Compare(a.id, b.id)) < 0
	default:
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.id, b.id)) < 0
	}
}
