// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func TestAppendsInOrder(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 2)
		next := int64(0)
		for i := range 5 {
			got, err := write(t, b, top, 1, batch(b, byte(i), i+1))
			if err != nil || got.BaseOffset != next {
				t.Fatalf("batch %d: base %d, %v; want base %d", i, got.BaseOffset, err, next)
			}
			next += int64(i + 1)
		}
		if n := len(f.partition("orders", 0).messages); n != 0 {
			t.Fatalf("partition 0 got %d messages", n)
		}
	})
}

// While one send is in flight the next batches gather: the rest of 100 go out with one more, and keep their order.
func TestGroupCommit(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.once(iggywire.CodeSendMessages, slow) // the others gather meanwhile
		var all []*Append
		for i := range 100 {
			a := batch(b, byte(i), 2)
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
		}
		for i, a := range all {
			got, err := a.Wait(t.Context())
			if err != nil || got.BaseOffset != int64(2*i) {
				t.Fatalf("batch %d: base %d, %v; want %d", i, got.BaseOffset, err, 2*i)
			}
		}
		if sends := f.asked(iggywire.CodeSendMessages); sends > 2 {
			t.Errorf("100 batches took %d sends", sends)
		}
		if polls, sends := f.asked(iggywire.CodePollMessages), f.asked(iggywire.CodeSendMessages); polls != sends {
			t.Errorf("%d verifying polls for %d sends", polls, sends)
		}
	})
}

// One send holds at most 4,096 messages or 1 MiB of whole batches.
func TestGatheringIsBounded(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		var all []*Append
		for i := range 10 {
			a := batch(b, byte(i), 2000)
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
		}
		for _, a := range all {
			if _, err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if sends := f.asked(iggywire.CodeSendMessages); sends < 5 {
			t.Errorf("20,000 messages went out in %d sends", sends)
		}
	})
}

// What a native producer writes in between, a partition that went back, and a purge: the base offset is where the
// messages are, whatever the lane expected.
func TestBaseOffsetIsWhereTheMessagesAre(t *testing.T) {
	for _, tc := range []struct {
		name    string
		disturb func(f *fakeIggy) // runs between the send and the verifying poll when after, else before the send
		after   bool
		want    int64
	}{
		{"nobody else", func(*fakeIggy) {}, false, 10},
		{"others before the send", func(f *fakeIggy) { f.foreign("orders", 0, 3) }, false, 13},
		{"others after the send", func(f *fakeIggy) { f.foreign("orders", 0, 3) }, true, 10},
		{"many others before the send", func(f *fakeIggy) { f.foreign("orders", 0, 2500) }, false, 2510},
		{"partition went back", func(f *fakeIggy) { p := f.partition("orders", 0); p.messages = p.messages[:4] }, false, 4},
		{"partition emptied", func(f *fakeIggy) { f.partition("orders", 0).messages = nil }, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				if _, err := write(t, b, top, 0, batch(b, 1, 10)); err != nil {
					t.Fatal(err)
				}
				f.mu.Lock()
				if tc.after {
					f.after = func(code iggywire.Code) {
						if code == iggywire.CodeSendMessages {
							tc.disturb(f)
						}
					}
				} else {
					tc.disturb(f)
				}
				f.mu.Unlock()
				got, err := write(t, b, top, 0, batch(b, 2, 5))
				if err != nil || got.BaseOffset != tc.want {
					t.Fatalf("base %d, %v; want %d", got.BaseOffset, err, tc.want)
				}
				// And the lane goes on from there.
				f.mu.Lock()
				f.after = nil
				f.mu.Unlock()
				end := f.partition("orders", 0).current() + 1
				if got, err := write(t, b, top, 0, batch(b, 3, 1)); err != nil || got.BaseOffset != int64(end) {
					t.Fatalf("next base %d, %v; want %d", got.BaseOffset, err, end)
				}
			})
		})
	}
}

// A gathered send that Iggy refuses is repeated batch by batch: only the bad one fails.
func TestOneBadBatchFailsAlone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		sends := 0
		f.setFault(func(code iggywire.Code) fault {
			if code != iggywire.CodeSendMessages {
				return behave
			}
			switch sends++; sends {
			case 1: // the others gather meanwhile
				return slow
			case 2, 4: // all three, and the second of them
				return refuse
			}
			return behave
		})
		if err := b.Append(top, 0, batch(b, 0, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all := []*Append{batch(b, 1, 1), batch(b, 2, 1), batch(b, 3, 1)}
		for _, a := range all {
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		var got []string
		for _, a := range all {
			res, err := a.Wait(t.Context())
			got = append(got, fmt.Sprintf("%d %v", res.BaseOffset, IsTooLarge(err)))
		}
		if diff := cmp.Diff([]string{"1 false", "0 true", "2 false"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// To learn the log start anew is no reason for a write to wait.
func TestWritesDoNotWaitForTheLogStart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodeGetTopic {
				return hang
			}
			return behave
		})
		start := time.Now()
		if _, err := write(t, b, top, 0, batch(b, 2, 1)); err != nil || time.Since(start) > 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestLaneBounds(t *testing.T) {
	inBubble(t, func(c *Config) { c.LaneQueue = 3 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(iggywire.Code) fault { return hang })
		full := 0
		for i := range 10 {
			if err := b.Append(top, 0, batch(b, byte(i), 1)); errors.Is(err, ErrBusy) {
				full++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if full == 0 || full == 10 {
			t.Errorf("%d of 10 batches refused with a queue of 3", full)
		}
		if err := b.Append(top, 1, batch(b, 1, 1)); !errors.Is(err, ErrPartitionNotFound) {
			t.Errorf("partition 1 of 1: %v", err)
		}
		f.setFault(nil)
	})
}

// A lane with nothing to do goes, and comes back when it is needed.
func TestIdleLaneGoes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		lane := func() *lane {
			st := b.states.of(top)
			st.mu.Lock()
			defer st.mu.Unlock()
			return st.part(0).lane
		}
		time.Sleep(9 * time.Minute)
		if lane() == nil {
			t.Fatal("gone after 9 minutes")
		}
		time.Sleep(2 * time.Minute)
		if lane() != nil {
			t.Fatal("still there after 11 minutes")
		}
		if got, err := write(t, b, top, 0, batch(b, 2, 1)); err != nil || got.BaseOffset != 1 {
			t.Fatalf("%v %v", got, err)
		}
	})
}

// Deleting a topic ends its lanes, and a topic of the same name is another one.
func TestRecreatedTopic(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		old := topic(t, b, "orders", 1)
		if _, err := write(t, b, old, 0, batch(b, 1, 5)); err != nil {
			t.Fatal(err)
		}
		if err := b.DeleteTopic(t.Context(), b.Self(), old); err != nil {
			t.Fatal(err)
		}
		fresh := topic(t, b, "orders", 1)
		if fresh.ID == old.ID {
			t.Fatal("the same id for two topics")
		}
		if got, err := write(t, b, fresh, 0, batch(b, 2, 1)); err != nil || got.BaseOffset != 0 {
			t.Fatalf("new topic: %v %v", got, err)
		}
		if _, err := b.Bounds(t.Context(), old); !IsNotFound(err) {
			t.Fatalf("bounds of the old topic: %v", err)
		}
	})
}

func TestNewestTimestamp(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, _ *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, _, ok := b.NewestTimestamp(top, 0); ok {
			t.Fatal("a timestamp without records")
		}
		for i, ts := range []int64{50, 90, 70, 90} {
			a := batch(b, byte(i), 3)
			a.MaxTimestamp, a.MaxTimestampIndex = ts, 2
			if _, err := write(t, b, top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		if ts, offset, ok := b.NewestTimestamp(top, 0); !ok || ts != 90 || offset != 5 {
			t.Fatalf("%d at %d, %v; want 90 at 5", ts, offset, ok)
		}
	})
}
