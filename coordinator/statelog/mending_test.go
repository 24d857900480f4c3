// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

// Checkpoints are written, and the tail is looked at, also under a load that never lets the queue run empty.
func TestCheckpointUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		s.Delay = 5 * time.Millisecond
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointRecords = 100 })
		stop := make(chan struct{})
		for c := range 4 {
			go func() {
				for i := int64(0); ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := g.commit(fmt.Sprint("g", c), "t", 0, i); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(c) * time.Millisecond)
				}
			}()
		}
		time.Sleep(10 * time.Minute)
		if !g.saw("checkpoint at") {
			t.Errorf("no checkpoint in 10 minutes of load, %d messages, 100 records are due", len(s.Messages(0)))
		}
		close(stop)
		time.Sleep(time.Second)
		g.mustStop()
	})
}

// An older owner that has to mend the log, and could not before it was taken over, does not take the log back.
func TestMendAfterTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		older := startGateway(t, s, "older")
		older.mustCommit("g", "t", 0, 1)
		s.FailNext(1, statelogtest.Late)
		if err := older.commit("g", "t", 0, 2); err == nil {
			t.Error("an append that is late succeeded")
		}
		s.Fail(func(_ int, m []statelog.Message) statelogtest.Fault {
			if m[0].Payload[1] == 1 { // mending is refused
				return statelogtest.Refused
			}
			return statelogtest.None
		})
		s.Arrive()
		time.Sleep(1500 * time.Millisecond) // seen by the tail look; mend fails
		s.Fail(nil)
		newer := startGateway(t, s, "newer")
		newer.mustCommit("g", "t", 0, 3)
		if err := older.commit("g", "t", 0, 4); !errors.Is(err, coordinator.ErrNotCoordinator) {
			t.Errorf("the older one committed: %v", err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		select {
		case <-newer.Fenced():
			t.Errorf("the newer gateway is fenced by the older one:\n%s", newer.events())
		default:
		}
		if err := newer.commit("g", "t", 0, 5); err != nil {
			t.Errorf("commit at the newer one: %v", err)
		}
		if err := older.stop(); !errors.Is(err, statelog.ErrFenced) {
			t.Errorf("Run of the older one: %v", err)
		}
		newer.mustStop()
	})
}

// The end of a checkpoint that was given up on comes late, within the next one: it ends neither.
func TestLateCheckpointEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.TailInterval = time.Minute })
		for i := range 8 { // some chunks
			for p := range int32(100) {
				g.Groups().Append(fmt.Sprint("g", i), []coordinator.Change{coordinator.OffsetCommitted{
					TopicPartition: coordinator.TopicPartition{Topic: "t", Partition: p},
					Offset:         coordinator.Offset{Metadata: strings.Repeat("x", 3000)},
				}}, func(err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		g.mustCommit("z", "t", 0, 1)
		want := stored(t, s)
		ends, chunks := 0, 0
		var at []string
		s.Fail(func(_ int, m []statelog.Message) statelogtest.Fault {
			switch m[0].Payload[1] {
			case 3:
				ends++
				if ends == 1 {
					return statelogtest.Late
				}
			default:
				if ends == 1 {
					chunks++
					if chunks == 3 { // begin, chunk, then
						go func() { s.Arrive(); at = stored(t, s) }()
						return statelogtest.Refused
					}
				}
			}
			return statelogtest.None
		})
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		equal(t, want, at)
		g.mustStop()
	})
}

// An append that was given up on comes behind a newer one that was acknowledged: it counts for nobody, neither for the gateway,
// which writes no checkpoint for it, nor for one that starts at that moment.
func TestLateAppendBehindANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.MaxMessage = 256 })
		long := func(position int64) error { // in parts
			done := make(chan error, 1)
			g.Groups().Append("long", []coordinator.Change{coordinator.OffsetCommitted{
				TopicPartition: coordinator.TopicPartition{Topic: "t"},
				Offset:         coordinator.Offset{Position: position, Metadata: strings.Repeat("x", 1000)},
			}}, func(err error) { done <- err })
			return <-done
		}
		s.FailNext(2, statelogtest.Late)
		if err := g.commit("g", "t", 0, 5); err == nil {
			t.Error("an append that is late succeeded")
		}
		if err := long(5); err == nil {
			t.Error("an append of parts that is late succeeded")
		}
		g.mustCommit("g", "t", 0, 7)
		if err := long(7); err != nil {
			t.Error(err)
		}
		s.Arrive()
		want := []string{"g/t/0=7", "long/t/0=7"}
		equal(t, want, stored(t, s))
		time.Sleep(1100 * time.Millisecond)
		g.mustCommit("h", "t", 0, 1)
		want = []string{"g/t/0=7", "h/t/0=1", "long/t/0=7"}
		equal(t, want, stored(t, s))
		if g.saw("disagree") {
			t.Error(g.events())
		}
		g.mustStop()
		g = startGateway(t, s, "b")
		equal(t, want, stored(t, s))
		g.mustStop()
	})
}

// What an append brings that is the same as one given up on before is not taken for that one when it comes late.
func TestLateAppendOfTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		for range 2 { // the second one finds the first one, which is not it
			s.FailNext(1, statelogtest.Late)
			if err := g.SetQuota(t.Context(), "q", map[string]string{"a": "b"}); err == nil {
				t.Error("an append that is late succeeded")
			}
			s.Arrive()
		}
		if err := g.SetQuota(t.Context(), "q", map[string]string{"a": "c"}); err != nil {
			t.Error(err)
		}
		g.mustStop()
		seen := map[uint64]bool{}
		for _, m := range s.Messages(0) {
			if m.Sequence == 0 || seen[m.Sequence] {
				t.Errorf("the message at offset %d has number %d", m.Offset, m.Sequence)
			}
			seen[m.Sequence] = true
		}
		g = startGateway(t, s, "b")
		equal(t, map[string]map[string]string{"q": {"a": "c"}}, g.Quotas())
		g.mustStop()
	})
}

// The end of a checkpoint that was given up on is the last message, and the beginning of the log is kept no more: the newer
// checkpoint is found.
func TestLateCheckpointEndComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 1)
		begin := int64(len(s.Messages(0)))
		ends := 0
		s.Fail(func(_ int, m []statelog.Message) statelogtest.Fault {
			if m[0].Payload[1] == 3 {
				if ends++; ends == 1 {
					return statelogtest.Late
				}
			}
			return statelogtest.None
		})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if ends != 2 || !g.saw("checkpoint at") {
			t.Errorf("%d ends:\n%s", ends, g.events())
		}
		g.mustCommit("g", "t", 0, 2)
		s.Arrive()
		s.Expire(0, begin)
		equal(t, []string{"g/t/0=2"}, stored(t, s))
		time.Sleep(1100 * time.Millisecond)
		g.mustStop()
		g = startGateway(t, s, "b")
		equal(t, []string{"g/t/0=2"}, stored(t, s))
		g.mustStop()
	})
}

// With another number of partitions groups would be looked for where they are not.
func TestPartitionsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(8)
		g := startGateway(t, some{s, 4}, "a")
		g.mustCommit("g", "t", 0, 1)
		g.mustStop()
		runFails(t, some{s, 5}, statelog.ErrPartitions, "written when there were 4, now there are 5")
		runFails(t, some{s, 3}, statelog.ErrPartitions, "written when there were 4, now there are 3")
		g = startGateway(t, some{s, 4}, "b")
		g.mustCommit("g", "t", 0, 2)
		g.mustStop()
	})
}

// some is a storage of which only the first partitions show.
type some struct {
	*statelogtest.Storage
	partitions int
}

func (s some) Partitions() int { return s.partitions }

// The end of the only checkpoint that is kept is lost: nobody could start from what is left, but the gateway that runs has
// everything and writes it again.
func TestWentBackAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		for i := range int32(20) {
			g.mustCommit("g", "t", i, 1)
		}
		time.Sleep(11 * time.Minute)
		if !g.saw("checkpoint at") {
			t.Fatal("no checkpoint")
		}
		m := s.Messages(0)
		s.Expire(0, m[len(m)-1].Checkpoint) // all before it is old
		s.Lose(0, 1)                        // the end of the checkpoint is lost
		g.mustCommit("g", "t", 0, 2)
		if got := stored(t, s); len(got) != 20 || got[0] != "g/t/0=2" {
			t.Errorf("%v is left", got)
		}
		g.mustStop()
	})
}

// One topic with much metadata is divided between the appends of a checkpoint.
func TestCheckpointInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		for p := range int32(1000) {
			g.Groups().Append("g", []coordinator.Change{coordinator.OffsetCommitted{
				TopicPartition: coordinator.TopicPartition{Topic: "t", Partition: p},
				Offset:         coordinator.Offset{Metadata: strings.Repeat("\u20ac", 4096)},
			}}, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		largest := 0
		s.Fail(func(_ int, m []statelog.Message) statelogtest.Fault {
			n := 0
			for _, x := range m {
				n += len(x.Payload)
			}
			largest = max(largest, n)
			return statelogtest.None
		})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if !g.saw("checkpoint at") || largest > 1<<20 {
			t.Errorf("an append of %d bytes", largest)
		}
		if got := stored(t, s); len(got) != 1000 {
			t.Errorf("%d offsets", len(got))
		}
		g.mustStop()
	})
}

// An append that names a checkpoint which the log has lost comes when the log has been mended already, as its last message:
// the newest checkpoint is found all the same.
func TestLateAppendNamesALostCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		g := startGateway(t, s, "a")
		g.mustCommit("g", "t", 0, 1)
		time.Sleep(11*time.Minute + time.Second/2) // between two looks at the tail
		if !g.saw("checkpoint at") {
			t.Fatal("no checkpoint")
		}
		s.Lose(0, 1) // its end
		s.FailNext(1, statelogtest.Late)
		if err := g.commit("g", "t", 0, 2); err == nil {
			t.Error("an append that is late succeeded")
		}
		time.Sleep(1100 * time.Millisecond)
		if !g.saw("agrees with the state in memory again") {
			t.Error(g.events())
		}
		s.Arrive()
		if got := stored(t, s); len(got) != 1 {
			t.Errorf("%v", got)
		}
		time.Sleep(1100 * time.Millisecond)
		equal(t, []string{"g/t/0=1"}, stored(t, s))
		g.mustStop()
	})
}

// A group that comes into being between the decision to write a checkpoint and its beginning is in it.
func TestNewGroupsWhileACheckpointBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := statelogtest.New(1)
		s.Delay = 10 * time.Millisecond
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointInterval = time.Second / 2 })
		begun := time.Now() // the tail is looked at every second from now
		var want []string
		for i := range 10 {
			// Before, in and behind the look, which takes 20 ms.
			time.Sleep(time.Until(begun.Add(time.Duration(i+1)*time.Second + time.Duration(i-2)*5*time.Millisecond)))
			g.mustCommit(fmt.Sprint("g", i), "t", 0, 1)
			want = append(want, fmt.Sprintf("g%d/t/0=1", i))
			time.Sleep(500 * time.Millisecond)
			equal(t, want, stored(t, s))
			// So that each look finds something to write a checkpoint of, whether the commit was before it or not.
			if err := g.SetQuota(t.Context(), "q", map[string]string{"i": fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(g.events(), "checkpoint at"); n != 10 {
			t.Errorf("%d checkpoints:\n%s", n, g.events())
		}
		g.mustStop()
	})
}
