// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

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

// A topic that nobody else writes to is not polled, until a connection is lost.
func TestExclusive(t *testing.T) {
	onlyMine := func(c *Config) { c.Exclusive = func(name string) bool { return name == "mine" } }
	inBubble(t, onlyMine, func(t *testing.T, f *fakeIggy, b *Bridge) {
		mine, shared := topic(t, b, "mine", 1), topic(t, b, "shared", 1)
		for i := range 5 {
			expect(t, b, mine, idempotent(b, 7, 0, int32(2*i), 2), fmt.Sprintf("at %d", 2*i))
		}
		if polls := f.asked(iggywire.CodePollMessages); polls != 0 {
			t.Errorf("%d polls", polls)
		}
		expect(t, b, mine, idempotent(b, 7, 0, 8, 2), "duplicate of 8, newest 10")
		expect(t, b, shared, idempotent(b, 7, 0, 0, 2), "at 0")
		if polls := f.asked(iggywire.CodePollMessages); polls != 1 {
			t.Errorf("%d polls", polls)
		}
		// Killed, it lost something.
		f.with(func() { p := f.partition("mine", 0); p.messages = p.messages[:6] })
		f.hangUp()
		expect(t, b, mine, idempotent(b, 7, 0, 10, 2), "at 6")
		expect(t, b, mine, idempotent(b, 7, 0, 4, 2), "duplicate of 4, newest 6")
		stamped := idempotent(b, 7, 0, 12, 1)
		stamped.StampTime = true
		if got, err := write(t, b, mine, 0, stamped); err != nil || got.BaseOffset != 8 || got.Timestamp < 0 {
			t.Errorf("%+v, %v", got, err)
		}
		// A connection is lost between the send and its answer.
		f.with(func() {
			f.after = func(code iggywire.Code) {
				if code == iggywire.CodeSendMessages {
					b.connLost(errors.New("another one"))
				}
			}
		})
		polls := f.asked(iggywire.CodePollMessages)
		expect(t, b, mine, idempotent(b, 7, 0, 13, 1), "at 9")
		if f.asked(iggywire.CodePollMessages) == polls {
			t.Error("not verified")
		}
	})
}
