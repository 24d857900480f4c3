// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// cut is a server that was killed and comes back without its newest messages. mu must be held.
func (f *fakeIggy) cut(topic string, end int) {
	p := f.partition(topic, 0)
	p.messages = p.messages[:end:end]
	for c := range f.conns {
		_ = c.Close()
	}
}

// A batch was written, but nobody could tell its producer; then the store loses it. The batches that the producer has sent
// behind it, or had in flight with it, wait for it to come again, whatever the lane has seen meanwhile.
func TestUntoldAndLost(t *testing.T) {
	untold := func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
		t.Helper()
		expect(t, b, top, idempotent(b, 7, 0, 0, 2), "at 0")
		failed := false
		f.setFault(func(code iggywire.Code) fault {
			switch {
			case failed:
				return hang
			case code == iggywire.CodeSendMessages:
				failed = true
				return dropAfter
			}
			return behave
		})
		a := idempotent(b, 7, 0, 2, 2)
		a.Deadline = time.Now().Add(time.Second)
		expect(t, b, top, a, "unknown")
		f.setFault(nil)
		time.Sleep(12 * time.Second) // beyond CallTimeout
	}
	t.Run("when it was seen", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			untold(t, f, b, top)
			if _, err := b.Producers(t.Context(), top, 0); err != nil {
				t.Fatal(err)
			}
			f.with(func() { f.cut("orders", 2) })
			synctest.Wait()
			time.Sleep(redialMax)
			expect(t, b, top, idempotent(b, 7, 0, 4, 2), "out of order")
			expect(t, b, top, idempotent(b, 7, 0, 2, 2), "at 2")
			expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
		})
	})
	t.Run("with what was told behind it", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			untold(t, f, b, top)
			expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
			f.with(func() { f.cut("orders", 2) })
			synctest.Wait()
			time.Sleep(redialMax)
			expect(t, b, top, idempotent(b, 7, 0, 6, 2), "out of order")
			expect(t, b, top, idempotent(b, 7, 0, 2, 2), "at 2")
			expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
			expect(t, b, top, idempotent(b, 7, 0, 6, 2), "at 6")
		})
	})
	t.Run("before a send that is to be repeated", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			untold(t, f, b, top)
			f.setFault(func(code iggywire.Code) fault {
				if code != iggywire.CodeSendMessages {
					return behave
				}
				f.fault = nil
				f.cut("orders", 2)
				return dropBefore
			})
			expectAll(t, b, top, []*Append{idempotent(b, 7, 0, 4, 2), idempotent(b, 7, 0, 2, 2), idempotent(b, 7, 0, 4, 2)},
				"out of order", "at 2", "at 4")
		})
	})
}

// The store loses what the lane knows, at whatever moment between two batches: the second one's connection, which may be a new one,
// must not bring it behind the gap.
func TestLostBeforeTheSend(t *testing.T) {
	// known is a producer of whom the lane knows more than he was told.
	known := func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
		t.Helper()
		expect(t, b, top, idempotent(b, 7, 0, 0, 2), "at 0")
		b.Refused(top, 0, idempotent(b, 7, 0, 2, 2).Producer)
		f.with(func() { f.appendIDs(7, 0, 2, 2) }) // another gateway's
		expect(t, b, top, idempotent(b, 7, 0, 6, 2), "out of order")
	}
	lose := func(f *fakeIggy) {
		p := f.partition("orders", 0)
		p.messages = p.messages[:2:2]
	}
	goesOn := func(t *testing.T, b *Bridge, top *Topic) {
		t.Helper()
		got := outcome(write(t, b, top, 0, idempotent(b, 7, 0, 4, 2)))
		if got == "unavailable" { // the partition went back between two looks of one try
			got = outcome(write(t, b, top, 0, idempotent(b, 7, 0, 4, 2)))
		}
		if got != "out of order" {
			t.Errorf("behind the gap: %s", got)
		}
		expect(t, b, top, idempotent(b, 7, 0, 2, 2), "at 2")
		expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
	}
	for nth := range 3 { // for writing, for control, for reading, in whatever order
		t.Run(fmt.Sprintf("behind %d dials", nth), func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				known(t, f, b, top)
				f.hangUp()
				logins := 0
				f.setFault(func(code iggywire.Code) fault {
					if code != iggywire.CodeLoginUser {
						return behave
					}
					if logins++; logins == nth+1 {
						lose(f)
					}
					return slow // of two answers of one moment the higher end counts
				})
				goesOn(t, b, top)
			})
		})
	}
	// No connection's loss was noticed: only that the batch's is a new one tells.
	t.Run("unnoticed", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 5)
			known(t, f, b, top)
			f.setFault(func(code iggywire.Code) fault {
				if code == iggywire.CodeSendMessages {
					return slow
				}
				return behave
			})
			for p := range int32(4) { // so busy that the pool dials another connection
				if err := b.Append(top, p+1, batch(b, 1, 1)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			f.setFault(nil)
			f.with(func() { lose(f) })
			time.Sleep(time.Millisecond)
			goesOn(t, b, top)
		})
	})
}
