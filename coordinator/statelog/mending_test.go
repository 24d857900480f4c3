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
		g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointInterval = time.Second })
		begun := time.Now() // the tail is looked at every second from now
		var want []string
		for i := range 10 {
			// Before, in and behind the look, which takes 20 ms.
			time.Sleep(time.Until(begun.Add(time.Duration(i+1)*time.Second + time.Duration(i-2)*5*time.Millisecond)))
			g.mustCommit(fmt.Sprint("g", i), "t", 0, 1)
			want = append(want, fmt.Sprintf("g%d/t/0=1", i))
			time.Sleep(500 * time.Millisecond)
			equal(t, want, stored(t, s))
		}
		if n := strings.Count(g.events(), "checkpoint at"); n < 9 {
			t.Errorf("%d checkpoints", n)
		}
		g.mustStop()
	})
}
