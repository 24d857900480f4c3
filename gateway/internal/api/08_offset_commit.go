// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// OffsetCommit (8), v2-9.
//
// v2-4: a retention time for the offsets. v3: throttle. v6: leader epochs (KIP-320). v7: instance ids (KIP-345). v8:
// flexible. v9: another error for a group that is not there (KIP-848).

func (a *API) offsetCommit(ctx context.Context, conn *server.Conn, req *kmsg.OffsetCommitRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.OffsetCommitRequestTopic) bool { return len(t.Partitions) == 0 }) // not answered
	see, err := a.groupTopics(ctx, conn, commitRefs(req))
	resp, places, commit := a.checkCommit(req, see, err)
	if len(commit.Offsets) == 0 {
		return resp, nil // nothing is left for the group to look at
	}
	result, err := a.Groups.Commit(ctx, req.Group, commit)
	code := a.groupCode(err)
	if code == groupIDNotFound && req.Version < 9 {
		code = illegalGeneration
	}
	for i, place := range places {
		*place = code
		if err == nil {
			*place = a.groupCode(result.Errs[i])
		}
		if o := &commit.Offsets[i]; *place == none && a.Mirror != nil {
			t, _ := see.view.ByName(o.Topic)
			a.Mirror.Committed(req.Group, t, o.Partition, o.Offset)
		}
	}
	return resp, nil
}

func commitRefs(req *kmsg.OffsetCommitRequest) []topicRef {
	refs := make([]topicRef, len(req.Topics))
	for i := range req.Topics {
		refs[i].name = req.Topics[i].Topic
	}
	return refs
}

// checkCommit lays out the answer and answers what the group is not asked about: partitions that do not exist, or that the
// client may not read. Failed is why there is no view. The rest is in the commit, and the place of each of its offsets' codes in places.
func (a *API) checkCommit(req *kmsg.OffsetCommitRequest, see sight, failed error) (*kmsg.OffsetCommitResponse, []*int16, coordinator.Commit) {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	commit := coordinator.Commit{
		MemberID: req.MemberID, InstanceID: text(req.InstanceID),
		Generation: req.Generation, Retention: commitRetention(req),
	}
	var places []*int16
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(in.Partitions))
		var t *bridge.Topic
		no := a.code(opGroups, failed, false)
		id := ""
		if failed == nil {
			if t, no = see.find(topicRef{name: in.Topic}, permissions.Poll); t != nil {
				id = t.ID.String()
			}
		}
		for j := range in.Partitions {
			p := &in.Partitions[j]
			code := &out.Partitions[j].ErrorCode
			out.Partitions[j].Partition = p.Partition
			switch {
			case no != none:
				*code = no
			case !partitionKnown(t, p.Partition):
				*code = unknownTopicOrPartition
			default:
				places = append(places, code)
				commit.Offsets = append(commit.Offsets, coordinator.OffsetCommit{
					TopicPartition: groupPartition(in.Topic, p.Partition),
					TopicID:        id,
					Offset:         p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: text(p.Metadata),
				})
			}
		}
	}
	return resp, places, commit
}

// commitRetention is how long the offsets of a commit are kept whatever the group does; zero is no wish.
func commitRetention(req *kmsg.OffsetCommitRequest) time.Duration {
	const unset = -1
	if req.Version > 4 || req.RetentionTimeMillis == unset {
		return 0
	}
	const longest = 100 * 365 * 24 * time.Hour
	if req.RetentionTimeMillis > longest.Milliseconds() {
		return longest
	}
	return max(time.Duration(req.RetentionTimeMillis)*time.Millisecond, 1)
}

// offsetCommitDetached keeps no offset: it would be gone with the process, and point into topics that are not there.
func (a *API) offsetCommitDetached(_ context.Context, _ *server.Conn, req *kmsg.OffsetCommitRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		out := kmsg.NewOffsetCommitResponseTopic()
		out.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, coordinatorLoadInProgress
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}
