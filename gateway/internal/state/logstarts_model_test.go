// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
)

// TestLogStartsModel does things in any order, and compares what is seen with what must be: all that the server has but what
// was deleted.
func TestLogStartsModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newCutWorld(t)
			rng := rand.New(rand.NewPCG(seed, 0))
			var kept []string // by offset
			deleted := 0      // of them
			add := func(n int) {
				for i := range n {
					kept = append(kept, fmt.Sprint(w.written-n+i))
				}
			}
			var log []string
			for range 60 {
				n := 1 + rng.IntN(5)
				op := rng.IntN(10)
				switch {
				case op < 2:
					log = append(log, fmt.Sprint("write ", n))
					if got, err := w.write(w.b, n); err != nil || got.BaseOffset != int64(len(kept)) {
						t.Fatal(got, err, log)
					}
					add(n)
				case op < 4:
					log = append(log, fmt.Sprint("native ", n))
					if _, err := w.write(w.other, n); err != nil {
						t.Fatal(err, log)
					}
					add(n)
				case op < 6:
					before := rng.IntN(len(kept) + 1)
					log = append(log, fmt.Sprint("delete ", before))
					deleted = max(deleted, before)
					if start, err := w.delete(int64(before)); err != nil || start != int64(deleted) {
						t.Fatal(start, err, log)
					}
				case op < 8:
					end := rng.IntN(len(kept) + 1)
					log = append(log, fmt.Sprint("lose ", end))
					w.lose(uint64(end))
					kept, deleted = kept[:end], min(deleted, end)
				case op < 9:
					log = append(log, "restart")
					w.stop()
					w.start()
				default:
					log = append(log, "see")
					want := fmt.Sprintf("%d..%d: %s", deleted, len(kept), strings.Join(kept[deleted:], " "))
					if got := w.seen(); got != want {
						t.Fatalf("seen is\n%s\nit should be\n%s\n%q", got, want, log)
					}
				}
			}
		})
	}
}

// span is when something happened: what ended before another thing began came before it.
type span struct{ began, ended time.Time }

func (s span) before(o span) bool { return s.ended.Before(o.began) }

// TestLogStartsTogether deletes, writes and loses at the same time. What was acknowledged after a deletion had ended is never
// hidden by it, and what was acknowledged before one began is, if the server still has it.
func TestLogStartsTogether(t *testing.T) {
	w := newCutWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var mu sync.Mutex
	acknowledged := map[string]span{} // by number
	type deletion struct {
		span
		asked, start int64
		done         bool
	}
	var deletions []deletion
	var all sync.WaitGroup
	forever := func(seed uint64, do func(*rand.Rand)) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 0))
			for ctx.Err() == nil {
				do(rng)
			}
		})
	}
	writer := func(b *bridge.Bridge) func(*rand.Rand) {
		topic := w.topic(b)
		return func(rng *rand.Rand) {
			mu.Lock()
			a, first := w.batch(b, 1+rng.IntN(4))
			mu.Unlock()
			began := time.Now()
			if b.Append(topic, 0, a) != nil {
				return
			}
			if _, err := a.Wait(t.Context()); err != nil {
				return
			}
			s := span{began, time.Now()}
			mu.Lock()
			defer mu.Unlock()
			for i := range a.Count {
				acknowledged[fmt.Sprint(first+i)] = s
			}
		}
	}
	forever(1, writer(w.b))
	forever(2, writer(w.b))
	forever(3, writer(w.other))
	topic := w.topic(w.b)
	forever(4, func(rng *rand.Rand) {
		d := deletion{asked: -1}
		bounds, err := w.b.Bounds(ctx, topic)
		if err != nil {
			return
		}
		if rng.IntN(2) == 0 {
			d.asked = bounds[0].Start + rng.Int64N(bounds[0].Next-bounds[0].Start+1)
		}
		d.began = time.Now()
		asked := []bridge.Deletion{{Before: d.asked}}
		w.b.DeleteRecords(t.Context(), topic, asked)
		d.ended, d.start, d.done = time.Now(), asked[0].LogStart, asked[0].Err == nil
		mu.Lock()
		deletions = append(deletions, d)
		mu.Unlock()
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	})
	forever(5, func(rng *rand.Rand) {
		time.Sleep(time.Duration(50+rng.IntN(50)) * time.Millisecond)
		bounds, err := w.other.Bounds(ctx, w.topic(w.other))
		if err != nil || bounds[0].Next == 0 {
			return
		}
		w.proxy.Refuse(true)
		err = w.iggy.Lose("kafka", cutTopic, 0, uint64(rng.Int64N(bounds[0].Next)))
		w.proxy.Refuse(false)
		if err != nil && !errors.Is(err, embedded.ErrInUse) {
			t.Error(err)
		}
	})
	all.Wait()

	var start int64
	for {
		bounds, err := w.b.Bounds(t.Context(), topic)
		if err == nil {
			start = bounds[0].Start
			break
		}
		if !bridge.IsRetryable(err) {
			t.Fatal(err)
		}
	}
	hidden, seen := 0, 0
	for offset, number := range w.read(w.other, 0) {
		if _, err := strconv.Atoi(number); err != nil {
			t.Fatal(number)
		}
		s, known := acknowledged[number]
		if !known {
			continue
		}
		due, may := false, false
		for _, d := range deletions {
			due = due || d.done && s.before(d.span) && d.start > int64(offset)
			may = may || !d.before(s) && (d.asked == -1 || d.asked > int64(offset))
		}
		if int64(offset) < start {
			hidden++
			if !may {
				t.Errorf("record %s at %d is hidden, the log begins at %d", number, offset, start)
			}
		} else {
			seen++
			if due {
				t.Errorf("record %s at %d was deleted, the log begins at %d", number, offset, start)
			}
		}
	}
	if hidden == 0 || seen == 0 {
		t.Error("nothing to compare")
	}
	t.Logf("%d acknowledged, %d deletions, %d hidden, %d seen", len(acknowledged), len(deletions), hidden, seen)
}
