// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
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

// While one send is in flight the next batches gather: 100 batches need far fewer than 100 sends, and keep their order.
func TestGroupCommit(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
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
		if sends := f.asked(iggywire.CodeSendMessages); sends > 5 {
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

// A send whose answer is lost: the messages tell what became of it. What was not executed is sent again, if there is time to
// be sure of that. Nothing is written twice.
func TestLostAnswers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		code     iggywire.Code
		what     fault
		patience time.Duration
		class    error // nil: acknowledged
	}{
		{"connection lost after the send", iggywire.CodeSendMessages, dropAfter, 20 * time.Second, nil},
		{"answer to the send cut", iggywire.CodeSendMessages, cut, 20 * time.Second, nil},
		{"answer to the send is garbage", iggywire.CodeSendMessages, garbage, 20 * time.Second, nil},
		{"connection lost at the verifying poll", iggywire.CodePollMessages, dropAfter, 20 * time.Second, nil},
		{"verifying poll answered by garbage", iggywire.CodePollMessages, garbage, 20 * time.Second, nil},
		{"verifying poll never answered", iggywire.CodePollMessages, hang, 20 * time.Second, nil},
		{"session forgotten", iggywire.CodeSendMessages, unauthed, 20 * time.Second, nil},
		{"connection lost before the send", iggywire.CodeSendMessages, dropBefore, 20 * time.Second, nil},
		{"connection lost before the send, hasty", iggywire.CodeSendMessages, dropBefore, settleTime - settlePause, ErrUnknownOutcome},
		{"send never answered nor executed", iggywire.CodeSendMessages, hang, 20 * time.Second, nil},
		{"send never answered nor executed, hasty", iggywire.CodeSendMessages, hang, 5 * time.Second, ErrUnknownOutcome},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				if _, err := write(t, b, top, 0, batch(b, 1, 3)); err != nil {
					t.Fatal(err)
				}
				f.once(tc.code, tc.what)
				a := batch(b, 2, 2)
				a.Deadline = time.Now().Add(tc.patience)
				got, err := write(t, b, top, 0, a)
				if !errors.Is(err, tc.class) {
					t.Fatalf("%v; want %v", err, tc.class)
				}
				want := 3
				if tc.class == nil {
					want = 5
					if got.BaseOffset != 3 {
						t.Errorf("base %d, want 3", got.BaseOffset)
					}
				}
				f.setFault(nil)
				if got, err := write(t, b, top, 0, batch(b, 3, 1)); err != nil || got.BaseOffset != int64(want) {
					t.Fatalf("next: base %d, %v; want %d", got.BaseOffset, err, want)
				}
				if n := len(f.partition("orders", 0).messages); n != want+1 {
					t.Errorf("%d messages stored, want %d", n, want+1)
				}
			})
		})
	}
}

// A send is confirmed, and lost before anybody could see where it was: it is sent again.
func TestConfirmedAndLost(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault fault // of the verifying poll
	}{{"seen by the verifying poll", behave}, {"the connection is lost as well", dropBefore}} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				expect(t, b, top, batch(b, 1, 3), "at 0")
				f.once(iggywire.CodePollMessages, tc.fault)
				f.with(func() {
					lost := false
					f.after = func(code iggywire.Code) {
						if p := f.partition("orders", 0); code == iggywire.CodeSendMessages && !lost {
							p.messages, lost = p.messages[:2], true
						}
					}
				})
				time.Sleep(time.Millisecond)
				expectAll(t, b, top, []*Append{batch(b, 2, 2), idempotent(b, 7, 0, 0, 2)}, "at 2", "at 4")
				if n := len(f.stored("orders")); n != 6 {
					t.Errorf("%d messages", n)
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
			sends++
			// The first send carries the first batch alone or all three; then they come one by one.
			if sends <= 1 || sends == 3 {
				return refuse
			}
			return behave
		})
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
		if diff := cmp.Diff([]string{"0 false", "0 true", "1 false"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Iggy unreachable: at once an error that says that nothing was written; when it is back, the lane goes on.
func TestUnreachable(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.mu.Lock()
		f.down = true
		for c := range f.conns {
			_ = c.Close()
		}
		f.mu.Unlock()
		synctest.Wait()
		start := time.Now()
		_, err := write(t, b, top, 0, batch(b, 1, 1))
		if !errors.Is(err, ErrUnavailable) || !IsRetryable(err) || IsUnknownOutcome(err) {
			t.Fatalf("%v; want ErrUnavailable", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %v", took)
		}
		f.mu.Lock()
		f.down = false
		f.mu.Unlock()
		time.Sleep(redialMax)
		if got, err := write(t, b, top, 0, batch(b, 2, 1)); err != nil || got.BaseOffset != 0 {
			t.Fatalf("after the return: %v %v", got, err)
		}
	})
}

// An Iggy that accepts and never answers: callers get their answer at their own deadline, the connection is thrown
// away when it counts as hung, and things go on when Iggy does.
func TestHungIggy(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(iggywire.Code) fault { return hang })
		start := time.Now()
		a := batch(b, 1, 1)
		a.Deadline = start.Add(time.Second)
		if err := b.Append(top, 0, a); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), a.Deadline)
		defer cancel()
		_, err := a.Wait(ctx)
		if took := time.Since(start); err == nil || took > 1100*time.Millisecond {
			t.Fatalf("answered %v after %v; want an error within the deadline", err, took)
		}
		if _, err := b.Bounds(ctx, top); !IsTimeout(err) {
			t.Fatalf("Bounds: %v; want a timeout", err)
		}
		f.setFault(nil)
		time.Sleep(12 * time.Second) // beyond CallTimeout: the hung connections are gone
		if got, err := write(t, b, top, 0, batch(b, 2, 1)); err != nil || got.BaseOffset != 0 {
			t.Fatalf("after the return: %v %v", got, err)
		}
	})
}

// A batch whose client gave up before it was sent is not written any more.
func TestExpiredBatchIsNotWritten(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		released := 0
		a := batch(b, 1, 1)
		a.Deadline = time.Now()
		a.Release = func() { released++ }
		if _, err := write(t, b, top, 0, a); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v; want deadline exceeded", err)
		}
		synctest.Wait()
		if n := len(f.partition("orders", 0).messages); n != 0 || released != 1 {
			t.Fatalf("%d messages written, released %d times", n, released)
		}
	})
}

// A send that nobody waits for any more may still be executed: nothing overtakes it, by whatever connection.
func TestNothingOvertakesAnOpenSend(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		f.once(iggywire.CodeSendMessages, slow)
		first := batch(b, 2, 1)
		first.Deadline = time.Now().Add(300 * time.Millisecond)
		if err := b.Append(top, 0, first); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), first.Deadline)
		defer cancel()
		if _, err := first.Wait(ctx); err == nil {
			t.Fatal("the slow send was answered in time")
		}
		// Another idle connection is at hand.
		if got, err := write(t, b, top, 0, batch(b, 3, 1)); err != nil || got.BaseOffset != 2 {
			t.Fatalf("base %d, %v; want 2, behind the slow one", got.BaseOffset, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, m := range f.partition("orders", 0).messages {
			if m[8] != byte(i+1) {
				t.Errorf("offset %d holds batch %d", i, m[8])
			}
		}
	})
}

// A batch whose client gives up while the lane still asks where the partition ends is not written; one that was gathered
// with it is.
func TestExpiredWhileTheLaneAsks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodeGetTopic {
				return slow
			}
			return behave
		})
		hasty, patient := batch(b, 1, 1), batch(b, 2, 1)
		hasty.Deadline = time.Now().Add(500 * time.Millisecond)
		for _, a := range []*Append{hasty, patient} {
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := patient.Wait(t.Context()); err != nil || got.BaseOffset != 0 {
			t.Errorf("patient: %d %v", got.BaseOffset, err)
		}
		if _, err := hasty.Wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hasty: %v", err)
		}
		if n := len(f.partition("orders", 0).messages); n != 1 {
			t.Errorf("%d messages written", n)
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
