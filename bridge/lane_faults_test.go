// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

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
