// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds on what is kept. A broker has none.
const (
	// MaxQuotas is how many entities may have quotas.
	MaxQuotas = 10_000
	// MaxName is how long the names in an entity may be, in bytes.
	MaxName = 1024
)

// ErrTooMany: there are MaxQuotas.
var ErrTooMany = errors.New("quotas: too many entities have quotas")

// Store keeps quotas. Errors of SetQuota are those of package coordinator; if ctx ends first the change may still come.
type Store interface {
	// QuotasVersion changes whenever Quotas may answer something new. It is asked for every request.
	QuotasVersion() uint64
	Quotas() map[string]map[string]string
	// SetQuota replaces all values of a key, an empty map removes it, and returns when that is durable.
	SetQuota(ctx context.Context, key string, values map[string]string) error
}

// Quotas are the quotas of a gateway, and the rates of those who have some. All methods are safe for concurrent use.
type Quotas struct {
	store  Store
	logger *slog.Logger
	began  time.Time

	limits    atomic.Pointer[limits]
	reloading sync.Mutex // one at a time reads the store
	altering  alterations
	traffic   [kinds]traffic
}

// New returns the quotas that are in a store.
func New(store Store, logger *slog.Logger) *Quotas {
	q := &Quotas{store: store, logger: logger, began: time.Now()}
	q.limits.Store(&limits{})
	return q
}

// current are the quotas as the store has them now.
func (q *Quotas) current() *limits {
	if l := q.limits.Load(); l.version == q.store.QuotasVersion() {
		return l
	}
	return q.reload()
}

func (q *Quotas) reload() *limits {
	q.reloading.Lock()
	defer q.reloading.Unlock()
	version := q.store.QuotasVersion() // before the quotas: what comes in between is read again
	if l := q.limits.Load(); l.version == version {
		return l
	}
	l, faults := newLimits(version, q.store.Quotas())
	for _, err := range faults {
		q.logger.Warn("a client quota has no effect", "err", err)
	}
	q.limits.Store(l)
	for _, kind := range Kinds() {
		if !l.any[kind] {
			q.traffic[kind].forget()
		}
	}
	return l
}

func (q *Quotas) millis(now time.Time) int64 { return now.Sub(q.began).Milliseconds() }

// Produced counts a Produce request of so many bytes. It returns for how long its connection is throttled.
func (q *Quotas) Produced(user, clientID string, bytes int, now time.Time) time.Duration {
	l := q.current()
	if !l.any[Produced] {
		return 0
	}
	limit, who, ok := l.find(Produced, user, clientID)
	if !ok {
		return 0
	}
	return q.traffic[Produced].charge(who, limit, bytes, q.millis(now))
}

// FetchMax is how many bytes of records a Fetch should have at most: more would be throttled for certain, and its consumer get
// nowhere (KafkaApis.handleFetchRequest).
func (q *Quotas) FetchMax(user, clientID string) int {
	l := q.current()
	if !l.any[Fetched] {
		return math.MaxInt
	}
	limit, _, ok := l.find(Fetched, user, clientID)
	if !ok {
		return math.MaxInt
	}
	return room(limit)
}

// Fetched counts the answer to a Fetch, of so many bytes. ok is false if it must not be sent, but one without records, to a
// connection that is throttled for so long; then it does not count.
func (q *Quotas) Fetched(user, clientID string, bytes int, now time.Time) (throttle time.Duration, ok bool) {
	l := q.current()
	if !l.any[Fetched] {
		return 0, true
	}
	limit, who, ok := l.find(Fetched, user, clientID)
	if !ok {
		return 0, true
	}
	return q.traffic[Fetched].admit(who, limit, bytes, q.millis(now))
}

// All returns all quotas, users before client ids, by name.
func (q *Quotas) All() []Quota {
	l := q.current()
	all := make([]Quota, 0, len(l.byEntity))
	for e, rates := range l.byEntity {
		all = append(all, Quota{e, rates})
	}
	slices.SortFunc(all, func(a, b Quota) int { return compare(a.Entity, b.Entity) })
	return all
}
