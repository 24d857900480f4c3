// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func TestDeduplication(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		expect(t, b, top, idempotent(b, 7, 0, 0, 3), "at 0")
		expect(t, b, top, idempotent(b, 7, 0, 3, 2), "at 3")
		expect(t, b, top, idempotent(b, 7, 0, 0, 3), "duplicate of 0, newest 3")
		expect(t, b, top, idempotent(b, 7, 0, 3, 2), "duplicate of 3, newest 5")
		expect(t, b, top, idempotent(b, 7, 0, 6, 2), "out of order")
		expect(t, b, top, idempotent(b, 7, 0, 3, 3), "out of order")
		expect(t, b, top, batch(b, 1, 2), "at 5")
		expect(t, b, top, idempotent(b, 7, 0, 5, 1), "at 7")
		expect(t, b, top, idempotent(b, 7, 1, 6, 1), "out of order")
		expect(t, b, top, idempotent(b, 7, 1, 0, 1), "at 8")
		expect(t, b, top, idempotent(b, 7, 0, 5, 1), "invalid epoch")
		expect(t, b, top, idempotent(b, 8, 3, 100, 1), "at 9")
		states, err := b.Producers(t.Context(), top, 0)
		want := []ProducerState{{7, 1, 0, 1}, {8, 3, 100, 101}}
		if diff := cmp.Diff(want, states); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// Deduplication costs neither a poll nor a wait when nobody else writes, and a lane without idempotent producers reads nothing.
func TestDeduplicationAsksNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		next func(b *Bridge, i int) *Append
	}{
		{"idempotent", func(b *Bridge, i int) *Append { return idempotent(b, 7, 0, int32(3*i), 3) }},
		{"not", func(b *Bridge, i int) *Append { return batch(b, byte(i), 3) }},
		{"both", func(b *Bridge, i int) *Append {
			if i%2 == 0 {
				return batch(b, byte(i), 3)
			}
			return idempotent(b, 7, 0, int32(3*(i/2)), 3)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				for i := range 20 {
					if _, err := write(t, b, top, 0, tc.next(b, i)); err != nil {
						t.Fatal(err)
					}
				}
				if sends, polls := f.asked(iggywire.CodeSendMessages), f.asked(iggywire.CodePollMessages); sends != 20 || polls != 20 {
					t.Errorf("%d sends, %d polls", sends, polls)
				}
			})
		})
	}
	t.Run("not, in a topic with a tail", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			f.with(func() { f.foreign("orders", 0, 100) })
			expect(t, b, top, batch(b, 1, 1), "at 100")
			if polls := f.asked(iggywire.CodePollMessages); polls != 1 {
				t.Errorf("%d polls", polls)
			}
		})
	})
}

// Batches that wait together: each is judged as if those before it were written, unless that is open.
func TestGathered(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.once(iggywire.CodeSendMessages, slow) // the others gather meanwhile
		expectAll(t, b, top, []*Append{
			batch(b, 1, 1),
			idempotent(b, 7, 0, 0, 2),
			idempotent(b, 8, 0, 0, 1),
			idempotent(b, 7, 0, 2, 2),
			batch(b, 2, 1),
			idempotent(b, 7, 0, 0, 2), // retries of what is queued
			idempotent(b, 7, 0, 2, 2),
			idempotent(b, 7, 0, 4, 1),
			idempotent(b, 8, 0, 2, 1), // a gap
			idempotent(b, 8, 0, 1, 1), // and what it lacked
			idempotent(b, 8, 0, 2, 1),
			idempotent(b, 7, 1, 0, 1),
			idempotent(b, 7, 0, 5, 1),
		}, "at 0", "at 1", "at 3", "at 4", "at 6", "duplicate of 1, newest 2", "duplicate of 4, newest 4", "at 7", "out of order",
			"at 8", "at 9", "at 10", "invalid epoch")
		if sends := f.asked(iggywire.CodeSendMessages); sends > 5 {
			t.Errorf("%d sends", sends)
		}
	})
}

// Five batches in flight come in the wrong order: what is not next is out of order, and the producer sends it again.
func TestReordered(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		expect(t, b, top, idempotent(b, 7, 0, 0, 1), "at 0")
		for _, first := range []int32{2, 4, 3, 5} {
			expect(t, b, top, idempotent(b, 7, 0, first, 1), "out of order")
		}
		for i, first := range []int32{1, 2, 3, 4, 5} {
			expect(t, b, top, idempotent(b, 7, 0, first, 1), fmt.Sprintf("at %d", i+1))
		}
		for _, first := range []int32{3, 1, 5, 2, 4} {
			expect(t, b, top, idempotent(b, 7, 0, first, 1), fmt.Sprintf("duplicate of %d, newest %d", first, first+1))
		}
	})
}

// A lost answer, a lost gateway, an idle lane: the producer's retry is found, and what is next is next.
func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		name string
		what func(t *testing.T, f *fakeIggy, b *Bridge) *Bridge
	}{
		{"nothing", func(_ *testing.T, _ *fakeIggy, b *Bridge) *Bridge { return b }},
		{"lost connections", func(_ *testing.T, f *fakeIggy, b *Bridge) *Bridge { f.hangUp(); return b }},
		{"idle lane", func(_ *testing.T, _ *fakeIggy, b *Bridge) *Bridge { time.Sleep(11 * time.Minute); return b }},
		{"gateway restart", func(t *testing.T, f *fakeIggy, _ *Bridge) *Bridge { return f.open(t, nil) }},
		{"gateway restart, others wrote", func(t *testing.T, f *fakeIggy, _ *Bridge) *Bridge {
			f.with(func() { f.foreign("orders", 0, 2000) })
			return f.open(t, nil)
		}},
		{"others wrote", func(t *testing.T, f *fakeIggy, b *Bridge) *Bridge {
			f.with(func() { f.foreign("orders", 0, 2000) })
			return b
		}},
		{"others wrote, lost connections", func(t *testing.T, f *fakeIggy, b *Bridge) *Bridge {
			f.with(func() { f.foreign("orders", 0, 2000) })
			f.hangUp()
			return b
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				f.with(func() { f.foreign("orders", 0, 3) })
				expect(t, b, top, idempotent(b, 7, 2, math.MaxInt32-2, 2), "at 3")
				expect(t, b, top, idempotent(b, 8, 0, 0, 4), "at 5")
				expect(t, b, top, idempotent(b, 7, 2, math.MaxInt32, 3), "at 9")
				b = tc.what(t, f, b)
				expect(t, b, top, idempotent(b, 7, 2, math.MaxInt32, 3), "duplicate of 9, newest 2147483648")
				expect(t, b, top, idempotent(b, 7, 2, math.MaxInt32-2, 2), "duplicate of 3, newest 2147483647")
				expect(t, b, top, idempotent(b, 7, 2, 3, 1), "out of order")
				expect(t, b, top, idempotent(b, 7, 1, 2, 1), "invalid epoch")
				end := len(f.stored("orders"))
				expect(t, b, top, idempotent(b, 7, 2, 2, 1), fmt.Sprintf("at %d", end))
				expect(t, b, top, idempotent(b, 8, 0, 4, 1), fmt.Sprintf("at %d", end+1))
				expect(t, b, top, idempotent(b, 8, 0, 0, 4), "duplicate of 5, newest 4")
				states, err := b.Producers(t.Context(), top, 0)
				if diff := cmp.Diff([]ProducerState{{7, 2, 2, 3}, {8, 0, 4, 5}}, states); diff != "" || err != nil {
					t.Error(diff, err)
				}
			})
		})
	}
}

// The send's answer is lost, then everything; what the retry gets is what became of the first.
func TestRetryOfUnknownOutcome(t *testing.T) {
	for _, tc := range []struct {
		what fault
		want string
	}{
		{dropAfter, "duplicate of 2, newest 4"},
		{dropBefore, "at 2"},
	} {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			expect(t, b, top, idempotent(b, 7, 0, 0, 2), "at 0")
			failed := false
			f.setFault(func(code iggywire.Code) fault {
				switch {
				case failed:
					return hang
				case code == iggywire.CodeSendMessages:
					failed = true
					return tc.what
				}
				return behave
			})
			a := idempotent(b, 7, 0, 2, 2)
			a.Deadline = time.Now().Add(time.Second)
			expect(t, b, top, a, "unknown")
			f.setFault(nil)
			time.Sleep(12 * time.Second)
			expect(t, b, top, idempotent(b, 7, 0, 2, 2), tc.want)
			expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
		})
	}
}

// The partition went back: what is gone may be written again or be missing for ever, what is left is a duplicate.
func TestPartitionWentBack(t *testing.T) {
	cut := func(f *fakeIggy, end int) { p := f.partition("orders", 0); p.messages = p.messages[:end:end] }
	for _, tc := range []struct {
		name  string
		what  func(f *fakeIggy)
		kept  int  // messages of the eight of producer 7 that are left, of batches at 0, 2, 4, 6
		noted bool // the loss comes with a lost connection
	}{
		{"by a batch", func(f *fakeIggy) { cut(f, 6) }, 6, true},
		{"into a batch", func(f *fakeIggy) { cut(f, 5) }, 5, true},
		{"by a batch, and forward by less", func(f *fakeIggy) { cut(f, 6); f.foreign("orders", 0, 1) }, 6, true},
		{"by a batch, and forward to the same end", func(f *fakeIggy) { cut(f, 6); f.foreign("orders", 0, 3) }, 6, true},
		{"by a batch, and far forward", func(f *fakeIggy) { cut(f, 6); f.foreign("orders", 0, 3000) }, 6, true},
		{"by most, and forward", func(f *fakeIggy) { cut(f, 2); f.foreign("orders", 0, 300) }, 2, true},
		{"by a batch, unnoticed", func(f *fakeIggy) { cut(f, 6) }, 6, false},
		{"to nothing", func(f *fakeIggy) { cut(f, 0) }, 0, true},
		{"to nothing, unnoticed", func(f *fakeIggy) { cut(f, 0) }, 0, false},
		{"to nothing, and forward", func(f *fakeIggy) { cut(f, 0); f.foreign("orders", 0, 20) }, 0, true},
		{"to one message", func(f *fakeIggy) { cut(f, 0); f.foreign("orders", 0, 1) }, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				for i := range 4 {
					expect(t, b, top, idempotent(b, 7, 0, int32(2*i), 2), fmt.Sprintf("at %d", 2*i))
				}
				expect(t, b, top, idempotent(b, 8, 0, 0, 1), "at 8")
				f.with(func() { tc.what(f) })
				end := len(f.stored("orders"))
				time.Sleep(time.Millisecond) // of two answers of one moment the higher end counts
				if tc.noted {
					f.hangUp()
				}
				// The client was told of all eight, and goes on.
				expect(t, b, top, idempotent(b, 7, 0, 8, 2), fmt.Sprintf("at %d", end))
				expect(t, b, top, idempotent(b, 7, 0, 12, 2), "out of order")
				for i := range tc.kept / 2 {
					expect(t, b, top, idempotent(b, 7, 0, int32(2*i), 2), fmt.Sprintf("duplicate of %d, newest %d", 2*i, 2*i+2))
				}
				expect(t, b, top, idempotent(b, 8, 0, 1, 1), fmt.Sprintf("at %d", end+2))
				expect(t, b, top, idempotent(b, 7, 0, 10, 2), fmt.Sprintf("at %d", end+3))
				expect(t, b, top, idempotent(b, 7, 0, 8, 2), fmt.Sprintf("duplicate of %d, newest 10", end))
			})
		})
	}
}

// Another gateway wrote what this one misses, or the retry of what it knows: nothing is out of order, or written twice, for not
// having looked.
func TestAnotherGateway(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		other := f.open(t, nil)
		top := topic(t, b, "orders", 1)
		expect(t, b, top, idempotent(b, 7, 0, 0, 2), "at 0")
		expect(t, other, top, idempotent(other, 7, 0, 2, 2), "at 2")
		expect(t, b, top, idempotent(b, 7, 0, 4, 2), "at 4")
		expect(t, other, top, idempotent(other, 7, 0, 6, 2), "at 6")
		polls := f.asked(iggywire.CodePollMessages)
		expect(t, b, top, idempotent(b, 7, 0, 10, 2), "out of order")
		if polls = f.asked(iggywire.CodePollMessages) - polls; polls > 2 {
			t.Errorf("%d polls to be sure", polls)
		}
		expect(t, b, top, idempotent(b, 7, 0, 6, 2), "duplicate of 6, newest 8")
	})
}

// Native producers write all the time: base offsets and verdicts are right, and what they wrote is read once.
func TestDeduplicationBesideForeignWriters(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		const rounds = 50
		for i := range rounds {
			f.with(func() { f.foreign("orders", 0, i%4) })
			if i%5 == 0 {
				f.with(func() {
					f.after = func(code iggywire.Code) {
						if code == iggywire.CodeSendMessages {
							f.foreign("orders", 0, 2)
						}
					}
				})
			}
			end := len(f.stored("orders"))
			expect(t, b, top, idempotent(b, 7, 0, int32(3*i), 3), fmt.Sprintf("at %d", end))
			expect(t, b, top, idempotent(b, 7, 0, int32(3*i), 3), fmt.Sprintf("duplicate of %d, newest %d", end, 3*i+3))
			f.with(func() { f.after = nil })
		}
		if polls := f.asked(iggywire.CodePollMessages); polls > 4*rounds {
			t.Errorf("%d polls for %d batches", polls, rounds)
		}
	})
}

// A batch that fails keeps those behind it back: none of them becomes a producer's first.
func TestNothingOvertakesAFailedBatch(t *testing.T) {
	inBubble(t, func(c *Config) { c.LaneQueue = 2 }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodeGetTopic {
				return slow
			}
			return behave
		})
		late := idempotent(b, 7, 0, 0, 1)
		late.Deadline = time.Now().Add(500 * time.Millisecond)
		expectAll(t, b, top, []*Append{late, idempotent(b, 7, 0, 1, 1)},
			"bridge: append was not sent in time: context deadline exceeded", "out of order")
		f.setFault(nil)
		expect(t, b, top, idempotent(b, 7, 0, 1, 1), "out of order")
		expect(t, b, top, idempotent(b, 7, 0, 0, 1), "at 0")
		expect(t, b, top, idempotent(b, 7, 0, 1, 1), "at 1")

		// So does one that finds no room in the queue.
		f.once(iggywire.CodeSendMessages, slow)
		first := batch(b, 1, 1)
		if err := b.Append(top, 0, first); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		queued := []*Append{batch(b, 2, 1), batch(b, 3, 1)}
		for _, a := range queued {
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Append(top, 0, idempotent(b, 8, 0, 0, 1)); !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		for _, a := range append(queued, first) {
			if _, err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, b, top, idempotent(b, 8, 0, 1, 1), "out of order")
		expect(t, b, top, idempotent(b, 8, 0, 0, 1), "at 5")
	})
}

func TestProducerBounds(t *testing.T) {
	change := func(c *Config) { c.MaxProducers, c.ProducerExpiry, c.LaneIdle = 3, time.Hour, 24*time.Hour }
	inBubble(t, change, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		for i := range 4 {
			expect(t, b, top, idempotent(b, int64(i), 0, 0, 1), fmt.Sprintf("at %d", i))
		}
		if n := b.Stats().ProducerEvictions; n != 1 {
			t.Errorf("%d evictions", n)
		}
		expect(t, b, top, idempotent(b, 3, 0, 9, 1), "out of order")
		expect(t, b, top, idempotent(b, 0, 0, 9, 1), "at 4") // forgotten
		time.Sleep(2 * time.Hour)
		expect(t, b, top, idempotent(b, 3, 0, 9, 1), "at 5") // expired
		if n := b.Stats().ProducerEvictions; n != 2 {
			t.Errorf("%d evictions", n)
		}
	})
}

// Sequence numbers that are not as many as the messages are refused at once.
func TestSequencesAndCount(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		a := idempotent(b, 7, 0, 0, 3)
		a.Producer.LastSequence = 3
		if err := b.Append(top, 0, a); !errors.Is(err, iggywire.ErrMalformed) {
			t.Error(err)
		}
	})
}
