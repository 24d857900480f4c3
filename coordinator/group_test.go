// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// answerTo returns the answer to a request among effects.
func answerTo[R coordinator.Result](t *testing.T, effects []coordinator.Effect, id coordinator.RequestID) (R, error) {
	t.Helper()
	for _, e := range effects {
		if r, ok := e.(coordinator.Reply); ok && r.Request == id {
			return r.Result.(R), r.Err
		}
	}
	t.Fatalf("request %d is not answered: %v", id, effects)
	panic("unreachable")
}

// newStable returns a group with the member a-1 of a session of 10 seconds, Stable since time zero.
func newStable(t *testing.T, join coordinator.Join, assignment []byte) *coordinator.Group {
	t.Helper()
	cfg := coordinator.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	g := coordinator.NewGroup("g", &cfg)
	start := time.Unix(0, 0)
	join.Request, join.Unique = 1, "1"
	if _, err := answerTo[coordinator.JoinResult](t, g.Step(start, join), 1); err != nil {
		t.Fatal(err)
	}
	effects := g.Step(start, coordinator.Sync{
		Request: 2, MemberID: "a-1", Generation: 1,
		Assignments: []coordinator.Assignment{{MemberID: "a-1", Data: assignment}},
	})
	for _, e := range effects {
		if w, ok := e.(coordinator.Write); ok {
			g.Step(start, coordinator.Written{ID: w.ID})
		}
	}
	if g.State() != coordinator.Stable || g.Generation() != 1 {
		t.Fatalf("group is %v in generation %d", g.State(), g.Generation())
	}
	return g
}

// A caller that is late with Tick must not let a member in whose session is over.
func TestStepComesAfterWhatIsDue(t *testing.T) {
	g := newStable(t, joinAs("a"), nil)
	at, ok := g.NextDeadline()
	if want := time.Unix(10, 0); !ok || at.After(want) {
		t.Errorf("next deadline %v, %v, want at most %v", at, ok, want)
	}
	beat := coordinator.Heartbeat{Request: 3, MemberID: "a-1", Generation: 1}
	if _, err := answerTo[coordinator.HeartbeatResult](t, g.Step(time.Unix(10, 0), beat), 3); !errors.Is(err, coordinator.ErrUnknownMemberID) {
		t.Errorf("heartbeat at the end of the session: %v", err)
	}
}

// Gateways decode requests into memory that they use again.
func TestGroupKeepsNothingOfTheCallers(t *testing.T) {
	metadata, assignment := []byte("metadata"), []byte("assignment")
	join := joinAs("a")
	join.Protocols[0].Metadata = metadata
	join.Topics = []string{"t"}
	g := newStable(t, join, assignment)
	clear(metadata)
	clear(assignment)
	join.Topics[0] = "other"
	member := g.Describe().Members[0]
	if string(member.Metadata) != "metadata" || string(member.Assignment) != "assignment" {
		t.Errorf("group keeps %q and %q", member.Metadata, member.Assignment)
	}
	deleted, err := answerTo[coordinator.DeleteOffsetsResult](t, g.Step(time.Unix(1, 0), coordinator.DeleteOffsets{
		Request: 3, Partitions: []coordinator.TopicPartition{{Topic: "t"}},
	}), 3)
	if err != nil || !errors.Is(deleted.Errs[0], coordinator.ErrGroupSubscribedToTopic) {
		t.Errorf("offsets of a subscribed topic: %v, %v", deleted, err)
	}
}

// A snapshot that nobody of this program wrote, without a leader and with a member twice, makes a group that works.
func TestRestoreOfAStrangeSnapshot(t *testing.T) {
	cfg := coordinator.DefaultConfig()
	g := coordinator.NewGroup("g", &cfg)
	member := coordinator.MemberSnapshot{
		MemberID: "a", SessionTimeout: 10 * time.Second, Protocols: []coordinator.Protocol{{Name: "range"}},
	}
	g.Restore(coordinator.GroupSaved{Snapshot: coordinator.Snapshot{
		Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "nobody",
		Members: []coordinator.MemberSnapshot{member, member},
	}})
	g.Resume(time.Unix(0, 0))
	if members := g.Describe().Members; len(members) != 1 {
		t.Errorf("members: %v", members)
	}
	join := joinAs("a")
	join.Request, join.MemberID = 1, "a"
	joined, err := answerTo[coordinator.JoinResult](t, g.Step(time.Unix(1, 0), join), 1)
	if err != nil || joined.Leader != "a" || joined.Generation != 2 {
		t.Errorf("join: %+v, %v", joined, err)
	}
	if g.Tick(time.Unix(11, 0)); g.State() != coordinator.Empty {
		t.Errorf("after the session the group is %v", g.State())
	}
}

func TestStepRefusesWhatIsNoEvent(t *testing.T) {
	cfg := coordinator.DefaultConfig()
	defer func() {
		if recover() == nil {
			t.Error("a pointer to an event was taken")
		}
	}()
	coordinator.NewGroup("g", &cfg).Step(time.Unix(0, 0), &coordinator.Heartbeat{})
}

// The end of a write that nobody made, or that was reported before, is nothing.
func TestWrittenOfNoWrite(t *testing.T) {
	g := newStable(t, joinAs("a"), nil)
	if effects := g.Step(time.Unix(1, 0), coordinator.Written{ID: 1}); len(effects) != 0 {
		t.Errorf("effects: %v", effects)
	}
}

// What an Empty group saves is what the next generation needs: the number to go on from and the type, not the protocol.
func TestEmptyGroupSaves(t *testing.T) {
	g := newStable(t, joinAs("a"), nil)
	var saved []coordinator.Change
	leave := coordinator.Leave{Request: 3, Members: []coordinator.Identity{{MemberID: "a-1"}}}
	for _, e := range g.Step(time.Unix(1, 0), leave) {
		if w, ok := e.(coordinator.Write); ok {
			saved = append(saved, w.Changes...)
		}
	}
	want := []coordinator.Change{coordinator.GroupSaved{Snapshot: coordinator.Snapshot{
		Generation: 2, ProtocolType: "consumer", EmptySince: time.Unix(1, 0),
	}}}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
}

// A log may hold all that ever happened to a group.
func TestRestoreOfARemovedGroup(t *testing.T) {
	groups := coordinator.NewGroups(coordinator.DefaultConfig())
	for _, c := range []coordinator.Change{
		coordinator.OffsetCommitted{TopicPartition: coordinator.TopicPartition{Topic: "t"}},
		coordinator.GroupSaved{Snapshot: coordinator.Snapshot{
			Generation: 1, ProtocolType: "consumer", Members: []coordinator.MemberSnapshot{{MemberID: "a"}},
		}},
		coordinator.GroupRemoved{},
	} {
		groups.Restore("g", c)
	}
	groups.Resume(time.Unix(0, 0))
	if list := groups.List(coordinator.Filter{}); len(list) != 0 {
		t.Errorf("groups: %v", list)
	}
	if at, ok := groups.NextDeadline(); ok {
		t.Errorf("a removed group wants to be called at %v", at)
	}
}

// All offsets are what nil asks for, not an empty list.
func TestOffsetsOfNoQueries(t *testing.T) {
	cfg := coordinator.DefaultConfig()
	g := coordinator.NewGroup("g", &cfg)
	g.Restore(coordinator.OffsetCommitted{TopicPartition: coordinator.TopicPartition{Topic: "t"}})
	if all, none := g.Offsets(nil), g.Offsets([]coordinator.OffsetQuery{}); len(all) != 1 || len(none) != 0 {
		t.Errorf("offsets: all %v, of no queries %v", all, none)
	}
}

// A topic that is gone costs groups that do not read it nothing, however many offsets they have.
func TestDropTopicThatNobodyReads(t *testing.T) {
	groups := coordinator.NewGroups(coordinator.DefaultConfig())
	for p := range int32(10_000) {
		groups.Restore("g", coordinator.OffsetCommitted{TopicPartition: coordinator.TopicPartition{Topic: "t", Partition: p}})
	}
	allocs := testing.AllocsPerRun(10, func() {
		if effects := groups.DropTopic(time.Unix(0, 0), coordinator.DropTopic{Topic: "u"}); len(effects) > 0 {
			t.Errorf("%v", effects)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Offsets whose removal was not written are there as before, and go when the topic is dropped again.
func TestDropTopicAgain(t *testing.T) {
	groups := coordinator.NewGroups(coordinator.DefaultConfig())
	groups.Restore("g", coordinator.OffsetCommitted{TopicPartition: coordinator.TopicPartition{Topic: "t"}})
	groups.Resume(time.Unix(0, 0))
	for try, failure := range []error{errors.New("no storage"), nil} {
		if got := groups.Offsets("g", nil); len(got) != 1 {
			t.Errorf("try %d begins with %v", try, got)
		}
		effects := groups.DropTopic(time.Unix(0, 0), coordinator.DropTopic{Topic: "t"})
		if len(effects) != 1 {
			t.Fatalf("try %d: %v", try, effects)
		}
		groups.Step(time.Unix(0, 0), "g", coordinator.Written{ID: effects[0].(coordinator.Write).ID, Err: failure})
	}
	if got := groups.Offsets("g", nil); len(got) != 0 {
		t.Errorf("%v is left", got)
	}
}
