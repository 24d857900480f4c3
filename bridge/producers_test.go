// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Deleting the topic and closing the bridge end a lane that reads a long tail.
func TestEndWhileReadingTheTail(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(t *testing.T, b *Bridge, top *Topic)
		want error
	}{
		{"deleted", func(t *testing.T, b *Bridge, top *Topic) {
			if err := b.DeleteTopic(t.Context(), b.Self(), top); err != nil {
				t.Error(err)
			}
		}, nil},
		{"closed", func(t *testing.T, b *Bridge, _ *Topic) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			b.Close(ctx)
		}, ErrUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
				top := topic(t, b, "orders", 1)
				f.with(func() {
					for range 4 {
						f.foreign("orders", 0, 10_000)
					}
				})
				f.setFault(func(code iggywire.Code) fault {
					if code == iggywire.CodePollMessages {
						return slow
					}
					return behave
				})
				a := idempotent(b, 7, 0, 0, 1)
				if err := b.Append(top, 0, a); err != nil {
					t.Fatal(err)
				}
				asked := make(chan error, 1)
				go func() {
					_, err := b.Producers(t.Context(), top, 0)
					asked <- err
				}()
				time.Sleep(1500 * time.Millisecond)
				tc.end(t, b, top)
				_, err := a.Wait(t.Context())
				if !IsNotFound(err) && !errors.Is(err, tc.want) {
					t.Errorf("append: %v", err)
				}
				if err := <-asked; !IsNotFound(err) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrUnavailable) {
					t.Errorf("question: %v", err)
				}
			})
		})
	}
}

// However many partitions are asked about at once, few are read at a time: each question may read a whole tail.
func TestFewTailsAreReadForQuestions(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		const partitions = 3 * maxQuestions
		top := topic(t, b, "orders", partitions)
		f.with(func() {
			for p := range partitions {
				f.partition("orders", p).append(f.now(), idMessages(int64(p), 0, 0, 1))
			}
		})
		f.setFault(slowPolls)
		var asking sync.WaitGroup
		for p := range int32(partitions) {
			asking.Go(func() {
				states, err := b.Producers(t.Context(), top, p)
				if err != nil || len(states) != 1 || states[0].ID != int64(p) {
					t.Errorf("partition %d: %+v, %v", p, states, err)
				}
			})
		}
		synctest.Wait()
		if n := lanes(b, top); n != maxQuestions {
			t.Errorf("%d lanes are asked at once", n)
		}
		hurried, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.Producers(hurried, top, 0); !IsTimeout(err) {
			t.Errorf("a question for which there is no time: %v", err)
		}
		asking.Wait()
	})
}

func slowPolls(code iggywire.Code) fault {
	if code == iggywire.CodePollMessages {
		return slow
	}
	return behave
}

// lanes counts those of a topic.
func lanes(b *Bridge, top *Topic) (n int) {
	st := b.states.of(top)
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.parts {
		if st.parts[i].lane != nil {
			n++
		}
	}
	return n
}

// Batches do not wait for a question that has a long tail read, and it does not wait for ever because there are always more.
func TestQuestionsLetBatchesPass(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		top := topic(t, b, "orders", 1)
		f.with(func() {
			f.appendIDs(7, 0, 0, 1)
			for range 6 {
				f.foreign("orders", 0, 10_000)
			}
			f.appendIDs(8, 0, 0, 1)
		})
		f.setFault(slowPolls)
		var asking sync.WaitGroup
		asking.Go(func() {
			states, err := b.Producers(t.Context(), top, 0)
			if err != nil || len(states) != 2 {
				t.Errorf("%+v, %v", states, err)
			}
		})
		answered := make(chan struct{})
		go func() { asking.Wait(); close(answered) }()
		time.Sleep(100 * time.Millisecond)
		for n := 0; ; n++ {
			first, second := batch(b, byte(n), 1), batch(b, byte(n), 2) // there is always one more in the queue
			begin := time.Now()
			for _, a := range []*Append{first, second} {
				if err := b.Append(top, 0, a); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := first.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Two polls of a second each that were under way, perhaps, and its own.
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("batch %d took %v", n, took)
			}
			select {
			case <-answered:
				if n < 3 {
					t.Errorf("no more than %d batches passed", n)
				}
				return
			default:
			}
			if n > 50 {
				t.Fatal("the question is never answered")
			}
		}
	})
}
