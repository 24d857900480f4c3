// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// shares are the partitions of a group's members, by ascending id.
func shares(g *group) [][]uint32 {
	var all [][]uint32
	for _, m := range g.members.all {
		all = append(all, m.partitions)
	}
	return all
}

// TestGroupShares lets members come and go: each partition always has one owner,
// and nobody has more than one partition more than another.
func TestGroupShares(t *testing.T) {
	tp := &topic{}
	for id := range uint32(7) {
		tp.partitions = append(tp.partitions, &partition{logID: logID{partition: id}})
	}
	g := &group{topic: tp}
	sessions := make([]*session, 9)
	for i := range sessions {
		sessions[i] = &session{groups: make(map[*group]struct{})}
	}
	join := func(s *session) {
		m := &member{session: s}
		g.members.add(m)
		g.welcome(m)
	}
	check := func(step string) {
		t.Helper()
		owners := make(map[uint32]int)
		least, most := len(tp.partitions), 0
		for _, share := range shares(g) {
			least, most = min(least, len(share)), max(most, len(share))
			for _, p := range share {
				owners[p]++
			}
		}
		if g.members.count > 0 && (len(owners) != len(tp.partitions) || most-least > 1) {
			t.Errorf("%s: shares %v", step, shares(g))
		}
		for p, n := range owners {
			if n != 1 {
				t.Errorf("%s: partition %d has %d owners", step, p, n)
			}
		}
	}
	for _, s := range sessions {
		join(s)
		check("join")
	}
	for _, i := range []int{3, 0, 8, 1} {
		sessions[i].leave(g)
		check("leave")
	}
	join(sessions[0])
	check("join again")
	tp.partitions = tp.partitions[:4]
	tp.groups.add(g)
	tp.rebalanceGroups()
	check("partitions gone")
}

// TestGroupPolls polls as a member without naming partitions: they take turns.
// When the other member's connection ends, its partitions are the survivor's.
func TestGroupPolls(t *testing.T) {
	s := startServer(t, Config{InMemory: true})
	conn := dial(t, s)
	login(t, conn)
	createTopic(t, conn, 4)
	stream, topic, id := iggywire.NamedID("s"), iggywire.NamedID("t"), iggywire.NamedID("g")
	do(t, conn, iggywire.CreateGroup{Stream: stream, Topic: topic, Name: "g"})
	do(t, conn, iggywire.JoinGroup{Stream: stream, Topic: topic, Group: id})
	other := dial(t, s)
	login(t, other)
	do(t, other, iggywire.JoinGroup{Stream: stream, Topic: topic, Group: id})

	turns := func(n int) []uint32 {
		var partitions []uint32
		for range n {
			r, err := iggywire.ParsePollResult(do(t, conn, iggywire.Poll{
				Consumer: iggywire.Consumer{Kind: iggywire.ConsumerGroup, ID: id},
				Stream:   stream, Topic: topic, Strategy: iggywire.PollNext, Count: 1,
			}))
			if err != nil {
				t.Fatal(err)
			}
			partitions = append(partitions, r.Partition)
		}
		return partitions
	}
	if diff := cmp.Diff([]uint32{0, 1, 0, 1}, turns(4)); diff != "" {
		t.Errorf("partitions of the first member (-want +got):\n%s", diff)
	}
	other.Close()
	for members := uint32(2); members != 1; {
		g, _, err := iggywire.ParseGroupDetails(do(t, conn, iggywire.GetGroup{Stream: stream, Topic: topic, Group: id}))
		if err != nil {
			t.Fatal(err)
		}
		members = g.Members
	}
	if diff := cmp.Diff([]uint32{0, 1, 2, 3}, turns(4)); diff != "" {
		t.Errorf("partitions of the only member (-want +got):\n%s", diff)
	}
	// A deleted topic takes the group along: the session must not stumble over it.
	do(t, conn, iggywire.DeleteTopic{Stream: stream, Topic: topic})
	me, _, err := iggywire.ParseClientDetails(do(t, conn, iggywire.Bare(iggywire.CodeGetMe)))
	if err != nil || me.Groups != 0 {
		t.Errorf("groups of the session: %+v, %v", me, err)
	}
}
