// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// pingAtOnce has a pool carry n calls at the same time, each a second long.
func pingAtOnce(t *testing.T, p *connPool, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			a, err := ask(t.Context(), p, iggywire.Bare(iggywire.CodePing), true)
			a.release()
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A pool that had to carry much for a moment goes back to the connections that it needs, although it goes on carrying a few calls,
// which are spread over all that there are. One that has to carry much keeps them.
func TestPoolShrinks(t *testing.T) {
	for name, tc := range map[string]struct {
		pool       func(*Bridge) *connPool
		peak       int // connections that a burst opens
		after      int // calls at a time, every second, for so long that idle connections go
		have, kept int
	}{
		"reads, no more calls":         {func(b *Bridge) *connPool { return b.self.reads }, 8, 0, 8, 1},
		"reads, some calls":            {func(b *Bridge) *connPool { return b.self.reads }, 8, busyCalls, 8, 1},
		"reads, a few calls more":      {func(b *Bridge) *connPool { return b.self.reads }, 8, busyCalls + 1, 8, 2},
		"reads, as many as before":     {func(b *Bridge) *connPool { return b.self.reads }, 8, 8 * busyCalls, 8, 8},
		"questions, no more calls":     {func(b *Bridge) *connPool { return b.control }, 2, 0, 2, 1},
		"questions, as many as before": {func(b *Bridge) *connPool { return b.control }, 2, 2 * busyCalls, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			const idle = time.Minute
			inBubble(t, func(c *Config) { c.IdleTimeout = idle }, func(t *testing.T, f *fakeIggy, b *Bridge) {
				f.setFault(func(code iggywire.Code) fault {
					if code == iggywire.CodePing {
						return slow
					}
					return behave
				})
				pool := tc.pool(b)
				for range tc.peak + 1 { // each opens one more at most
					pingAtOnce(t, pool, busyCalls*tc.peak)
				}
				if n := pool.count(); n != tc.have {
					t.Errorf("%d connections after a burst, want %d", n, tc.have)
				}
				for began := time.Now(); time.Since(began) < 2*idle; time.Sleep(time.Second) {
					pingAtOnce(t, pool, tc.after)
				}
				synctest.Wait()
				if n := pool.count(); n != tc.kept {
					t.Errorf("%d connections in the end, want %d", n, tc.kept)
				}
				if n := b.epoch.Load(); n != 0 {
					t.Errorf("%d connections counted as lost", n)
				}
			})
		})
	}
}
