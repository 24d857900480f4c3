// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

func (g *gateway) mustCommit(group, topic string, partition int32, position int64) {
	g.t.Helper()
	if err := g.commit(group, topic, partition, position); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) mustStop() {
	g.t.Helper()
	if err := g.stop(); err != nil {
		g.t.Fatal(err)
	}
}

// saw says whether an event's text contains what.
func (g *gateway) saw(what string) bool {
	return strings.Contains(g.events(), what)
}

// runFails runs a log that cannot be loaded.
func runFails(t *testing.T, s statelog.Storage, want error, text string) {
	t.Helper()
	log, err := statelog.New(statelog.Config{Storage: s, BootID: "fails"})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Run(t.Context()); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("Run: %v", err)
	}
	select {
	case <-log.Loaded():
		t.Error("it says that it is loaded")
	default:
	}
	if err := log.SetQuota(t.Context(), "q", nil); err == nil {
		t.Error("it takes changes")
	}
}

// A checkpoint stands for all that is before it, commits that come while it is written count, and the storage may drop the
// rest. Without checkpoint and beginning the start fails.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		s.Delay = time.Millisecond
		g := startGateway(t, s, "a")
		for i := range int32(50) {
			for group := range 40 {
				g.Groups().Append(fmt.Sprint("g", group), []coordinator.Change{coordinator.OffsetCommitted{
					TopicPartition: coordinator.TopicPartition{Topic: "t", Partition: i},
					Offset:         coordinator.Offset{Metadata: strings.Repeat("x", 1000)},
				}}, func(err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		g.mustCommit("removed", "t", 0, 1)
		time.Sleep(10*time.Minute - time.Second)
		if g.saw("checkpoint") {
			t.Errorf("a checkpoint before its time: %v", g.events())
		}
		position := int64(0)
		for !g.saw("checkpoint") { // 2 MB take some appends
			position++
			g.mustCommit("g0", "t", 0, position)
			g.mustCommit("z", fmt.Sprint("t", position%10), 0, position)
			if position > 1 {
				g.mustCommit("removed", "t", 1, position)
			}
			time.Sleep(time.Millisecond)
		}
		want := stored(t, s)
		if len(want) != 2000+10+2 || position < 10 {
			t.Errorf("%d offsets, %d commits on the way", len(want), position)
		}
		g.mustStop()

		messages := s.Messages(0)
		s.Expire(0, messages[len(messages)-1].Checkpoint)
		equal(t, want, stored(t, s))
		g = startGateway(t, s, "b")
		g.mustCommit("g0", "t", 0, 0)
		g.mustStop()
		s.Expire(0, messages[len(messages)-1].Checkpoint+1)
		runFails(t, s, statelog.ErrStateLost, "the checkpoint at offset")
	})
}

func TestNoCheckpointAndNoBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(2)
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 1)
		g.mustCommit("h", "t", 0, 1)
		g.mustStop()
		s.Expire(0, 1)
		runFails(t, s, statelog.ErrStateLost, "the first message kept is at offset 1, and there is no checkpoint")
		s.Expire(0, 2)
		runFails(t, s, statelog.ErrStateLost, "keeps no message, its next offset is 2")
	})
}

// When checkpoints are written: after records, after changes and time, and daily in any case.
func TestCheckpointIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointRecords = 100 })
		count := func() int { return strings.Count(g.events(), "checkpoint at") }
		wait := func(d time.Duration, want int, why string) {
			t.Helper()
			time.Sleep(d)
			if got := count(); got != want {
				t.Errorf("%s: %d checkpoints, want %d", why, got, want)
			}
		}
		wait(10*time.Minute+time.Second, 1, "the owner record is a change")
		wait(23*time.Hour, 1, "no changes")
		wait(time.Hour+time.Second, 2, "daily")
		for range 99 {
			g.mustCommit("g", "t", 0, 1)
		}
		wait(2*time.Second, 2, "too few records")
		g.mustCommit("g", "t", 0, 1)
		wait(2*time.Second, 3, "enough records")
		for i := range int32(200) {
			g.mustCommit("g", "t", i, 1)
		}
		wait(2*time.Second, 3, "fewer than the 201 entries that a checkpoint would have")
		g.mustCommit("g", "t", 0, 1)
		wait(2*time.Second, 4, "as many")
		g.mustStop()
		time.Sleep(25 * time.Hour)
		g = startGateway(t, s, "b", func(c *statelog.Config) { c.CheckpointRecords = 100 })
		wait(2*time.Second, 1, "one older than a day, at the start")
		g.mustStop()
	})
}

// A checkpoint that was not ended does not count, and the next one does.
func TestCheckpointCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 7)
		failed := 0
		s.Fail(func(_ int, messages []statelog.Message) statelogtest.Fault {
			if last := messages[0].Payload; last[1] == 3 { // the end of a checkpoint
				failed++
				return statelogtest.Refused
			}
			return statelogtest.None
		})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if failed == 0 || g.saw("checkpoint at") {
			t.Errorf("%d ends of checkpoints failed; %v", failed, g.events())
		}
		equal(t, []string{"g/t/0=7"}, stored(t, s))
		s.Fail(nil)
		time.Sleep(2 * time.Second)
		if !g.saw("checkpoint at") {
			t.Error("no checkpoint")
		}
		equal(t, []string{"g/t/0=7"}, stored(t, s))
		g.mustStop()
	})
}

// The older of two gateways notices within a second that it has been taken over, also when it has nothing to write, and
// all its partitions stop.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(3)
		older := startGateway(t, s, "older")
		older.mustCommit("g", "t", 0, 1)
		newer := startGateway(t, s, "newer")
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-older.Fenced():
		default:
			t.Error("the older one is not fenced")
		}
		appends := s.Appends()
		if err := older.commit("g", "t", 0, 2); !errors.Is(err, coordinator.ErrNotCoordinator) {
			t.Errorf("commit: %v", err)
		}
		if _, err := older.ReserveProducerIDs(t.Context(), 0, 0, 1); !errors.Is(err, coordinator.ErrNotCoordinator) {
			t.Errorf("producer ids: %v", err)
		}
		if err := older.Groups().Load(t.Context(), nil); !errors.Is(err, coordinator.ErrNotCoordinator) {
			t.Errorf("load: %v", err)
		}
		if err := <-older.result; !errors.Is(err, statelog.ErrFenced) {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(time.Hour - time.Minute*55)
		equal(t, appends, s.Appends())
		newer.mustCommit("g", "t", 0, 3)
		equal(t, []string{"g/t/0=3"}, stored(t, s))
		newer.mustStop()
	})
}

// What a gateway appends after it was taken over is refused, and does not count for those who load later; also when the
// append is on its way while the other one starts, and the answer to it does not come.
func TestLateWritesOfAFencedGateway(t *testing.T) {
	for _, fault := range []statelogtest.Fault{statelogtest.None, statelogtest.Unanswered, statelogtest.Late} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := statelogtest.New(1)
				older := startGateway(t, s, "older")
				older.mustCommit("g", "t", 0, 1)
				newer := startGateway(t, s, "newer")
				s.FailNext(1, fault)
				if err := older.commit("g", "t", 0, 2); !errors.Is(err, coordinator.ErrNotCoordinator) {
					t.Errorf("commit: %v", err)
				}
				s.Arrive()
				newer.mustCommit("h", "t", 0, 5)
				equal(t, []string{"g/t/0=1", "h/t/0=5"}, stored(t, s))
				time.Sleep(11 * time.Minute) // over a checkpoint
				equal(t, []string{"g/t/0=1", "h/t/0=5"}, stored(t, s))
				if newer.saw("disagree") {
					t.Error(newer.events())
				}
				newer.mustStop()
				<-older.result
			})
		})
	}
}

// Both gateways start at the same moment: at most one goes on.
func TestSimultaneousStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(2)
		s.Delay = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		for _, boot := range []string{"a", "b"} {
			log, err := statelog.New(statelog.Config{Storage: s, BootID: boot})
			if err != nil {
				t.Fatal(err)
			}
			go func() { results <- log.Run(ctx) }()
		}
		if err := <-results; !errors.Is(err, statelog.ErrFenced) {
			t.Errorf("Run: %v", err)
		}
		cancel()
		<-results
	})
}

// An append whose answer is lost is looked for, and succeeds if it is there.
func TestUnansweredAppendIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		s.FailNext(1, statelogtest.Unanswered)
		g.mustCommit("g", "t", 0, 1)
		s.FailNext(1, statelogtest.Refused)
		if err := g.commit("g", "t", 0, 2); err == nil {
			t.Error("an append that was refused succeeded")
		}
		equal(t, []string{"g/t/0=1"}, stored(t, s))
		g.mustCommit("g", "t", 0, 3)
		equal(t, []string{"g/t/0=3"}, stored(t, s))
		g.mustStop()
	})
}

// What waits when an append fails fails with it. What is asked for upon the news of that is tried, however soon it comes.
func TestAppendUponTheNewsOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		s.Delay = time.Millisecond
		g := startGateway(t, s, "a")
		offset := func(group string, done func(error)) {
			g.Groups().Append(group, []coordinator.Change{coordinator.OffsetCommitted{
				TopicPartition: coordinator.TopicPartition{Topic: "t"}, Offset: coordinator.Offset{Position: 1},
			}}, done)
		}
		s.FailNext(1, statelogtest.Refused)
		before := s.Appends()
		again, waited := make(chan error, 1), make(chan error, 1)
		offset("first", func(err error) {
			if err == nil {
				t.Error("an append that was refused succeeded")
			}
			offset("again", func(err error) { again <- err })
		})
		synctest.Wait() // the first one is on its way
		offset("waits", func(err error) { waited <- err })
		if err := <-waited; !errors.Is(err, statelogtest.ErrInjected) {
			t.Errorf("what waited: %v", err)
		}
		if err := <-again; err != nil {
			t.Errorf("what was asked for upon the news: %v", err)
		}
		if n := s.Appends() - before; n != 2 {
			t.Errorf("%d appends", n)
		}
		equal(t, []string{"again/t/0=1"}, stored(t, s))
		g.mustStop()
	})
}

// An append that was given up on comes late: nobody was told that it succeeded, so it must not count.
func TestLateAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 1)
		s.FailNext(1, statelogtest.Late)
		if err := g.commit("g", "t", 0, 2); err == nil {
			t.Error("an append that is late succeeded")
		}
		s.Arrive()
		equal(t, []string{"g/t/0=2"}, stored(t, s)) // until somebody looks
		g.mustCommit("h", "t", 0, 5)
		equal(t, []string{"g/t/0=1", "h/t/0=5"}, stored(t, s))
		if !g.saw("an append that had been given up on came to offset 2") {
			t.Error(g.events())
		}
		g.mustStop()
	})
}

// The storage is killed and loses what it had not flushed, the owner record included: what was acknowledged is written
// again, within a second or before the next commit is answered.
func TestStorageWentBack(t *testing.T) {
	for _, commit := range []bool{false, true} {
		t.Run(fmt.Sprint("commit ", commit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := statelogtest.New(1)
				g := startGateway(t, s, "a")
				for i := range int32(5) {
					g.mustCommit("g", "t", i, 1)
				}
				s.Lose(0, 100)
				want := []string{"g/t/0=1", "g/t/1=1", "g/t/2=1", "g/t/3=1", "g/t/4=1"}
				if commit {
					g.mustCommit("h", "t", 0, 1)
					want = append(want, "h/t/0=1")
				} else {
					time.Sleep(1100 * time.Millisecond)
				}
				equal(t, want, stored(t, s))
				if !g.saw("agrees with the state in memory again") {
					t.Error(g.events())
				}
				g.mustStop()
			})
		})
	}
}

// The storage went back, and another gateway has started on what was left: that one owns it.
func TestWentBackAndTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		first := startGateway(t, s, "first")
		first.mustCommit("g", "t", 0, 1)
		first.mustStop()
		older := startGateway(t, s, "older")
		for range 20 {
			older.mustCommit("g", "t", 0, 2)
		}
		s.Lose(0, 21) // its owner record too
		newer := startGateway(t, s, "newer")
		newer.mustCommit("h", "t", 0, 1)
		if err := older.commit("g", "t", 0, 3); !errors.Is(err, coordinator.ErrNotCoordinator) {
			t.Errorf("commit: %v", err)
		}
		<-older.result
		newer.mustCommit("h", "t", 0, 2)
		equal(t, []string{"g/t/0=1", "h/t/0=2"}, stored(t, s))
		newer.mustStop()
	})
}

// A storage that is down at the start, and later.
func TestStorageDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(2)
		s.Down(true)
		time.AfterFunc(time.Minute, func() { s.Down(false) })
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 1)
		s.Down(true)
		begun := time.Now()
		for range 3 {
			if err := g.commit("g", "t", 0, 2); !errors.Is(err, statelogtest.ErrInjected) {
				t.Errorf("commit: %v", err)
			}
		}
		err := g.SetQuota(t.Context(), "q", map[string]string{"a": "b"})
		if !errors.Is(err, coordinator.ErrNotAvailable) || !errors.Is(err, statelogtest.ErrInjected) {
			t.Errorf("quota: %v", err)
		}
		if waited := time.Since(begun); waited > 10*time.Second {
			t.Errorf("refused after %v", waited)
		}
		time.Sleep(time.Minute)
		s.Down(false)
		g.mustCommit("g", "t", 0, 3)
		equal(t, []string{"g/t/0=3"}, stored(t, s))
		if n := strings.Count(g.events(), "is down"); n > 8 {
			t.Errorf("%d lines about one failure", n)
		}
		g.mustStop()
	})
}

// Appends that wait at the same time go out together, in the order in which they came; what is too much is refused.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		s.Delay = 100 * time.Millisecond
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.MaxMessage, c.MaxRecord, c.MaxQueued = 1000, 5000, 20_000 })
		before := s.Appends()
		var order []int
		full := 0
		for i := range 500 {
			if i == 1 {
				synctest.Wait() // the first one is on its way, the others wait for it
			}
			g.Groups().Append("g", []coordinator.Change{coordinator.OffsetCommitted{
				Offset: coordinator.Offset{Position: int64(i), Metadata: strings.Repeat("x", 40)},
			}}, func(err error) {
				switch {
				case errors.Is(err, statelog.ErrQueueFull):
					full++
				case err != nil:
					t.Error(err)
				default:
					order = append(order, i)
				}
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if full == 0 || full+len(order) != 500 || s.Appends()-before > 2 {
			t.Errorf("%d refused, %d written in %d appends", full, len(order), s.Appends()-before)
		}
		if !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
		large := func(n int) error {
			done := make(chan error, 1)
			g.Groups().Append("large", []coordinator.Change{coordinator.GroupSaved{Snapshot: coordinator.Snapshot{
				Members: []coordinator.MemberSnapshot{{MemberID: "m", Assignment: make([]byte, n)}},
			}}}, func(err error) { done <- err })
			return <-done
		}
		if err := large(4000); err != nil {
			t.Errorf("a record in parts: %v", err)
		}
		if err := large(5000); !errors.Is(err, statelog.ErrRecordTooLarge) {
			t.Errorf("a record that is too large: %v", err)
		}
		for _, m := range s.Messages(0) {
			if len(m.Payload) > 1000 {
				t.Errorf("a message of %d bytes", len(m.Payload))
			}
		}
		assignment := 0
		err := statelog.ReadGroups(t.Context(), s, func(_ string, c coordinator.Change) error {
			if saved, ok := c.(coordinator.GroupSaved); ok {
				assignment = len(saved.Members[0].Assignment)
			}
			return nil
		})
		if err != nil || assignment != 4000 {
			t.Errorf("read an assignment of %d bytes, %v", assignment, err)
		}
		g.mustStop()
	})
}

func TestConfigValidate(t *testing.T) {
	_, err := statelog.New(statelog.Config{MaxMessage: 10, MaxRecord: 5, MaxQueued: 1, TailInterval: -1, ReadMessages: -1})
	for _, want := range []string{
		"Storage is not set", "BootID is not set", "MaxMessage 10 is below 256", "MaxRecord 5 is below", "MaxQueued 1 is below",
		"TailInterval -1ns is negative", "ReadMessages -1 is negative",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
