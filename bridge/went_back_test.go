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

// What the store has lost is no duplicate, though its offsets were given to others meanwhile: a producer who sends it again, not
// having been told of it or because its client has a broker's word for a loss, has it written. What is left is one.
func TestLostBatchesAreWrittenAgain(t *testing.T) {
	for _, back := range goneBack {
		for _, foreign := range []int{0, 4 - back.kept, 40} { // short of what was the end, up to it, beyond
			for noticed, notice := range map[string]func(*testing.T, *fakeIggy, *Bridge, *Topic){
				"a lost connection": func(_ *testing.T, f *fakeIggy, _ *Bridge, _ *Topic) { f.hangUp() },
				"a lost connection, then a write of another producer": func(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
					f.hangUp()
					expect(t, b, top, batch(b, 1, 1), fmt.Sprintf("at %d", len(f.stored("orders"))))
				},
				"a new connection": anotherConnection,
			} {
				t.Run(fmt.Sprintf("%s, %d others, %s", back.name, foreign, noticed), func(t *testing.T) {
					inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
						top := topic(t, b, "orders", 5)
						threeBatches(t, b, top)
						f.with(func() {
							p := f.partition("orders", 0)
							p.messages = p.messages[:back.kept:back.kept]
							f.foreign("orders", 0, foreign)
						})
						time.Sleep(time.Millisecond) // of two answers of one moment the higher end counts
						notice(t, f, b, top)
						againAndOn(t, f, b, top, back.kept)
					})
				})
			}
		}
	}
}

// goneBack is how far the partition of threeBatches goes back.
var goneBack = []struct {
	name string
	kept int // messages
}{{"by a batch of one record", 3}, {"by two of them", 2}, {"into a batch", 1}, {"by all", 0}}

// threeBatches writes batches of one producer, at 0, 2 and 3.
func threeBatches(t *testing.T, b *Bridge, top *Topic) {
	t.Helper()
	expect(t, b, top, idempotent(b, 7, 0, 0, 2), "at 0")
	expect(t, b, top, idempotent(b, 7, 0, 2, 1), "at 2")
	expect(t, b, top, idempotent(b, 7, 0, 3, 1), "at 3")
}

// againAndOn sends the three batches again, of which so many messages were kept, and one behind them.
func againAndOn(t *testing.T, f *fakeIggy, b *Bridge, top *Topic, kept int) {
	t.Helper()
	for _, sent := range []struct{ first, n int }{{0, 2}, {2, 1}, {3, 1}, {4, 1}} {
		want := fmt.Sprintf("duplicate of %d, newest %d", sent.first, sent.first+sent.n)
		if sent.first+sent.n > kept {
			want = fmt.Sprintf("at %d", len(f.stored("orders")))
		}
		expect(t, b, top, idempotent(b, 7, 0, int32(sent.first), sent.n), want)
	}
}

// Nobody notices that the partition went back, until the lane's own write lies in place of what is lost: up to what was the end.
func TestOwnWriteInPlaceOfTheLost(t *testing.T) {
	for _, back := range goneBack {
		t.Run(back.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				threeBatches(t, b, top)
				f.with(func() { p := f.partition("orders", 0); p.messages = p.messages[:back.kept:back.kept] })
				time.Sleep(time.Millisecond) // of two answers of one moment the higher end counts
				expect(t, b, top, batch(b, 1, 4-back.kept), fmt.Sprintf("at %d", back.kept))
				againAndOn(t, f, b, top, back.kept)
			})
		})
	}
}

// The partition goes back while a new lane reads its tail: what it has read of that is no duplicate.
func TestGoesBackWhileTheTailIsRead(t *testing.T) {
	inBubble(t, func(c *Config) { c.TailMin = 50_000 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.with(func() {
			f.appendIDs(7, 0, 0, 2)
			f.foreign("orders", 0, 40_000)
			polls := 0
			f.after = func(code iggywire.Code) {
				if code != iggywire.CodePollMessages {
					return
				}
				if polls++; polls == 2 {
					f.partition("orders", 0).messages = nil
				}
			}
		})
		got := outcome(write(t, b, top, 0, idempotent(b, 7, 0, 0, 2)))
		if got == "unavailable" { // and sent again
			time.Sleep(time.Millisecond) // of two answers of one moment the higher end counts
			got = outcome(write(t, b, top, 0, idempotent(b, 7, 0, 0, 2)))
		}
		if got != "at 0" || f.polled < 100 {
			t.Errorf("%s, %d messages read", got, f.polled)
		}
	})
}

// anotherConnection keeps the connections for writes so busy that the pool dials another one.
func anotherConnection(t *testing.T, f *fakeIggy, b *Bridge, top *Topic) {
	t.Helper()
	f.setFault(func(code iggywire.Code) fault {
		if code == iggywire.CodeSendMessages {
			return slow
		}
		return behave
	})
	dialled := f.dials
	for p := range int32(busyCalls) {
		if err := b.Append(top, p+1, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	f.setFault(nil)
	time.Sleep(time.Millisecond)
	f.with(func() {
		if f.dials == dialled {
			t.Error("no other connection was dialled")
		}
	})
}
