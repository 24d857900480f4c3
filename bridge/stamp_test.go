// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// Iggy's time of a batch is asked for together with its place.
func TestStampTime(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		stamped := func(a *Append) *Append { a.StampTime = true; return a }
		f.with(func() { f.clock = 5_000_000 })
		got, err := write(t, b, top, 0, stamped(idempotent(b, 7, 0, 0, 3)))
		if err != nil || got.Timestamp != 5000 {
			t.Errorf("%+v, %v", got, err)
		}
		if polls := f.asked(iggywire.CodePollMessages); polls != 1 {
			t.Errorf("%d polls", polls)
		}
		if ts, offset, ok := b.NewestTimestamp(top, 0); ts != 5000 || offset != 0 || !ok {
			t.Errorf("newest %d at %d, %v", ts, offset, ok)
		}
		f.with(func() { f.clock = 9_000_000; f.foreign("orders", 0, 2); f.clock = 9_500_000 })
		if got, err = write(t, b, top, 0, stamped(batch(b, 1, 1))); err != nil || got.Timestamp != 9500 || got.BaseOffset != 5 {
			t.Errorf("beside others: %+v, %v", got, err)
		}
		if got, err = write(t, b, top, 0, stamped(idempotent(b, 7, 0, 0, 3))); err != nil || got.Timestamp != 5000 || !got.Duplicate {
			t.Errorf("duplicate: %+v, %v", got, err)
		}
		if got, err = write(t, b, top, 0, batch(b, 2, 1)); err != nil || got.Timestamp != -1 {
			t.Errorf("not asked for: %+v, %v", got, err)
		}
	})
}

// The poll that verifies a batch brings its smallest message back, for Iggy's time, if that is small; of a batch of large ones one
// is read on its own. Either way it is one message.
func TestStampTimeOfLargeMessages(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		for i, tc := range []struct {
			sizes []int
			polls int
		}{
			{[]int{10, 10}, 1},
			{[]int{maxVerify, 5, maxVerify}, 1},
			{[]int{5, maxVerify}, 1},
			{[]int{2 * maxVerify, maxVerify}, 2},
			{[]int{maxVerify}, 2},
		} {
			a := &Append{Session: b.Self(), Count: len(tc.sizes), Deadline: time.Now().Add(20 * time.Second), StampTime: true}
			for j, size := range tc.sizes {
				id := [16]byte{byte(i), byte(j), 1}
				a.Messages = mapping.AppendMessage(a.Messages, &mapping.Message{ID: id, Payload: make([]byte, size)})
			}
			stamp := int64(1000 * (i + 5))
			f.with(func() { f.clock = uint64(1000 * stamp) })
			polls, brought := f.asked(iggywire.CodePollMessages), f.brought()
			got, err := write(t, b, top, 0, a)
			if err != nil || got.Timestamp != stamp {
				t.Errorf("%v: %+v, %v", tc.sizes, got, err)
			}
			if n, m := f.asked(iggywire.CodePollMessages)-polls, f.brought()-brought; n != tc.polls || m != 1 {
				t.Errorf("%v: %d polls brought %d messages", tc.sizes, n, m)
			}
			if ts, offset, ok := b.NewestTimestamp(top, 0); ts != stamp || offset != got.BaseOffset || !ok {
				t.Errorf("%v: newest %d at %d, %v", tc.sizes, ts, offset, ok)
			}
		}
	})
}

// brought is how many messages polls have brought.
func (f *fakeIggy) brought() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polled
}
