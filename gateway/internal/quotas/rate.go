// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"math"
	"time"
)

// Kafka's window, as its defaults quota.window.num and quota.window.size.seconds have it.
const (
	samples    = 11
	sampleTime = time.Second

	sampleMillis = int64(sampleTime / time.Millisecond)
	windowMillis = samples * sampleMillis
	// The window in seconds, at its longest, and as it begins: what may come at once is the rate times the latter.
	wholeWindow = float64(samples * sampleMillis / 1000)
	firstWindow = float64((samples - 1) * sampleMillis / 1000)
)

// rate measures bytes per second over the last samples (org.apache.kafka.common.metrics.stats.Rate over SampledStat). There is
// one sample more than the window has, so that the oldest is whole for as long as any of it is in the window. Times are in ms
// since any moment; they do not go back. The zero rate has no samples yet.
type rate struct {
	samples [samples + 1]sample
	n       int // samples in use
	current int
}

// sample is what came within a second of its start. One that nothing came to within the window begins anew.
type sample struct {
	start, last int64
	bytes       float64
}

// add counts bytes at a time; less than 0 takes back what was counted.
func (r *rate) add(bytes float64, now int64) {
	if r.n == 0 {
		r.samples[0], r.n = sample{start: now}, 1
	}
	if now-r.samples[r.current].start >= sampleMillis {
		r.current = (r.current + 1) % len(r.samples)
		r.n = max(r.n, r.current+1)
		r.samples[r.current] = sample{start: now}
	}
	s := &r.samples[r.current]
	s.bytes += bytes
	s.last = now
}

// measure returns the bytes in the window and how long it is, in ms: the time since its oldest sample began, and at least all
// its samples but one, so that the first bytes are no infinite rate.
func (r *rate) measure(now int64) (bytes float64, length int64) {
	oldest := now
	for i := range r.samples[:r.n] {
		s := &r.samples[i]
		if now-s.last >= windowMillis {
			*s = sample{start: now, last: now}
		}
		bytes += s.bytes
		oldest = min(oldest, s.start)
	}
	length = now - oldest
	if missing := samples - 1 - length/sampleMillis; missing > 0 {
		length += missing * sampleMillis
	}
	return bytes, length
}

// idle says that nothing of what came is in the window any more.
func (r *rate) idle(now int64) bool { return now-r.samples[r.current].last >= windowMillis }

// above returns how long it takes, without further bytes, until what was counted is no more than a rate in bytes per second:
// QuotaUtils.throttleTime. 0: it is not above it.
func (r *rate) above(limit float64, now int64) time.Duration {
	bytes, length := r.measure(now)
	over := bytes*1000/limit - float64(length)
	if over <= 0 {
		return 0
	}
	return time.Duration(min(math.Round(over), float64(maxThrottle.Milliseconds()))) * time.Millisecond
}
