// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// offsetScripts are about where partitions begin and end, and how far groups have read.
func offsetScripts() []script {
	return []script{
		{
			key: kmsg.ListOffsets.Int16(), run: (*parity).listOffsets, also: []int16{2, 4, 7, 8, 9},
			asked: slices.Concat(always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidRequest, kerr.UnsupportedVersion),
				since(4, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch)),
		},
		{
			key: kmsg.DeleteRecords.Int16(), run: (*parity).deleteRecords,
			asked: always(nil, kerr.OffsetOutOfRange, kerr.UnknownTopicOrPartition, kerr.PolicyViolation),
		},
		{
			key: kmsg.OffsetForLeaderEpoch.Int16(), run: (*parity).offsetForLeaderEpoch,
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch),
		},
		{
			key: kmsg.OffsetCommit.Int16(), groups: true, run: (*parity).offsetCommit, also: []int16{5, 6},
			asked: slices.Concat(always(nil, kerr.UnknownTopicOrPartition, kerr.OffsetMetadataTooLarge, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress),
				since(7, kerr.FencedInstanceID), since(9, kerr.GroupIDNotFound)),
		},
		{
			key: kmsg.OffsetFetch.Int16(), groups: true, run: (*parity).offsetFetch, also: []int16{2, 7, 8},
			asked: always(nil),
		},
		{
			key: kmsg.OffsetDelete.Int16(), groups: true, run: (*parity).offsetDelete,
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidGroupID, kerr.NonEmptyGroup, kerr.GroupIDNotFound, kerr.GroupSubscribedToTopic),
		},
	}
}

func (p *parity) listOffsets() {
	if p.first {
		p.quietly(produceRequest(9, p.topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)...))))
	}
	list := func(topic string, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
		return listOffsetsRequest(p.version, topic, timestamp, partition, -1)
	}
	add := func(req *kmsg.ListOffsetsRequest, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, list("", partition, timestamp).Topics[0].Partitions[0])
		return req
	}
	for timestamp := int64(-1); timestamp >= -7; timestamp-- {
		p.step(fmt.Sprintf("timestamp %d", timestamp), list(p.topic.name, 0, timestamp))
	}
	p.step("the times of a record, before all and after all", list(p.topic.name, 0, firstTimestamp+1))
	p.step("before all", list(p.topic.name, 0, 0))
	p.step("after all", list(p.topic.name, 0, firstTimestamp+100))
	p.step("of an empty partition", list(p.topic.name, 1, firstTimestamp))
	p.step("the end of both, and of one that is not there", add(add(list(p.topic.name, 0, -1), 1, -1), 2, -1))
	p.step("a partition below zero", list(p.topic.name, -1, -1))
	p.step("a partition twice", add(list(p.topic.name, 0, -1), 0, -2))
	p.step("a topic that is not there", list(p.missing.name, 0, -1))
	p.step("a bad name", list("a b", 0, -1))
	p.step("an empty name", list("", 0, -1))
	both := list(p.topic.name, 0, -1)
	both.Topics = append(both.Topics, list(p.topic.name, 1, -1).Topics...)
	p.step("a topic twice", both)
	both.Topics = append(both.Topics, list(p.topic.name, 0, -1).Topics...)
	p.step("a topic thrice, a partition of it twice", both)
	none := list(p.topic.name, 0, -1)
	none.Topics[0].Partitions = nil
	p.step("no partitions", none)
	none.Topics = nil
	p.step("no topics", none)
	for _, epoch := range []int32{0, 5, -2} {
		p.step(fmt.Sprintf("at leader epoch %d", epoch), listOffsetsRequest(p.version, p.topic.name, -1, 0, epoch))
	}
	for _, replica := range []int32{-2, 9} {
		req := list(p.topic.name, 0, -1)
		req.ReplicaID = replica
		p.step(fmt.Sprintf("as replica %d", replica), req)
	}
	for _, level := range []int8{1, 2} {
		req := list(p.topic.name, 0, -1)
		req.IsolationLevel = level
		var accepted []difference
		if level == 2 {
			accepted = p.onlySince(2, difference{"ErrorCode=-1", "ErrorCode=0 Offset=3" + p.since(4, " LeaderEpoch=0"), "without transactions all levels read the same"})
		}
		p.step(fmt.Sprintf("at isolation level %d", level), req, accepted...)
	}
}

func (p *parity) deleteRecords() {
	if p.first {
		p.small = p.create("compacted", 1, "cleanup.policy=compact", "retention.ms=-1")
	}
	for range 4 {
		p.quietly(produceRequest(9, p.topic, 0, one("v")))
	}
	begin := p.quietly(listOffsetsRequest(7, p.topic.name, -1, 0, -1)).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset - 4
	remove := func(topic string, partition int32, before int64) *kmsg.DeleteRecordsRequest {
		return deleteRecordsRequest(p.version, topic, partition, before)
	}
	p.step("up to the second", remove(p.topic.name, 0, begin+1))
	p.step("up to it again", remove(p.topic.name, 0, begin+1))
	p.step("up to the first", remove(p.topic.name, 0, 0))
	p.step("beyond the end", remove(p.topic.name, 0, begin+5))
	p.step("below -1", remove(p.topic.name, 0, -2))
	p.step("of a partition that is not there", remove(p.topic.name, 2, 0))
	p.step("of a partition below zero", remove(p.topic.name, -1, 0))
	p.step("of a topic that is not there", remove(p.missing.name, 0, 0))
	p.step("of bad names", remove("a b", 0, 0))
	p.step("of an empty name", remove("", 0, 0))
	p.step("where records are compacted", remove(p.small.name, 0, 0))
	both := remove(p.topic.name, 0, begin+2)
	both.Topics[0].Partitions = append(both.Topics[0].Partitions, remove("", 1, 0).Topics[0].Partitions[0], remove("", 2, 0).Topics[0].Partitions[0])
	p.step("of both, and of one that is not there", both)
	twice := remove(p.topic.name, 0, begin+3)
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, remove("", 0, begin+2).Topics[0].Partitions[0])
	p.step("a partition twice", twice)
	topics := remove(p.topic.name, 1, 0)
	topics.Topics = append(topics.Topics, remove(p.topic.name, 0, begin+3).Topics...)
	p.step("a topic twice", topics)
	all := remove(p.topic.name, 0, -1)
	all.TimeoutMillis = 0
	p.step("all, without a timeout", all)
	none := remove(p.topic.name, 0, -1)
	none.Topics[0].Partitions = nil
	p.step("no partitions", none)
	none.Topics = nil
	p.step("no topics", none)
}

func (p *parity) offsetForLeaderEpoch() {
	if p.first {
		p.quietly(produceRequest(9, p.topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)...))))
	}
	ask := func(topic string, partition, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
		return leaderEpochRequest(p.version, topic, partition, current, epoch)
	}
	for _, epoch := range []int32{0, 1, 7, -1, -2} {
		p.step(fmt.Sprintf("epoch %d", epoch), ask(p.topic.name, 0, -1, epoch))
	}
	for _, current := range []int32{0, 5, -2} {
		p.step(fmt.Sprintf("at epoch %d", current), ask(p.topic.name, 0, current, 0))
	}
	p.step("of an empty partition", ask(p.topic.name, 1, -1, 0))
	p.step("of a partition that is not there", ask(p.topic.name, 2, -1, 0))
	p.step("of a partition below zero", ask(p.topic.name, -1, -1, 0))
	p.step("of a topic that is not there", ask(p.missing.name, 0, -1, 0))
	p.step("of a bad name", ask("a b", 0, -1, 0))
	for _, replica := range []int32{-2, 9} {
		req := ask(p.topic.name, 0, -1, 0)
		req.ReplicaID = replica
		p.step(fmt.Sprintf("as replica %d", replica), req)
	}
	twice := ask(p.topic.name, 0, -1, 0)
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, ask("", 0, -1, 5).Topics[0].Partitions[0], ask("", 1, -1, 0).Topics[0].Partitions[0])
	p.step("a partition twice, another once", twice)
	topics := ask(p.topic.name, 0, -1, 0)
	topics.Topics = append(topics.Topics, ask(p.topic.name, 1, -1, 0).Topics...)
	p.step("a topic twice", topics)
	none := ask(p.topic.name, 0, -1, 0)
	none.Topics[0].Partitions = nil
	p.step("no partitions", none)
	none.Topics = nil
	p.step("no topics", none)
}

// commit is a request of one who is no member, of one offset of partition 0.
func (p *parity) commit(group, topic string, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = p.version, group, -1
	at := kmsg.NewOffsetCommitRequestTopicPartition()
	at.Offset = offset
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{at}}}
	return req
}

// committed asks for partitions of a topic.
func (p *parity) committed(group, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = p.version, group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: partitions}}
	of := kmsg.NewOffsetFetchRequestGroup()
	of.Group, of.Topics = group, []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: partitions}}
	req.Groups = []kmsg.OffsetFetchRequestGroup{of}
	return req
}

func (p *parity) offsetCommit() {
	group := p.group("simple")
	commit := func(change func(*kmsg.OffsetCommitRequest)) *kmsg.OffsetCommitRequest {
		req := p.commit(group, p.topic.name, 1)
		change(req)
		return req
	}
	asMember := func(m member, change func(*kmsg.OffsetCommitRequest)) *kmsg.OffsetCommitRequest {
		return commit(func(r *kmsg.OffsetCommitRequest) {
			r.Group, r.MemberID, r.Generation = m.group, m.id, m.generation
			change(r)
		})
	}
	same := func(*kmsg.OffsetCommitRequest) {}
	partition := func(r *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitRequestTopicPartition {
		return &r.Topics[0].Partitions[0]
	}

	p.step("by nobody, of a group that never was, at a generation", commit(func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "nobody", 3 }))
	p.step("the first of a group", commit(same))
	p.step("by nobody, of a group without members, at a generation", commit(func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "nobody", 3 }))
	p.step("backwards", commit(func(r *kmsg.OffsetCommitRequest) { partition(r).Offset = 0 }))
	p.step("below zero", commit(func(r *kmsg.OffsetCommitRequest) { partition(r).Offset = -5 }))
	p.step("beyond the end, with all that there is to keep", commit(func(r *kmsg.OffsetCommitRequest) {
		partition(r).Offset, partition(r).LeaderEpoch, partition(r).Metadata = 1<<40, 7, named("a\x00é")
	}))
	kept := p.committed(group, p.topic.name, 0)
	kept.Version = 7
	p.ask("what is kept", kept)
	p.step("no metadata", commit(func(r *kmsg.OffsetCommitRequest) { partition(r).Metadata = nil }))
	p.step("too long metadata", commit(func(r *kmsg.OffsetCommitRequest) { partition(r).Metadata = named(strings.Repeat("m", 4097)) }))
	p.step("kept for 1 ms", commit(func(r *kmsg.OffsetCommitRequest) { r.Group, r.RetentionTimeMillis = p.group("short"), 1 }))
	p.step("partitions that are not there, and one that is", commit(func(r *kmsg.OffsetCommitRequest) {
		for _, n := range []int32{1, 2, -1} {
			at := *partition(r)
			at.Partition = n
			r.Topics[0].Partitions = append(r.Topics[0].Partitions, at)
		}
	}))
	p.step("a partition twice", commit(func(r *kmsg.OffsetCommitRequest) {
		r.Topics[0].Partitions = append(r.Topics[0].Partitions, *partition(r))
	}))
	p.step("a topic twice", commit(func(r *kmsg.OffsetCommitRequest) { r.Topics = append(r.Topics, r.Topics[0]) }))
	p.step("a topic that is not there, and one that is", commit(func(r *kmsg.OffsetCommitRequest) {
		r.Topics = append(r.Topics, p.commit(group, p.missing.name, 1).Topics[0])
	}))
	p.step("a bad name", p.commit(group, "a b", 1))
	p.step("an empty name", p.commit(group, "", 1))
	p.withNameless(func() {
		p.step("an empty group id", p.commit("", p.topic.name, 1))
		p.step("an empty group id, at a generation", commit(func(r *kmsg.OffsetCommitRequest) { r.Group, r.MemberID, r.Generation = "", "nobody", 3 }))
	})
	p.step("no partitions", commit(func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions = nil }))
	p.step("no topics", commit(func(r *kmsg.OffsetCommitRequest) { r.Topics = nil }))

	m := p.stable("members")
	p.step("by a member", asMember(m, same))
	p.step("by a member at a generation to come", asMember(m, func(r *kmsg.OffsetCommitRequest) { r.Generation++ }))
	p.step("by a member at none", asMember(m, func(r *kmsg.OffsetCommitRequest) { r.Generation = -1 }))
	p.step("by an unknown member", asMember(m, func(r *kmsg.OffsetCommitRequest) { r.MemberID = "nobody" }))
	p.step("by no member", asMember(m, func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "", -1 }))
	p.step("by an unknown instance", asMember(m, func(r *kmsg.OffsetCommitRequest) { r.InstanceID = named("nobody") }))
	static := p.stableStatic("static", "instance")
	p.step("by a static member", asMember(static, func(r *kmsg.OffsetCommitRequest) { r.InstanceID = named("instance") }))
	p.step("by a static member of another id", asMember(static, func(r *kmsg.OffsetCommitRequest) { r.InstanceID, r.MemberID = named("instance"), "nobody" }))
	completing := p.completing("completing")
	p.step("by a member that is not assigned yet", asMember(completing, same))
	preparing, _ := p.preparing("preparing")
	p.step("by a member that is to join again", asMember(preparing, same))
}

func (p *parity) offsetFetch() {
	group, none := p.group("group"), p.group("none")
	commit := p.commit(group, p.topic.name, 7)
	commit.Version, commit.Topics[0].Partitions[0].LeaderEpoch, commit.Topics[0].Partitions[0].Metadata = 8, 3, named("kept")
	p.quietly(commit)
	groups := func(change func(*kmsg.OffsetFetchRequest, *kmsg.OffsetFetchRequestGroup)) *kmsg.OffsetFetchRequest {
		req := p.committed(group, p.topic.name, 0, 1)
		change(req, &req.Groups[0])
		return req
	}
	p.step("committed, never committed, not there, below zero", p.committed(group, p.topic.name, 0, 1, 2, -1))
	p.step("a topic that is not there", p.committed(group, p.missing.name, 0))
	p.step("a bad name", p.committed(group, "a b", 0))
	p.step("an empty name", p.committed(group, "", 0))
	p.step("a partition twice", p.committed(group, p.topic.name, 0, 0))
	p.step("a topic twice", groups(func(r *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) {
		r.Topics, g.Topics = append(r.Topics, r.Topics[0]), append(g.Topics, g.Topics[0])
	}))
	p.step("no partitions", p.committed(group, p.topic.name))
	p.step("no topics", groups(func(r *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) {
		r.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}))
	p.step("a group that never was", p.committed(none, p.topic.name, 0))
	p.withNameless(func() { p.step("an empty group id", p.committed("", p.topic.name, 0, 1)) })
	if p.version >= 2 {
		all := func(r *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) { r.Topics, g.Topics = nil, nil }
		p.step("all topics", groups(all))
		p.step("all topics of a group that never was", groups(func(r *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) {
			all(r, g)
			r.Group, g.Group = none, none
		}))
	}
	p.step("stable offsets alone", groups(func(r *kmsg.OffsetFetchRequest, _ *kmsg.OffsetFetchRequestGroup) { r.RequireStable = true }))
	if p.version < 8 {
		return
	}
	p.step("two groups, one of them twice", groups(func(r *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) {
		r.Groups = append(r.Groups, p.committed(none, p.topic.name, 0).Groups[0], *g)
	}))
	p.step("no groups", groups(func(r *kmsg.OffsetFetchRequest, _ *kmsg.OffsetFetchRequestGroup) { r.Groups = nil }))
	p.step("by nobody, at an epoch", groups(func(_ *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) {
		g.MemberID, g.MemberEpoch = named("nobody"), 9
	}))
}

func (p *parity) offsetDelete() {
	remove := func(group, topic string, partitions ...int32) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		of := kmsg.OffsetDeleteRequestTopic{Topic: topic}
		for _, n := range partitions {
			of.Partitions = append(of.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: n})
		}
		req.Topics = []kmsg.OffsetDeleteRequestTopic{of}
		return req
	}
	group, other := p.group("group"), p.create("other", 1)
	keep := func() {
		commit := p.commit(group, p.topic.name, 7)
		commit.Version = 8
		p.quietly(commit)
	}
	keep()
	p.step("kept, not kept, not there", remove(group, p.topic.name, 0, 1, 2))
	p.step("of a group without offsets", remove(group, p.topic.name, 0))
	keep()
	p.step("a partition twice", remove(group, p.topic.name, 0, 0))
	keep()
	p.step("a topic that is not there", remove(group, p.missing.name, 0))
	p.step("a bad name", remove(group, "a b", 0))
	twice := remove(group, p.topic.name, 0)
	twice.Topics = append(twice.Topics, remove("", p.topic.name, 1).Topics...)
	p.step("a topic twice", twice)
	keep()
	p.step("no partitions", remove(group, p.topic.name))
	none := remove(group, "")
	none.Topics = nil
	p.step("no topics", none)
	p.step("of a group that never was", remove(p.group("none"), p.topic.name, 0))
	p.step("of an empty group id", remove("", p.topic.name, 0))

	m := p.stable("members", p.topic.name)
	subscribed := remove(m.group, p.topic.name, 0, 1)
	subscribed.Topics = append(subscribed.Topics, remove("", other.name, 0).Topics...)
	p.step("what a member subscribes to, and what nobody does", subscribed)
	connect := p.stableOf("connect", "connect")
	p.step("of a group of another type", remove(connect.group, p.topic.name, 0))
	p.allLeave(m.group, m.id)
	p.step("once the members have left", remove(m.group, p.topic.name, 0))
}
