// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"math"
	"sync"
	"time"
)

const (
	// maxThrottle bounds one throttling. A broker has no such bound of its own, but closes a connection that was silent for
	// connections.max.idle.ms, 10 minutes: without one, a request far above its rate would keep a connection for days.
	maxThrottle = 10 * time.Minute
	// maxShares bounds how many rates of one kind are measured at a time, about 6 MiB. Past it one begins anew whenever another
	// is added: more of them than a gateway has connections are only there when a client makes up names.
	maxShares = 1 << 14
)

// traffic measures one kind of bytes.
type traffic struct {
	mu    sync.Mutex // guards what follows
	rates map[share]*rate
	swept int64 // when idle ones were last looked for, in ms
}

// charge counts the bytes of something that has happened, and returns for how long its client is throttled.
func (t *traffic) charge(who share, limit float64, bytes int, now int64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(who, now)
	r.add(float64(bytes), now)
	return r.above(limit, now)
}

// admit counts bytes unless they would go above the limit: then it returns for how long their client is throttled, and ok is
// false.
//
// What is more than the window ever has room for, however long its client waits, is counted once nothing else is in it, and its
// client throttled all the same. A broker never lets it through, and the consumer stands still for good: FetchMax keeps answers
// from being so large, but not a single record.
func (t *traffic) admit(who share, limit float64, bytes int, now int64) (throttle time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(who, now)
	before, _ := r.measure(now)
	r.add(float64(bytes), now)
	throttle = r.above(limit, now)
	if throttle == 0 || before == 0 && float64(bytes) > limit*wholeWindow {
		return throttle, true
	}
	r.add(-float64(bytes), now)
	return throttle, false
}

// of finds the rate of a share, or begins one. mu is held.
func (t *traffic) of(who share, now int64) *rate {
	r := t.rates[who]
	if r != nil {
		return r
	}
	if len(t.rates) >= maxShares {
		t.makeRoom(now)
	}
	if t.rates == nil {
		t.rates = map[share]*rate{}
	}
	r = new(rate)
	t.rates[who] = r
	return r
}

// makeRoom drops the rates to which nothing counts any more, or any one.
func (t *traffic) makeRoom(now int64) {
	if now-t.swept >= sampleMillis {
		t.swept = now
		for who, r := range t.rates {
			if r.idle(now) {
				delete(t.rates, who)
			}
		}
	}
	for who := range t.rates {
		if len(t.rates) < maxShares {
			return
		}
		delete(t.rates, who)
	}
}

// forget drops all rates.
func (t *traffic) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rates = nil
}

// room is how many bytes may come at once without being throttled when nothing came before.
func room(limit float64) int {
	return int(min(limit*firstWindow, math.MaxInt32))
}
