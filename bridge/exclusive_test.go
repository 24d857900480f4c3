// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import "testing"

// The gateway's own topics are never exclusive, whatever the setting says: by where its records lie in the state log a gateway
// sees that another one has taken over.
func TestInternalTopicsAreNotExclusive(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.Exclusive = func(string) bool { return true }
		c.InternalTopics = []string{"state"}
	}, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "state", 1)
		for i, want := range []int64{0, 6} {
			got, err := write(t, b, top, 0, batch(b, byte(i+1), 1))
			if err != nil || got.BaseOffset != want {
				t.Errorf("at %d, %v, want %d", got.BaseOffset, err, want)
			}
			f.with(func() { f.foreign("state", 0, 5) })
		}
	})
}
