// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// OffsetDelete (47), v0 (KIP-496).
//
// The group is asked also when no partition is left for it: that it is missing, or has members, is answered first.

func (a *API) offsetDelete(ctx context.Context, conn *server.Conn, req *kmsg.OffsetDeleteRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool { return len(t.Partitions) == 0 }) // not answered
	refs := make([]topicRef, len(req.Topics))
	for i := range req.Topics {
		refs[i].name = req.Topics[i].Topic
	}
	see, err := a.groupTopics(ctx, conn, refs)
	if err != nil {
		resp.ErrorCode = a.code(opGroups, err, false)
		return resp, nil
	}
	topics, places, event := checkOffsetDelete(req, see)
	if !see.access.MayUseGroups() { // all topics are refused, if there is any
		resp.Topics = topics
		if len(topics) == 0 {
			resp.ErrorCode = groupAuthorizationFailed
		}
		return resp, nil
	}
	result, err := a.Groups.DeleteOffsets(ctx, req.Group, event)
	if err != nil {
		resp.ErrorCode = a.groupCode(err)
		return resp, nil
	}
	for i, place := range places {
		*place = a.groupCode(result.Errs[i])
	}
	resp.Topics = topics
	return resp, nil
}

// checkOffsetDelete answers for partitions that do not exist, or that the client may not read. The rest is in the event, and
// the place of each of its partitions' codes in places.
func checkOffsetDelete(req *kmsg.OffsetDeleteRequest, see sight) ([]kmsg.OffsetDeleteResponseTopic, []*int16, coordinator.DeleteOffsets) {
	topics := make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var places []*int16
	var event coordinator.DeleteOffsets
	for i := range req.Topics {
		in, out := &req.Topics[i], &topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(in.Partitions))
		t, no := see.find(topicRef{name: in.Topic}, permissions.Poll)
		for j := range in.Partitions {
			p := in.Partitions[j].Partition
			out.Partitions[j].Partition = p
			code := &out.Partitions[j].ErrorCode
			if *code = no; no == none && !partitionKnown(t, p) {
				*code = unknownTopicOrPartition
			}
			if *code != none {
				continue
			}
			places = append(places, code)
			event.Partitions = append(event.Partitions, groupPartition(in.Topic, p))
		}
	}
	return topics, places, event
}
