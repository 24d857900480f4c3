// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package producers gives out Kafka producer ids.
package producers

import (
	"sync"
	"time"
)

const counterBits = 47

// IDs gives out producer ids that differ among all gateways and over restarts:
//
//	instance id (16 bits) << 47 | counter (47 bits)
//
// The counter is the wall clock in ms, or one more than the last id's, whichever is larger; 47 bits of ms last
// until the year 6429. It never goes back while the process lives, whatever the clock does; over a restart it relies
// on the clock alone.
type IDs struct {
	instance int64

	mu   sync.Mutex
	last int64 // counter of the newest id
}

// NewIDs returns the ids of one gateway; instance is its node id, 0 to 65535.
func NewIDs(instance int32) *IDs { return &IDs{instance: int64(instance) << counterBits} }

// Next returns a new id.
func (g *IDs) Next(now time.Time) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last+1, now.UnixMilli()&(1<<counterBits-1))
	return g.instance | g.last
}
