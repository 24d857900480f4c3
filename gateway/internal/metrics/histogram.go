// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the histograms' buckets: from what an answer out of memory takes to the longest wait that a
// client is allowed.
func bounds() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		ms, 2500 * time.Microsecond, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	}
}

// buckets is how many bounds there are.
const buckets = 17

// scale finds buckets.
type scale [buckets]int64 // ns

func newScale() *scale {
	var s scale
	for i, b := range bounds() {
		s[i] = int64(b)
	}
	return &s
}

// find returns the first bucket that d fits in; buckets: it fits in none. Most durations are short.
func (s *scale) find(d int64) int {
	i := 0
	for i < buckets && d > s[i] {
		i++
	}
	return i
}

// histogram counts durations. Unlike the library's it adds whole nanoseconds, which needs no loop, and is not read while
// requests are answered as one moment: a scrape may see a count and not yet its part of the sum.
type histogram struct {
	counts [buckets + 1]atomic.Uint64 // the last: larger than all bounds
	sum    atomic.Int64               // ns
}

func (h *histogram) observe(s *scale, d time.Duration) {
	h.counts[s.find(int64(d))].Add(1)
	h.sum.Add(int64(d))
}

// read returns how many durations there were, their sum in seconds, and how many were within each bound, in seconds.
func (h *histogram) read() (count uint64, sum float64, within map[float64]uint64) {
	within = make(map[float64]uint64, buckets)
	for i, bound := range bounds() {
		count += h.counts[i].Load()
		within[bound.Seconds()] = count
	}
	return count + h.counts[buckets].Load(), time.Duration(h.sum.Load()).Seconds(), within
}
