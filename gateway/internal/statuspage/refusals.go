// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/lograte"
)

// refusals logs logins that were refused: who guesses passwords shows there, as he does at the Kafka listener. Names are left out:
// people type passwords into the wrong field. It is safe for concurrent use.
type refusals struct {
	log   *slog.Logger
	limit lograte.Limit
}

func (r *refusals) note(from netip.Addr) {
	if suppressed, ok := r.limit.Admit(time.Now()); ok {
		r.log.Info("a login to the status page was refused", "remote", from.String(), "suppressed", suppressed)
	}
}
