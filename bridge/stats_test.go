// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// What a bridge does shows in its counts.
func TestStats(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		before := b.Stats()
		top := topic(t, b, "orders", 2)
		f.once(iggywire.CodeSendMessages, slow) // the others gather meanwhile
		var all []*Append
		for i := range 5 {
			a := batch(b, byte(i), 2)
			if err := b.Append(top, 0, a); err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
			synctest.Wait() // the first is under way before the second comes
		}
		if s := b.Stats(); s.Lanes != 1 || s.Queued != 4 {
			t.Errorf("%d lanes, %d batches wait", s.Lanes, s.Queued)
		}
		bytes := 0
		for _, a := range all {
			bytes += len(a.Messages)
			if _, err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, b, top, idempotent(b, 7, 0, 0, 3), "at 10")
		expect(t, b, top, idempotent(b, 7, 0, 0, 3), "duplicate of 10, newest 3")
		m, err := b.Read(t.Context(), b.Self(), top, 0, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		if _, err := b.TopicsWithin(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		got := b.Stats()
		if got.Bytes <= uint64(bytes) || got.SendCalls.Took < time.Second || got.PollCalls.Count < 3 || got.OtherCalls.Count <= before.OtherCalls.Count {
			t.Errorf("%d bytes, more than %d were written; %+v, %+v, %+v", got.Bytes, bytes, got.SendCalls, got.PollCalls, got.OtherCalls)
		}
		if got.Refreshes <= before.Refreshes || got.Dials <= before.Dials {
			t.Errorf("%d looks at the topics, %d before; %d connections, %d before", got.Refreshes, before.Refreshes, got.Dials, before.Dials)
		}
		want := Stats{
			Lanes: 1, Sends: 3, Batches: 6, Messages: 13, Duplicates: 1, Producers: 1, Topics: 1,
			Connections: Connections{Control: 1, Writes: 1, Reads: 1},
		}
		got.Bytes, got.SendCalls, got.PollCalls, got.OtherCalls, got.Dials, got.Refreshes = 0, Calls{}, Calls{}, Calls{}, 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// So does what goes wrong.
func TestStatsOfFailures(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 0, 1)); err != nil {
			t.Fatal(err)
		}
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodeSendMessages {
				return dropAfter
			}
			return hang // and nobody can be asked what became of it
		})
		if _, err := write(t, b, top, 0, batch(b, 1, 1)); !IsUnknownOutcome(err) {
			t.Fatalf("the write of which nothing is known: %v", err)
		}
		f.mu.Lock()
		f.down = true
		f.mu.Unlock()
		if _, err := b.TopicsWithin(t.Context(), 0); err == nil {
			t.Error("topics of an Iggy that is away")
		}
		if s := b.Stats(); s.UnknownOutcomes != 1 || s.Losses == 0 || s.FailedRefreshes == 0 {
			t.Errorf("%+v", s)
		}
		for range 3 { // what hangs is given up in the end, and nobody is to be reached
			_, _ = b.TopicsWithin(t.Context(), 0)
			time.Sleep(time.Minute)
		}
		if s := b.Stats(); s.FailedDials == 0 || s.Connections != (Connections{}) {
			t.Errorf("%d dials failed, %+v", s.FailedDials, s.Connections)
		}
		f.mu.Lock()
		f.down = false
		f.mu.Unlock()
		f.setFault(func(iggywire.Code) fault { return behave })
	})
}
