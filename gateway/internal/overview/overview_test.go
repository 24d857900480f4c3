// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

func look(t *testing.T, s *Source) *Snapshot {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// known is a rate of so many messages a second, of ten bytes each.
func known(messages float64) Rate { return Rate{Known: true, Messages: messages, Bytes: 10 * messages} }

func TestTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iggy := newFakeTopics()
		s := New(iggy, &fakeGroups{})
		iggy.set("a", bounds(0, 100), bounds(10, 20))
		iggy.set("still", bounds(0, 5))

		first := look(t, s)
		want := []Topic{
			{Topic: iggy.topics[0], Messages: 110, Size: 1100, Partitions: []Partition{{Start: 0, End: 100, Size: 1000}, {Start: 10, End: 20, Size: 100}}},
			{Topic: iggy.topics[1], Messages: 5, Size: 50, Partitions: []Partition{{Start: 0, End: 5, Size: 50}}},
		}
		if diff := cmp.Diff(want, first.Topics, cmpopts.IgnoreUnexported(bridge.Topic{})); diff != "" {
			t.Errorf("first (-want +got):\n%s", diff)
		}
		if first.TopicsStatus != (Status{AsOf: first.Time}) || first.HiddenTopics != 1 {
			t.Errorf("%+v, %d hidden", first.TopicsStatus, first.HiddenTopics)
		}

		time.Sleep(maxAge - 1)
		if look(t, s) != first {
			t.Error("a snapshot that is young enough is not shared")
		}

		// In partition 0 messages come in, in 1 too, and retention takes some away.
		time.Sleep(10*time.Second - maxAge + 1)
		iggy.askedFor()
		iggy.set("a", bounds(0, 150), bounds(30, 40))
		second := look(t, s)
		if diff := cmp.Diff([]string{"a"}, iggy.askedFor()); diff != "" {
			t.Errorf("asked about (-want +got):\n%s", diff)
		}
		want = []Topic{
			{Topic: iggy.topics[0], Messages: 160, Size: 1600, Rate: known(7), Partitions: []Partition{
				{Start: 0, End: 150, Size: 1500, Rate: known(5)}, {Start: 30, End: 40, Size: 100, Rate: known(2)},
			}},
			{Topic: iggy.topics[1], Messages: 5, Size: 50, Rate: known(0), Partitions: []Partition{{Start: 0, End: 5, Size: 50, Rate: known(0)}}},
		}
		if diff := cmp.Diff(want, second.Topics, cmpopts.IgnoreUnexported(bridge.Topic{})); diff != "" {
			t.Errorf("second (-want +got):\n%s", diff)
		}
		if first.Topics[1].Partitions[0].Rate.Known {
			t.Error("a snapshot was changed after it had been shown")
		}

		// Nothing happens: the rate goes to zero, and a topic that seems unchanged is asked about all the same after a while.
		time.Sleep(5 * time.Second)
		if third := look(t, s); third.Topics[0].Rate != known(0) || third.Topics[0].Partitions[0].Rate != known(0) {
			t.Errorf("at rest: %+v", third.Topics[0])
		}
		if asked := iggy.askedFor(); asked != nil {
			t.Errorf("asked about %v", asked)
		}
		time.Sleep(measureAge)
		look(t, s)
		if diff := cmp.Diff([]string{"a", "still"}, iggy.askedFor()); diff != "" {
			t.Errorf("asked about (-want +got):\n%s", diff)
		}

		// A topic with more partitions, one that is gone, and one that goes while it is asked about.
		time.Sleep(maxAge)
		iggy.set("a", bounds(0, 150), bounds(30, 40), bounds(0, 0))
		iggy.set("going", bounds(0, 7))
		iggy.topics = []*bridge.Topic{iggy.topics[0], iggy.topics[2]}
		iggy.failed["going"] = bridge.ErrTopicNotFound
		last := look(t, s)
		if last.TopicsStatus.Err != nil || len(last.Topics) != 2 || len(last.Topics[0].Partitions) != 3 {
			t.Errorf("%+v", last)
		}
		if going, ok := last.Topic("going"); !ok || going.Partitions != nil || going.Messages != 7 {
			t.Errorf("%+v %v", going, ok)
		}
		if _, ok := last.Topic("still"); ok || len(s.topics.measured) != 1 {
			t.Errorf("what is gone is remembered: %v", s.topics.measured)
		}
	})
}

// While Iggy is away the last that was known is shown, with when it was so.
func TestIggyAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		iggy := newFakeTopics()
		s := New(iggy, &fakeGroups{})
		iggy.err = away
		never := look(t, s)
		if diff := cmp.Diff(Status{Err: away}, never.TopicsStatus, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("never there (-want +got):\n%s", diff)
		}
		if never.GroupsStatus.Err != nil {
			t.Errorf("groups: %v", never.GroupsStatus.Err)
		}

		time.Sleep(maxAge)
		iggy.err = nil
		iggy.set("a", bounds(0, 1))
		there := look(t, s)
		for range 3 {
			time.Sleep(maxAge)
			iggy.err = away
			got := look(t, s)
			if diff := cmp.Diff(Status{AsOf: there.Time, Err: away}, got.TopicsStatus, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(got.Topics) != 1 {
				t.Errorf("topics: %+v", got.Topics)
			}
		}
	})
}

// A topic of which Iggy does not tell, as the gateway may not read it, says nothing of the others; it is asked about again.
func TestUnreadableTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		iggy := newFakeTopics()
		s := New(iggy, &fakeGroups{})
		iggy.set("a", bounds(0, 2))
		iggy.set("bb", bounds(0, 1))
		iggy.failed["bb"] = refused
		for range 2 {
			got := look(t, s)
			if got.TopicsStatus != (Status{AsOf: got.Time}) || got.Topics[0].Messages != 2 || got.Topics[0].Err != nil {
				t.Errorf("%+v", got)
			}
			if b := got.Topics[1]; b.Err != refused || b.Partitions != nil || b.Messages != 1 {
				t.Errorf("%+v", b)
			}
			time.Sleep(maxAge)
		}
		delete(iggy.failed, "bb")
		if b := look(t, s).Topics[1]; b.Err != nil || len(b.Partitions) != 1 {
			t.Errorf("readable again: %+v", b)
		}
		time.Sleep(maxAge)
		iggy.failed["bb"] = refused
		iggy.set("bb", bounds(0, 9))
		if b := look(t, s).Topics[1]; b.Err != refused || len(b.Partitions) != 1 || b.Messages != 1 {
			t.Errorf("as it was last known: %+v", b)
		}
	})
}

// An Iggy that hangs holds nobody up for longer than a build may take; who gives up waiting says nothing of it.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iggy := newFakeTopics()
		iggy.wait = make(chan struct{})
		s := New(iggy, &fakeGroups{list: []coordinator.Listing{{ID: "g"}}, members: map[string]coordinator.Description{"g": {}}})
		begin := time.Now()
		done := make(chan *Snapshot)
		for range 3 {
			go func() { done <- look(t, s) }()
		}
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Snapshot(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		one := <-done
		if other := <-done; other != one {
			t.Error("not shared")
		}
		if other := <-done; other != one {
			t.Error("not shared")
		}
		if took := time.Since(begin); took != topicsTimeout || !errors.Is(one.TopicsStatus.Err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", one.TopicsStatus.Err, took)
		}
		if one.GroupsStatus != (Status{AsOf: one.Time}) || len(one.Groups) != 1 {
			t.Errorf("groups, which are in memory: %+v, %v", one.GroupsStatus, one.Groups)
		}

		// The one who builds gives up: another builds, and nothing is made of it.
		time.Sleep(maxAge)
		gone, leave := context.WithCancel(t.Context())
		go s.Snapshot(gone)
		synctest.Wait()
		go func() { done <- look(t, s) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		if s.current.Load() != one {
			t.Error("a snapshot was made for who had gone")
		}
		if got := <-done; got == one {
			t.Error("no new snapshot")
		}
	})
}

func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iggy := newFakeTopics()
		iggy.set("a", bounds(0, 100), bounds(10, 20))
		id := iggy.topics[0].ID.String()
		groups := &fakeGroups{
			list: []coordinator.Listing{{ID: "empty", Type: "classic"}, {ID: "gone", Type: "classic"}, {ID: "readers", Type: "classic"}},
			members: map[string]coordinator.Description{
				"empty": {State: coordinator.Empty},
				"readers": {State: coordinator.Stable, ProtocolType: "consumer", Protocol: "range", Members: []coordinator.MemberDescription{
					{MemberID: "m1", InstanceID: "i", ClientID: "c", ClientHost: "/::1", Assignment: []byte("\x00\x01\x00\x00\x00\x01\x00\x01a\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff")},
					{MemberID: "m2"},
				}},
			},
			offsets: map[string][]coordinator.OffsetResult{"readers": {
				{TopicPartition: coordinator.TopicPartition{Topic: "a", Partition: 0}, TopicID: id, Offset: 40},
				{TopicPartition: coordinator.TopicPartition{Topic: "a", Partition: 1}, Offset: 25}, // committed since the ends were learnt
				{TopicPartition: coordinator.TopicPartition{Topic: "a", Partition: 7}, TopicID: id, Offset: 1},
				{TopicPartition: coordinator.TopicPartition{Topic: "a", Partition: 0}, TopicID: "another", Offset: 3},
				{TopicPartition: coordinator.TopicPartition{Topic: "z", Partition: 0}, Offset: 2},
			}},
		}
		s := New(iggy, groups)
		snap := look(t, s)
		want := []Group{
			{ID: "empty", State: "Empty", Type: "classic", Members: []Member{}, Offsets: []Offset{}},
			{
				ID: "readers", State: "Stable", Type: "classic", ProtocolType: "consumer", Protocol: "range", Lag: 60, LagKnown: true,
				Members: []Member{{ID: "m1", InstanceID: "i", ClientID: "c", Host: "/::1"}, {ID: "m2"}},
				Offsets: []Offset{{"a", 0, 40, 0, 100, 60}, {"a", 1, 25, 10, 20, 0}, {"a", 7, 1, -1, -1, -1}, {"a", 0, 3, -1, -1, -1}, {"z", 0, 2, -1, -1, -1}},
			},
		}
		if diff := cmp.Diff(want, snap.Groups, cmpopts.IgnoreUnexported(Member{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		readers, _ := snap.Group("readers")
		if got, ok := readers.Members[0].Assigned(); !ok || !cmp.Equal(got, []Assigned{{"a", []int32{0, 1}}}) {
			t.Errorf("assigned %v %v", got, ok)
		}
		if got, ok := readers.Members[1].Assigned(); !ok || got != nil {
			t.Errorf("not assigned anything: %v %v", got, ok)
		}
		if _, ok := snap.Group("gone"); ok {
			t.Error("a group that has gone is shown")
		}

		time.Sleep(maxAge)
		groups.err = coordinator.ErrNotCoordinator
		later := look(t, s)
		if later.GroupsStatus != (Status{snap.Time, coordinator.ErrNotCoordinator}) || len(later.Groups) != 2 {
			t.Errorf("%+v", later)
		}
	})
}

// Without Iggy there are no topics, and nothing is wrong with that.
func TestDetached(t *testing.T) {
	snap := look(t, New(nil, &fakeGroups{}))
	if snap.TopicsStatus.Err != nil || snap.Topics != nil {
		t.Errorf("%+v", snap)
	}
}

// Memory is bounded, whatever clients make.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iggy := newFakeTopics()
		iggy.set("a", make([]bridge.Bounds, MaxPartitions)...)
		iggy.set("b", bounds(0, 1))
		many := make([]coordinator.OffsetResult, MaxOffsets-1)
		groups := &fakeGroups{
			list:    []coordinator.Listing{{ID: "1"}, {ID: "2"}, {ID: "3"}},
			members: map[string]coordinator.Description{"1": {}, "2": {}, "3": {}},
			offsets: map[string][]coordinator.OffsetResult{"1": many, "2": many[:2], "3": nil},
		}
		snap := look(t, New(iggy, groups))
		if snap.TopicsStatus != (Status{snap.Time, ErrTooManyPartitions}) || len(snap.Topics) != 2 {
			t.Errorf("%+v, %d topics", snap.TopicsStatus, len(snap.Topics))
		}
		if len(snap.Topics[0].Partitions) != MaxPartitions || snap.Topics[1].Partitions != nil {
			t.Error("the wrong ones were left out")
		}
		var got []int
		var cut []bool
		for _, g := range snap.Groups {
			got, cut = append(got, len(g.Offsets)), append(cut, g.OffsetsCut)
		}
		if diff := cmp.Diff([]int{MaxOffsets - 1, 1, 0}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{false, true, false}, cut); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
