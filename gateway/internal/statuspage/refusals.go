// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// refusalEvery is how often the log tells of logins that were refused.
const refusalEvery = time.Second

// refusals logs logins that were refused: who guesses passwords shows there, as he does at the Kafka listener. Names are left out:
// people type passwords into the wrong field. It is safe for concurrent use.
type refusals struct {
	log *slog.Logger

	mu         sync.Mutex
	told       time.Time
	suppressed int // since then
}

func (r *refusals) note(from netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told.IsZero() && time.Since(r.told) < refusalEvery {
		r.suppressed++
		return
	}
	r.log.Info("a login to the status page was refused", "remote", from.String(), "suppressed", r.suppressed)
	r.told, r.suppressed = time.Now(), 0
}
