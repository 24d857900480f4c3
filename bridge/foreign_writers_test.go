// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Native producers that write faster than the gateway reads do not keep idempotent ones from writing.
func TestFastForeignWriters(t *testing.T) {
	inBubble(t, func(c *Config) { c.TailMin, c.TailMax = 1000, 2000 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "t", 1)
		f.with(func() {
			f.foreign("t", 0, 5000)
			f.fault = func(code iggywire.Code) fault {
				if code == iggywire.CodePollMessages {
					return slow
				}
				return behave
			}
		})
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond):
					f.with(func() { f.foreign("t", 0, 6000) })
				}
			}
		}()
		if _, err := write(t, b, top, 0, idempotent(b, 7, 0, 0, 1)); err != nil {
			t.Error(err)
		}
	})
}
