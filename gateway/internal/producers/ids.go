// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package producers gives out Kafka producer ids.
package producers

import (
	"context"
	"fmt"
	"time"
)

const (
	counterBits = 47
	// blockSize is how many counters are reserved at once: so many ids a reservation is worth, and a restart leaves out.
	blockSize = 1000
)

// Reserve gives out n counters that were never given out before: first and the following. first is not below least.
type Reserve func(ctx context.Context, least, n int64) (first int64, err error)

// IDs gives out producer ids that differ among all gateways and over restarts:
//
//	instance id (16 bits) << 47 | counter (47 bits)
//
// Counters come in blocks from a Reserve that remembers them. Each block begins at the wall clock in ms at least, so that
// ids do not repeat when that memory is lost, either; 47 bits of ms last until the year 6429. Next is safe for concurrent
// use.
type IDs struct {
	instance int64
	reserve  Reserve

	// token is held by the one who uses what follows.
	token     chan struct{}
	next, end int64
}

// NewIDs returns the ids of one gateway; instance is its node id, 0 to 65535.
func NewIDs(instance int32, reserve Reserve) *IDs {
	return &IDs{instance: int64(instance) << counterBits, reserve: reserve, token: make(chan struct{}, 1)}
}

// Next returns a new id. The error is ctx's or Reserve's.
func (g *IDs) Next(ctx context.Context, now time.Time) (int64, error) {
	select {
	case g.token <- struct{}{}:
		defer func() { <-g.token }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if g.next == g.end {
		first, err := g.reserve(ctx, max(now.UnixMilli(), 0), blockSize)
		if err != nil {
			return 0, fmt.Errorf("producers: reserve ids: %w", err)
		}
		g.next, g.end = first, first+blockSize
	}
	id := g.instance | g.next&(1<<counterBits-1)
	g.next++
	return id, nil
}

// Forgetful returns a Reserve that remembers as long as the process lives. It is not safe for concurrent use; IDs does not
// use it so.
func Forgetful() Reserve {
	var next int64
	return func(_ context.Context, least, n int64) (int64, error) {
		first := max(next, least)
		next = first + n
		return first, nil
	}
}
