// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/bridge/internal/producerstate"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// appendIDs writes as a gateway that is not there any more. mu must be held.
func (f *fakeIggy) appendIDs(producer int64, epoch int16, first int32, n int) {
	f.partition("orders", 0).append(f.now(), idMessages(producer, epoch, first, n))
}

// Which part of the tail is read: by age, at least so many messages and at most so many.
func TestHowMuchOfTheTailIsRead(t *testing.T) {
	const total = 1000 // messages, one a second
	for _, tc := range []struct {
		age         time.Duration
		least, most int
		bytes       int64
		want        int
	}{
		{2 * time.Minute, 5, 1000, 0, 121},
		{2 * time.Minute, 300, 1000, 0, 300},
		{2 * time.Minute, 5, 50, 0, 50},
		{2 * time.Minute, 80, 50, 0, 80},
		{time.Hour, 5, 5000, 0, total},
		{time.Hour, 5000, 5000, 0, total},
		{time.Nanosecond, 1, 5000, 0, 1},
		{time.Hour, 5, 5000, 1000, 15}, // of some 68 bytes each,
		{time.Hour, 5000, 5000, 1000, 15},
	} {
		t.Run(fmt.Sprint(tc.age, tc.least, tc.most, tc.bytes), func(t *testing.T) {
			change := func(c *Config) { c.TailAge, c.TailMin, c.TailMax, c.TailBytes = tc.age, tc.least, tc.most, tc.bytes }
			inBubble(t, change, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				f.with(func() {
					for i := range total {
						f.appendIDs(int64(i), 0, 0, 1)
						f.clock += 999_999
					}
				})
				states, err := b.Producers(t.Context(), top, 0)
				if err != nil || len(states) != tc.want || tc.want > 0 && states[len(states)-1].ID != total-1 {
					t.Fatalf("%d producers, %v; want %d", len(states), err, tc.want)
				}
				if f.polled > tc.want+2 {
					t.Errorf("%d messages read", f.polled)
				}
			})
		})
	}
}

// Reading takes longer than a batch may wait: the batch fails with nothing written, and the next one goes on where it stopped.
func TestReadingTheTailOutlivesABatch(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		const total = 60_000
		f.with(func() {
			f.appendIDs(7, 0, 0, 10)
			f.foreign("orders", 0, total-10)
		})
		f.setFault(func(code iggywire.Code) fault {
			if code == iggywire.CodePollMessages {
				return slow
			}
			return behave
		})
		failed := 0
		for {
			a := idempotent(b, 7, 0, 0, 10)
			a.Deadline = time.Now().Add(2500 * time.Millisecond)
			got, err := write(t, b, top, 0, a)
			if err == nil {
				if !got.Duplicate || got.BaseOffset != 0 {
					t.Errorf("%+v", got)
				}
				break
			}
			if !IsRetryable(err) || IsUnknownOutcome(err) {
				t.Fatal(err)
			}
			if failed++; failed > 20 {
				t.Fatal("never ends")
			}
		}
		if n := len(f.stored("orders")); n != total {
			t.Errorf("%d messages", n)
		}
		if failed < 2 || f.polled > 2*total {
			t.Errorf("%d batches failed, %d messages read", failed, f.polled)
		}
	})
}

// Retention takes away what the lane knows, and more than it has read.
func TestRetentionOvertakesTheLane(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		expect(t, b, top, idempotent(b, 7, 0, 0, 5), "at 0")
		cut := func(n int) { p := f.partition("orders", 0); p.first, p.messages = p.first+int64(n), p.messages[n:] }
		f.with(func() { f.foreign("orders", 0, 20); cut(15) })
		f.hangUp()
		expect(t, b, top, idempotent(b, 7, 0, 5, 1), "at 25")
		expect(t, b, top, idempotent(b, 7, 0, 0, 5), "duplicate of 0, newest 5") // as Kafka, which keeps producers longer than records
		f.with(func() { cut(10) })
		f.hangUp()
		expect(t, b, top, idempotent(b, 7, 0, 6, 1), "at 26")
	})
}

// Ids that look like an idempotent producer's and are not say nothing, or what a producer's would.
func TestForeignIDs(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		garbage := func(producer uint64, epoch uint16, sequence uint32) []byte {
			m := messages(1, 1)
			binary.LittleEndian.PutUint64(m[8:], producer)
			binary.LittleEndian.PutUint16(m[16:], epoch)
			binary.LittleEndian.PutUint32(m[18:], sequence)
			m[22], m[23] = 'K', 'I'
			return m
		}
		f.with(func() {
			p := f.partition("orders", 0)
			f.appendIDs(7, 3, 0, 2)
			for _, m := range [][]byte{
				garbage(1<<63, 0, 0), garbage(7, 3, 1<<31), garbage(7, 0xffff, 50), garbage(7, 2, 50), garbage(9, 0x8000, 5), garbage(7, 3, 0),
			} {
				p.append(f.now(), m)
			}
		})
		expect(t, b, top, idempotent(b, 7, 3, 2, 1), "at 8")
		expect(t, b, top, idempotent(b, 7, 3, 0, 2), "duplicate of 0, newest 2")
		states, err := b.Producers(t.Context(), top, 0)
		if err != nil || len(states) != 1 {
			t.Errorf("%v, %v", states, err)
		}
	})
}

// A million producers, or a million producers' turns, in the tail: what is kept is bounded.
func TestHostileTail(t *testing.T) {
	table := producerstate.New(1000, time.Hour)
	p := table.Partition()
	var tl tail
	const polls, each = 20, 5000
	for i := range polls {
		var msgs []byte
		for j := range each {
			n := i*each + j
			msgs = append(msgs, idMessages(int64(n), 0, 0, 1)...)
			binary.LittleEndian.PutUint64(msgs[len(msgs)-len(idMessages(int64(n), 0, 0, 1))+24:], uint64(n))
		}
		if err := tl.takeIn(msgs, p, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if table.Len() != 1000 || table.Evicted() != polls*each-1000 || tl.at != polls*each {
		t.Errorf("%d kept, %d evicted, at %d", table.Len(), table.Evicted(), tl.at)
	}
}

// Whatever a poll answers: no panic, knowledge only goes forward, and the table keeps its bound.
func FuzzTakeIn(f *testing.F) {
	f.Add(idMessages(7, 0, 0, 3), int64(0))
	f.Add(append(idMessages(7, 0, 0, 1), messages(1, 2)...), int64(0))
	f.Add(bytes.Repeat([]byte{0xff}, 200), int64(5))
	f.Fuzz(func(t *testing.T, msgs []byte, from int64) {
		table := producerstate.New(2, time.Hour)
		tl := tail{at: from}
		err := tl.takeIn(msgs, table.Partition(), time.Time{})
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Error(err)
		}
		if tl.at < from || table.Len() > 2 {
			t.Errorf("from %d to %d, %d producers", from, tl.at, table.Len())
		}
		s := sent{count: 1, last: [16]byte{1}}
		if _, next, _, _ := s.search(msgs, -1, from); next < from {
			t.Errorf("search went from %d to %d", from, next)
		}
	})
}

func BenchmarkTakeIn(b *testing.B) {
	var msgs []byte
	for i := range 500 {
		msgs = append(msgs, idMessages(int64(i%10), 0, int32(10*(i/10)), 10)...)
	}
	offset := uint64(0)
	for rest := msgs; len(rest) > 0; offset++ {
		_, n, err := mapping.ParseMessage(rest)
		if err != nil {
			b.Fatal(err)
		}
		binary.LittleEndian.PutUint64(rest[24:], offset)
		rest = rest[n:]
	}
	p := producerstate.New(1000, time.Hour).Partition()
	b.ReportAllocs()
	for b.Loop() {
		var tl tail
		if err := tl.takeIn(msgs, p, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*5000/b.Elapsed().Seconds(), "messages/s")
}
