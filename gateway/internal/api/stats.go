// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
)

// Stats are what an API holds, and its counts so far.
type Stats struct {
	// ThrottledProduces and ThrottledFetches are how many requests were answered with a throttle time (KIP-219).
	ThrottledProduces, ThrottledFetches uint64
	// Unmappable is how many messages that are no Kafka records were served as they are, each as often as it was fetched.
	Unmappable uint64
	// FetchSessions are those of KIP-227, Fetching the memory that Fetch requests hold for their partitions.
	FetchSessions fetchsession.Stats
	Fetching      budget.Stats
}

type counts struct{ throttledProduces, throttledFetches atomic.Uint64 }

// Stats returns them.
func (a *API) Stats() Stats {
	return Stats{
		ThrottledProduces: a.counts.throttledProduces.Load(), ThrottledFetches: a.counts.throttledFetches.Load(),
		Unmappable:    uint64(a.unmappable.served.Load()),
		FetchSessions: a.sessions.Stats(), Fetching: a.fetching.Stats(),
	}
}
