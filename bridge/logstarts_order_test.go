// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// slowStarts takes a second to keep a log start.
type slowStarts struct{ *memoryStarts }

func (s slowStarts) SetLogStart(ctx context.Context, id, name string, partition int32, start statelog.LogStart) error {
	time.Sleep(time.Second)
	return s.memoryStarts.SetLogStart(ctx, id, name, partition, start)
}

// A deletion that asks for less, and comes while a further one is being kept, brings nothing back.
func TestDeletionBehindAFurtherOne(t *testing.T) {
	withLogStarts(t, func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic) {
		close(m.loaded)
		b.UseLogStarts(slowStarts{m})
		further := make(chan int64)
		go func() {
			start, err := deleteBefore(t, b, top, 8)
			if err != nil {
				t.Error(err)
			}
			further <- start
		}()
		synctest.Wait() // it is being kept
		if start, err := deleteBefore(t, b, top, 5); err != nil || start != 8 {
			t.Errorf("the lesser one: %d, %v", start, err)
		}
		if start := <-further; start != 8 {
			t.Errorf("the further one: %d", start)
		}
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 8 || m.starts[0].Offset != 8 {
			t.Errorf("%+v, %v, kept is %+v", bounds, err, m.starts)
		}
	})
}

// As long as it could not be asked where a partition begins, which retention has moved, nothing is told of its bounds.
func TestStartThatIsNotKnown(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.with(func() {
			f.foreign("orders", 0, 10)
			p := f.partition("orders", 0)
			p.first, p.messages = 4, p.messages[4:]
		})
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodePollMessages {
				return dropBefore
			}
			return behave
		})
		if _, err := b.Bounds(t.Context(), top); err == nil {
			t.Fatal("the poll was not lost: nothing is tested")
		}
		if known, ok := b.KnownBounds(top, 0); ok {
			t.Errorf("known are %+v", known)
		}
		f.setFault(nil)
		time.Sleep(redialMax)
		if _, err := b.Bounds(t.Context(), top); err != nil {
			t.Fatal(err)
		}
		if known, ok := b.KnownBounds(top, 0); !ok || known.Start != 4 || known.Next != 10 {
			t.Errorf("known are %+v, %v", known, ok)
		}
	})
}

// Somebody deletes a topic and makes another one of its name, which nothing tells: a write that goes there is not acknowledged
// as one to the old topic, and once the new one is known it is found there.
func TestWriteThatReachesTheNextTopic(t *testing.T) {
	inBubble(t, func(c *Config) { c.TopicViewAge = time.Hour }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		old := topic(t, b, "orders", 1)
		expect(t, b, old, idempotent(b, 7, 0, 0, 3), "at 0")
		f.with(func() {
			delete(f.streams["kafka"].topics, "orders")
			f.createTopic(iggywire.CreateTopic{Stream: iggywire.NamedID("kafka"), Name: "orders", Partitions: 1})
		})
		time.Sleep(time.Millisecond)
		if got, err := write(t, b, old, 0, idempotent(b, 7, 0, 3, 2)); !IsNotFound(err) {
			t.Errorf("%+v, %v", got, err)
		}
		view, err := b.Topics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next, ok := view.ByName("orders")
		if !ok || next.ID == old.ID {
			t.Fatalf("%+v, %v", next, ok)
		}
		expect(t, b, next, idempotent(b, 7, 0, 3, 2), "duplicate of 0, newest 5")
		expect(t, b, next, idempotent(b, 7, 0, 5, 1), "at 2")
	})
}
