// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// A server that was stopped between two looks for a send, which nobody waits for any more, executes the send when it goes on.
// The wait for that begins anew: what was seen before it was stopped says nothing.
func TestStoppedBetweenTwoLooks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "t", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		f.once(iggywire.CodeSendMessages, dropBefore) // its bytes lie in the server's socket
		lost := batch(b, 2, 1)
		lost.Deadline = time.Now().Add(150 * time.Millisecond)
		if _, err := write(t, b, top, 0, lost); !IsUnknownOutcome(err) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // the server is stopped; nobody notices
		done := make(chan struct{})
		go func() { // it goes on
			defer close(done)
			time.Sleep(20 * time.Millisecond)
			f.with(func() { f.partition("t", 0).append(f.now(), lost.Messages) })
		}()
		got, err := write(t, b, top, 0, batch(b, 3, 1))
		<-done
		if err != nil || got.BaseOffset != 2 {
			t.Errorf("the batch behind the lost one: at %d, %v, want at 2, behind it", got.BaseOffset, err)
		}
	})
}

// A send is executed after its connection was lost, but soon: it is found, and not repeated.
func TestLateExecution(t *testing.T) {
	t.Run("connection lost", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			expect(t, b, top, batch(b, 1, 2), "at 0")
			f.once(iggywire.CodeSendMessages, dropLate)
			expectAll(t, b, top, []*Append{idempotent(b, 7, 0, 0, 2), idempotent(b, 7, 0, 2, 1), batch(b, 3, 1)}, "at 2", "at 4", "at 5")
			if n := len(f.stored("orders")); n != 6 {
				t.Errorf("%d messages", n)
			}
		})
	})
	// The server stops, and its connections are given up. When it goes on it answers, and a moment later executes what it had got.
	t.Run("stopped server", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
			top := topic(t, b, "orders", 1)
			expect(t, b, top, batch(b, 1, 2), "at 0")
			stopped := true
			f.setFault(func(iggywire.Code) fault {
				if stopped {
					return hang
				}
				return behave
			})
			a := idempotent(b, 7, 0, 0, 2)
			a.Deadline = time.Now().Add(5 * time.Second)
			expect(t, b, top, a, "unknown")
			time.AfterFunc(30*time.Second, func() { f.with(func() { stopped = false }) })
			time.AfterFunc(31*time.Second-settlePause, func() { f.with(func() { f.appendIDs(7, 0, 0, 2) }) })
			time.Sleep(15 * time.Second)
			// Others, and the retry, wait until that is decided.
			for time.Since(a.Deadline) < 60*time.Second {
				next := idempotent(b, 7, 0, 0, 2)
				next.Deadline = time.Now().Add(4 * time.Second)
				if got := outcome(write(t, b, top, 0, next)); got == "duplicate of 2, newest 2" {
					break
				} else if got != "unavailable" && got != "bridge: append was not sent in time: context deadline exceeded" {
					t.Fatal(got)
				}
			}
			expect(t, b, top, batch(b, 3, 1), "at 4")
			if n := len(f.stored("orders")); n != 5 {
				t.Errorf("%d messages", n)
			}
		})
	})
}

// Looking for a send compares both of its ends.
func TestSearch(t *testing.T) {
	at := func(first int64, tags ...byte) []byte {
		var out []byte
		for i, tag := range tags {
			m := messages(tag, 1)
			binary.LittleEndian.PutUint64(m[24:], uint64(first)+uint64(i))
			out = append(out, m...)
		}
		return out
	}
	id := func(tag byte) [16]byte { return iggywire.MessageID(messages(tag, 1)) }
	for _, tc := range []struct {
		name  string
		first byte
		last  byte
		count int64
		polls [][]byte
		want  int64 // -1: not there
	}{
		{"one message", 'a', 'a', 1, [][]byte{at(5, 'x', 'a', 'y')}, 6},
		{"whole", 'a', 'c', 3, [][]byte{at(5, 'x', 'a', 'b', 'c')}, 6},
		{"over two polls", 'a', 'c', 3, [][]byte{at(5, 'x', 'a'), at(7, 'b', 'c', 'z')}, 6},
		{"first alone", 'a', 'c', 3, [][]byte{at(5, 'x', 'a', 'b', 'y', 'z')}, -1},
		{"cut off at the end", 'a', 'c', 3, [][]byte{at(5, 'x', 'a', 'b')}, -1},
		{"again, whole", 'a', 'c', 3, [][]byte{at(5, 'a', 'b', 'y', 'a', 'b', 'c')}, 8},
		{"retention within", 'a', 'c', 3, [][]byte{at(5, 'a'), at(9, 'c')}, -1},
		{"not there", 'a', 'a', 1, [][]byte{at(5, 'x', 'y')}, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := sent{first: id(tc.first), last: id(tc.last), count: tc.count}
			base, next, found := int64(-1), int64(5), false
			for _, msgs := range tc.polls {
				var err error
				if base, next, found, err = s.search(msgs, base, next); err != nil {
					t.Fatal(err)
				}
			}
			if found != (tc.want >= 0) || found && base != tc.want {
				t.Errorf("%d, %v; want %d", base, found, tc.want)
			}
		})
	}
	s := sent{count: 1}
	if _, _, _, err := s.search(at(3, 'x'), -1, 5); err == nil {
		t.Error("messages before those asked for")
	}
}

// An Iggy that answers, but slowly, settles a lost send as well: its partition is not stuck for ever.
func TestSlowIggySettles(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "t", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); err != nil {
			t.Fatal(err)
		}
		lost := false
		f.setFault(func(code iggywire.Code) fault {
			switch {
			case code == iggywire.CodeSendMessages && !lost:
				lost = true
				return dropBefore
			case code == iggywire.CodeGetTopic:
				return slow
			}
			return behave
		})
		first := batch(b, 2, 1)
		first.Deadline = time.Now().Add(5 * time.Second)
		expect(t, b, top, first, "unknown")
		expect(t, b, top, batch(b, 3, 1), "at 1")
	})
}
