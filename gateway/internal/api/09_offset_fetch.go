// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// OffsetFetch (9), v1-9.
//
// v2: null asks for all that the group holds; a top-level error code. v3: throttle. v5: leader epochs (KIP-320). v6:
// flexible. v7: require_stable (KIP-447), which is always so without transactions. v8: many groups (KIP-709). v9: member
// ids and epochs, which classic groups do not look at (KIP-848).

func (a *API) offsetFetch(ctx context.Context, conn *server.Conn, req *kmsg.OffsetFetchRequest) (server.Reply, error) {
	groups := offsetFetchGroups(req)
	asking, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	see, failed := a.groupTopics(asking, conn, fetchRefs(groups))
	found := make([][]coordinator.OffsetResult, len(groups))
	codes := make([]int16, len(groups))
	size := 0
	for i := range groups {
		if failed != nil {
			// That no offset can be looked up is an error: an answer of -1 would send consumers back to the start.
			codes[i] = a.code(opGroups, failed, false)
			continue
		}
		if !see.access.MayUseGroups() {
			codes[i] = groupAuthorizationFailed
			continue
		}
		offsets, err := a.Groups.Offsets(asking, groups[i].Group, offsetQueries(&groups[i]))
		codes[i], found[i] = a.groupCode(err), offsets
		if size += offsetsSize(&groups[i], offsets); size > a.MaxResponseSize {
			break // of many large groups no more are looked up than can be answered
		}
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	for i := range groups {
		answers[i] = offsetAnswer(&groups[i], see, found[i], codes[i])
	}
	return server.NewReservedReply(offsetFetchResponse(req, answers), release), nil
}

// offsetFetchGroups brings both forms of the request into the one of v8.
func offsetFetchGroups(req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchRequestGroup {
	if req.Version >= 8 {
		return req.Groups
	}
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = req.Group
	if req.Topics != nil || req.Version < 2 {
		group.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	}
	for i := range req.Topics {
		group.Topics[i].Topic, group.Topics[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
	}
	return []kmsg.OffsetFetchRequestGroup{group}
}

func fetchRefs(groups []kmsg.OffsetFetchRequestGroup) []topicRef {
	var refs []topicRef
	for i := range groups {
		for j := range groups[i].Topics {
			refs = append(refs, topicRef{name: groups[i].Topics[j].Topic})
		}
	}
	return refs
}

// offsetQueries lists what a group is asked; nil is everything.
func offsetQueries(group *kmsg.OffsetFetchRequestGroup) []coordinator.OffsetQuery {
	if group.Topics == nil {
		return nil
	}
	queries := []coordinator.OffsetQuery{}
	for i := range group.Topics {
		t := &group.Topics[i]
		for _, p := range t.Partitions {
			queries = append(queries, coordinator.OffsetQuery{TopicPartition: groupPartition(t.Topic, p)})
		}
	}
	return queries
}

// offsetsSize bounds what a group takes in the answer, in bytes.
func offsetsSize(group *kmsg.OffsetFetchRequestGroup, offsets []coordinator.OffsetResult) int {
	const groupBytes, topicBytes, partitionBytes = 16, 16, 32
	size := groupBytes + len(group.Group)
	for i := range group.Topics {
		size += topicBytes + len(group.Topics[i].Topic)
	}
	topic := ""
	for i := range offsets {
		if group.Topics == nil && (i == 0 || offsets[i].Topic != topic) {
			topic = offsets[i].Topic
			size += topicBytes + len(topic)
		}
		size += partitionBytes + len(offsets[i].Metadata)
	}
	return size
}

// offsetAnswer puts what a group said into words: as it was asked, or everything by topic. The offset of a topic that is
// gone, or was made anew since, is none. Topics that the client may not read are refused where they were asked for, and
// left out of everything.
func offsetAnswer(group *kmsg.OffsetFetchRequestGroup, see sight, offsets []coordinator.OffsetResult, code int16) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group, out.ErrorCode = group.Group, code
	if code != none {
		return out
	}
	if group.Topics == nil {
		for i := range offsets {
			o := &offsets[i]
			if !sameIncarnation(see.view, o) || hidden(see, o.Topic) {
				continue
			}
			if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != o.Topic {
				t := kmsg.NewOffsetFetchResponseGroupTopic()
				t.Topic = o.Topic
				out.Topics = append(out.Topics, t)
			}
			t := &out.Topics[len(out.Topics)-1]
			t.Partitions = append(t.Partitions, offsetPartition(o))
		}
		return out
	}
	for i := range group.Topics {
		t := kmsg.NewOffsetFetchResponseGroupTopic()
		t.Topic = group.Topics[i].Topic
		no := none
		if hidden(see, t.Topic) {
			no = topicAuthorizationFailed
		}
		for range group.Topics[i].Partitions {
			o := &offsets[0]
			if offsets = offsets[1:]; no != none || !sameIncarnation(see.view, o) {
				o.Offset, o.LeaderEpoch, o.Metadata = -1, -1, ""
			}
			p := offsetPartition(o)
			p.ErrorCode = no
			t.Partitions = append(t.Partitions, p)
		}
		out.Topics = append(out.Topics, t)
	}
	return out
}

// hidden says whether a client may not know of offsets in a topic.
func hidden(see sight, topic string) bool {
	_, code := see.find(topicRef{name: topic}, permissions.Poll)
	return code == topicAuthorizationFailed
}

// sameIncarnation says whether an offset is of the topic that has the name now.
func sameIncarnation(view *bridge.TopicView, o *coordinator.OffsetResult) bool {
	t, ok := view.ByName(o.Topic)
	return ok && (o.TopicID == "" || o.TopicID == t.ID.String())
}

func offsetPartition(o *coordinator.OffsetResult) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
	return p
}

// offsetFetchResponse gives the answers the form of the request's version: one group below v8, and below v2, which has no
// place for the group's error, that error at each partition.
func offsetFetchResponse(req *kmsg.OffsetFetchRequest, groups []kmsg.OffsetFetchResponseGroup) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = req.Version
	if req.Version >= 8 {
		resp.Groups = groups
		return resp
	}
	group := &groups[0]
	if group.ErrorCode != none && req.Version < 2 {
		resp.Topics = refusedOffsets(req, group.ErrorCode)
		return resp
	}
	resp.ErrorCode = group.ErrorCode
	for i := range group.Topics {
		out := kmsg.NewOffsetFetchResponseTopic()
		out.Topic = group.Topics[i].Topic
		for j := range group.Topics[i].Partitions {
			in := &group.Topics[i].Partitions[j]
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = in.Partition, in.Offset, in.LeaderEpoch, in.Metadata, in.ErrorCode
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func refusedOffsets(req *kmsg.OffsetFetchRequest, code int16) []kmsg.OffsetFetchResponseTopic {
	var topics []kmsg.OffsetFetchResponseTopic
	for i := range req.Topics {
		out := kmsg.NewOffsetFetchResponseTopic()
		out.Topic = req.Topics[i].Topic
		for _, partition := range req.Topics[i].Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = partition, -1, -1
			p.Metadata, p.ErrorCode = message(""), code
			out.Partitions = append(out.Partitions, p)
		}
		topics = append(topics, out)
	}
	return topics
}

// offsetFetchDetached: see offsetCommitDetached.
func (a *API) offsetFetchDetached(_ context.Context, _ *server.Conn, req *kmsg.OffsetFetchRequest) (kmsg.Response, error) {
	groups := offsetFetchGroups(req)
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	for i := range groups {
		answers[i].Group, answers[i].ErrorCode = groups[i].Group, coordinatorLoadInProgress
	}
	return offsetFetchResponse(req, answers), nil
}
