// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"sync/atomic"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
)

// Stats are what an API holds, and its counts so far.
type Stats struct {
	// ThrottledProduces and ThrottledFetches are how many requests were answered with a throttle time (KIP-219).
	ThrottledProduces, ThrottledFetches uint64
	// Logins are how many tokens were checked, by what came of it; Unavailable: they could not be.
	LoginsAccepted, LoginsRefused, LoginsUnavailable uint64
	// Unmappable is how many messages that are no Kafka records were served as they are, each as often as it was fetched.
	Unmappable uint64
	// FetchSessions are those of KIP-227, Fetching the memory that Fetch requests hold for their partitions.
	FetchSessions fetchsession.Stats
	Fetching      budget.Stats
}

type counts struct {
	throttledProduces, throttledFetches              atomic.Uint64
	loginsAccepted, loginsRefused, loginsUnavailable atomic.Uint64
}

// Stats returns them.
func (a *API) Stats() Stats {
	return Stats{
		ThrottledProduces: a.counts.throttledProduces.Load(), ThrottledFetches: a.counts.throttledFetches.Load(),
		LoginsAccepted: a.counts.loginsAccepted.Load(), LoginsRefused: a.counts.loginsRefused.Load(),
		LoginsUnavailable: a.counts.loginsUnavailable.Load(),
		Unmappable:        uint64(a.unmappable.served.Load()),
		FetchSessions:     a.sessions.Stats(), Fetching: a.fetching.Stats(),
	}
}

// login counts a token that was checked, or not: of who has gone meanwhile nobody knows what to count.
func (c *counts) login(err error) {
	switch {
	case err == nil:
		c.loginsAccepted.Add(1)
	case errors.Is(err, sasl.ErrRefused):
		c.loginsRefused.Add(1)
	case errors.Is(err, sasl.ErrUnavailable):
		c.loginsUnavailable.Add(1)
	}
}
