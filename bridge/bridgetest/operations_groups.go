// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

func (w *world) groups(c *client) {
	topic := w.newTopic(c, 3)
	name, id := w.name("members"), w.named("members")
	ask := iggywire.GetGroup{Stream: w.stream, Topic: topic, Group: id}
	join := iggywire.JoinGroup{Stream: w.stream, Topic: topic, Group: id}
	leave := iggywire.LeaveGroup(join)
	group := func() iggywire.GroupDetails { return find(c, ask, iggywire.ParseGroupDetails) }

	c.missing(ask)
	c.missing(iggywire.GetGroups{Stream: w.stream, Topic: topic})
	made := find(c, iggywire.CreateGroup{Stream: w.stream, Topic: topic, Name: name}, iggywire.ParseGroupDetails)
	want := iggywire.GroupDetails{Group: iggywire.Group{ID: made.ID, Partitions: 3, Name: name}}
	if diff := cmp.Diff(want, made); diff != "" {
		c.Errorf("made (-want +got):\n%s", diff)
	}
	if got := get(c, iggywire.GetGroups{Stream: w.stream, Topic: topic}, iggywire.ParseGroups); len(got) != 1 || got[0] != made.Group {
		c.Errorf("list %+v", got)
	}

	c.must(join)
	c.must(join) // twice is once
	if got := group(); got.Members != 1 || !cmp.Equal(owned(got), []uint32{0, 1, 2}) {
		c.Errorf("joined: %+v", got)
	}
	me := find(c, iggywire.Bare(iggywire.CodeGetMe), iggywire.ParseClientDetails)
	mine := iggywire.ClientGroup{Stream: w.streamID, Topic: find(c, iggywire.GetTopic{Stream: w.stream, Topic: topic}, iggywire.ParseTopicDetails).ID, Group: made.ID}
	if me.Groups != 1 || len(me.GroupList) != 1 || me.GroupList[0] != mine {
		c.Errorf("I am in %+v", me.GroupList)
	}
	other := w.dial(c.T, root)
	other.must(join)
	if got := group(); got.Members != 2 || !cmp.Equal(owned(got), []uint32{0, 1, 2}) || len(got.MemberList) != 2 ||
		min(len(got.MemberList[0].Partitions), len(got.MemberList[1].Partitions)) != 1 {
		c.Errorf("two members: %+v", got)
	}
	other.must(leave)
	other.refused(iggywire.StatusGroupMemberNotFound, leave)
	other.must(join)
	other.peer.close() // who is gone has left
	for deadline := time.Now().Add(patience); group().Members != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatal("a member without a connection is still one")
		}
	}
	if got := group(); !cmp.Equal(owned(got), []uint32{0, 1, 2}) {
		c.Errorf("one member again: %+v", got)
	}
	w.groupOffsets(c, topic, id)

	c.must(leave)
	c.must(iggywire.DeleteGroup{Stream: w.stream, Topic: topic, Group: id})
	c.missing(ask)
	// A group of that name has none of its offsets.
	c.must(iggywire.CreateGroup{Stream: w.stream, Topic: topic, Name: name})
	c.missing(iggywire.GetOffset{Consumer: inGroup(id), Stream: w.stream, Topic: topic, HasPartition: true})
}

// owned are the partitions that members of a group have.
func owned(g iggywire.GroupDetails) []uint32 {
	var all []uint32
	for _, m := range g.MemberList {
		all = append(all, m.Partitions...)
	}
	slices.Sort(all)
	return all
}

// groupOffsets stores, reads and deletes offsets as the only member of a group.
func (w *world) groupOffsets(c *client, topic, id iggywire.Identifier) {
	c.must(send{w.stream, topic, iggywire.ToPartition(0), w.send(0, message(1, "a"), message(2, "b")).messages})
	store := iggywire.StoreOffset{Consumer: inGroup(id), Stream: w.stream, Topic: topic, HasPartition: true}
	ask := iggywire.GetOffset{Consumer: inGroup(id), Stream: w.stream, Topic: topic, HasPartition: true}
	outsider := w.dial(c.T, root)
	for _, offset := range []uint64{1, 0} { // also back
		store.Offset = offset
		c.must(store)
		for _, from := range []*client{c, outsider} { // reading needs no membership
			if got := find(from, ask, iggywire.ParseConsumerOffset); got.StoredOffset != offset || got.CurrentOffset != 1 {
				c.Errorf("stored %d, got %+v", offset, got)
			}
		}
	}
	outsider.refused(iggywire.StatusGroupMemberNotFound, store)
	next := iggywire.Poll{
		Consumer: inGroup(id), Stream: w.stream, Topic: topic, HasPartition: true, Strategy: iggywire.PollNext, Count: 10, AutoCommit: true,
	}
	if _, got := polled(c, next); len(got) != 1 || got[0].Offset != 1 {
		c.Errorf("next behind 0: %v", got)
	}
	if got := find(c, ask, iggywire.ParseConsumerOffset); got.StoredOffset != 1 {
		c.Errorf("committed by a poll: %+v", got)
	}
	forget := iggywire.DeleteOffset(ask)
	outsider.refused(iggywire.StatusGroupMemberNotFound, forget)
	c.must(forget)
	c.refused(iggywire.StatusConsumerOffsetNotFound, forget)
	c.missing(ask)
	c.must(store)
}
