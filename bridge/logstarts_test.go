// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
)

// memoryStarts keeps log starts of one topic in memory.
type memoryStarts struct {
	loaded chan struct{}
	mu     sync.Mutex
	starts map[int32]statelog.LogStart
	fail   error
	sets   int
}

func newMemoryStarts() *memoryStarts {
	return &memoryStarts{loaded: make(chan struct{}), starts: map[int32]statelog.LogStart{}}
}

func (m *memoryStarts) Loaded() <-chan struct{} { return m.loaded }

func (m *memoryStarts) LogStarts(string) map[int32]statelog.LogStart {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.starts)
}

func (m *memoryStarts) SetLogStart(ctx context.Context, _, _ string, partition int32, start statelog.LogStart) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets++
	switch {
	case m.fail != nil:
		return m.fail
	case ctx.Err() != nil:
		return ctx.Err()
	}
	m.starts[partition] = start
	return nil
}

func (m *memoryStarts) failWith(err error) {
	m.mu.Lock()
	m.fail = err
	m.mu.Unlock()
}

// withLogStarts runs a test in a bubble, on topic orders with one partition of ten records.
func withLogStarts(t *testing.T, test func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic)) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		m := newMemoryStarts()
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 10)); err != nil {
			t.Fatal(err)
		}
		b.UseLogStarts(m)
		test(t, f, b, m, top)
	})
}

func deleteBefore(t *testing.T, b *Bridge, top *Topic, before int64) (int64, error) {
	t.Helper()
	d := []Deletion{{Before: before}}
	b.DeleteRecords(t.Context(), top, d)
	return d[0].LogStart, d[0].Err
}

// Nothing is told of a partition before it is known what is deleted of it. Internal topics have no log starts.
func TestLogStartsNotLoaded(t *testing.T) {
	inBubble(t, func(c *Config) { c.InternalTopics = []string{"state"} }, func(t *testing.T, f *fakeIggy, b *Bridge) {
		m := newMemoryStarts()
		b.UseLogStarts(m)
		top, state := topic(t, b, "orders", 1), topic(t, b, "state", 1)
		if _, err := b.Bounds(t.Context(), state); err != nil {
			t.Errorf("internal: %v", err)
		}
		begin := time.Now()
		if _, err := b.Bounds(t.Context(), top); !errors.Is(err, ErrUnavailable) || time.Since(begin) != b.cfg.CallTimeout {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if _, ok := b.KnownBounds(top, 0); ok {
			t.Error("bounds are known")
		}
		if _, err := deleteBefore(t, b, top, 0); !errors.Is(err, ErrUnavailable) {
			t.Errorf("delete: %v", err)
		}
		if n := f.asked(iggywire.CodeSendMessages); n != 0 {
			t.Errorf("%d sends", n)
		}
		go func() {
			time.Sleep(time.Second)
			close(m.loaded)
		}()
		begin = time.Now()
		if got, err := write(t, b, top, 0, batch(b, 1, 3)); err != nil || got.BaseOffset != 0 || time.Since(begin) != time.Second {
			t.Errorf("%+v %v after %v", got, err, time.Since(begin))
		}
	})
}

// Deletions wake who waits, and several partitions answer for themselves.
func TestDeleteRecords(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		m := newMemoryStarts()
		close(m.loaded)
		b.UseLogStarts(m)
		top := topic(t, b, "orders", 3)
		for p := range int32(2) {
			if _, err := write(t, b, top, p, batch(b, byte(p), 10)); err != nil {
				t.Fatal(err)
			}
		}
		watch := b.Watch([]*Topic{top})
		defer watch.Close()
		d := []Deletion{
			{Partition: 0, Before: 4}, {Partition: 1, Before: -1}, {Partition: 2, Before: -1}, {Partition: 3, Before: 0},
			{Partition: -1, Before: 0},
		}
		b.DeleteRecords(t.Context(), top, d)
		for i, want := range []struct {
			start int64
			err   error
		}{{4, nil}, {10, nil}, {0, nil}, {0, ErrPartitionNotFound}, {0, ErrPartitionNotFound}} {
			if d[i].LogStart != want.start || !errors.Is(d[i].Err, want.err) {
				t.Errorf("partition %d: %d %v", d[i].Partition, d[i].LogStart, d[i].Err)
			}
		}
		select {
		case <-watch.News():
		default:
			t.Error("no news")
		}
		if known, ok := b.KnownBounds(top, 0); !ok || known.Start != 4 {
			t.Errorf("known %+v %v", known, ok)
		}
		got, err := write(t, b, top, 0, batch(b, 7, 1))
		if err != nil || got != (Appended{BaseOffset: 10, LogStart: 4, Timestamp: -1}) {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// Two requests at the same time: the further one counts, whichever ends last.
func TestDeleteRecordsTogether(t *testing.T) {
	withLogStarts(t, func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic) {
		close(m.loaded)
		var all sync.WaitGroup
		for _, before := range []int64{3, 8, 5, 8, 1} {
			all.Go(func() {
				if start, err := deleteBefore(t, b, top, before); err != nil || start < before {
					t.Errorf("before %d: %d %v", before, start, err)
				}
			})
		}
		all.Wait()
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 8 {
			t.Errorf("%+v %v", bounds, err)
		}
	})
}

// A deletion that was not kept has not happened, unless its time was over: then it may have.
func TestDeleteRecordsNotKept(t *testing.T) {
	withLogStarts(t, func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic) {
		close(m.loaded)
		for _, cause := range []error{statelog.ErrFenced, errors.New("not kept")} {
			m.failWith(cause)
			if _, err := deleteBefore(t, b, top, 4); !errors.Is(err, cause) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v", err)
			}
			if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 0 {
				t.Errorf("%+v %v", bounds, err)
			}
		}
		m.failWith(context.DeadlineExceeded)
		if _, err := deleteBefore(t, b, top, 4); !IsTimeout(err) {
			t.Errorf("%v", err)
		}
		m.mu.Lock() // it comes true later, and is noticed with the next look
		m.starts[0] = statelog.LogStart{Offset: 4, Until: 1 << 62}
		m.mu.Unlock()
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 4 {
			t.Errorf("%+v %v", bounds, err)
		}
	})
}

// A partition that went back: without a place to keep that nobody is told where it begins, but a gateway that was fenced
// has none any more, and goes on.
func TestLogStartLoweredWhenItCannotBeKept(t *testing.T) {
	withLogStarts(t, func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic) {
		close(m.loaded)
		if start, err := deleteBefore(t, b, top, 8); err != nil || start != 8 {
			t.Fatal(start, err)
		}
		f.mu.Lock()
		p := f.partition("orders", 0)
		p.messages = p.messages[:5]
		f.mu.Unlock()
		time.Sleep(time.Millisecond)
		m.failWith(errors.New("not kept"))
		if _, err := b.Bounds(t.Context(), top); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if known, ok := b.KnownBounds(top, 0); ok {
			t.Errorf("known %+v", known)
		}
		if _, err := write(t, b, top, 0, batch(b, 2, 1)); err == nil {
			t.Error("acknowledged and hidden")
		}
		m.failWith(statelog.ErrFenced)
		for range 2 {
			if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 5 || bounds[0].Next != 6 {
				t.Errorf("%+v %v", bounds, err)
			}
		}
		if known, ok := b.KnownBounds(top, 0); !ok || known.Start != 5 {
			t.Errorf("known %+v %v", known, ok)
		}
		m.failWith(nil)
		if bounds, err := b.Bounds(t.Context(), top); err != nil || bounds[0].Start != 5 || m.LogStarts("")[0].Offset != 5 {
			t.Errorf("%+v %v, kept %v", bounds, err, m.LogStarts(""))
		}
	})
}

// After each loss of a connection the last message that is hidden is looked at once, and a partition with no log start costs
// nothing more.
func TestLogStartsAreLookedAtOncePerLoss(t *testing.T) {
	withLogStarts(t, func(t *testing.T, f *fakeIggy, b *Bridge, m *memoryStarts, top *Topic) {
		close(m.loaded)
		polls := func(times int) int {
			before := f.asked(iggywire.CodePollMessages)
			for range times {
				if _, err := b.Bounds(t.Context(), top); err != nil {
					t.Fatal(err)
				}
			}
			return f.asked(iggywire.CodePollMessages) - before
		}
		if n := polls(3); n != 0 {
			t.Errorf("%d polls without a log start", n)
		}
		if _, err := deleteBefore(t, b, top, 8); err != nil {
			t.Fatal(err)
		}
		if n := polls(3); n != 0 {
			t.Errorf("%d polls with one that is sure", n)
		}
		b.connLost(errors.New("test"))
		if _, ok := b.KnownBounds(top, 0); ok {
			t.Error("known after a loss")
		}
		if n := polls(3); n != 1 {
			t.Errorf("%d polls after a loss", n)
		}
	})
}

// Where a partition begins may be old as long as nobody asks; who looks lets it be asked for, and does not wait.
func TestKnownBoundsAge(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		if _, err := write(t, b, top, 0, batch(b, 1, 10)); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		p := f.partition("orders", 0)
		p.first, p.messages = 6, p.messages[6:]
		f.mu.Unlock()
		known := func() int64 {
			bounds, ok := b.KnownBounds(top, 0)
			if !ok {
				t.Error("not known")
			}
			synctest.Wait()
			return bounds.Start
		}
		time.Sleep(boundsAge)
		if start := known(); start != 0 {
			t.Errorf("asked for within %v: %d", boundsAge, start)
		}
		time.Sleep(time.Millisecond)
		if start := known(); start != 0 {
			t.Errorf("waited for: %d", start)
		}
		if start := known(); start != 6 {
			t.Errorf("after it was asked for: %d", start)
		}
	})
}
