// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

import (
	"errors"
	"sync/atomic"
)

// Stats are how many tokens a Gate was asked about, by what came of it. Unavailable: they could not be checked in time. Of who did
// not wait for the answer nothing is counted.
type Stats struct{ Accepted, Refused, Unavailable uint64 }

type counts struct{ accepted, refused, unavailable atomic.Uint64 }

// Stats returns them.
func (g *Gate) Stats() Stats {
	return Stats{g.counts.accepted.Load(), g.counts.refused.Load(), g.counts.unavailable.Load()}
}

func (c *counts) login(err error) {
	switch {
	case err == nil:
		c.accepted.Add(1)
	case errors.Is(err, ErrRefused):
		c.refused.Add(1)
	case errors.Is(err, ErrUnavailable):
		c.unavailable.Add(1)
	}
}
