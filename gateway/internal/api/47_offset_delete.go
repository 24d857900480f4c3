// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// OffsetDelete (47), v0 (KIP-496).
//
// The group is asked also when no partition is left for it: that it is missing, or has members, is answered first.

func (a *API) offsetDelete(ctx context.Context, _ *server.Conn, req *kmsg.OffsetDeleteRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool { return len(t.Partitions) == 0 }) // not answered
	refs := make([]topicRef, len(req.Topics))
	for i := range req.Topics {
		refs[i].name = req.Topics[i].Topic
	}
	view, err := a.groupTopics(ctx, refs)
	if err != nil {
		resp.ErrorCode = a.code(opGroups, err, false)
		return resp, nil
	}
	topics, places, event := checkOffsetDelete(req, view)
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

// checkOffsetDelete answers for partitions that do not exist. The rest is in the event, and the place of each of its
// partitions' codes in places.
func checkOffsetDelete(req *kmsg.OffsetDeleteRequest, view *bridge.TopicView) ([]kmsg.OffsetDeleteResponseTopic, []*int16, coordinator.DeleteOffsets) {
	topics := make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var places []*int16
	var event coordinator.DeleteOffsets
	for i := range req.Topics {
		in, out := &req.Topics[i], &topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(in.Partitions))
		t, _ := view.ByName(in.Topic)
		for j := range in.Partitions {
			p := in.Partitions[j].Partition
			out.Partitions[j].Partition = p
			if !partitionKnown(t, p) {
				out.Partitions[j].ErrorCode = unknownTopicOrPartition
				continue
			}
			places = append(places, &out.Partitions[j].ErrorCode)
			event.Partitions = append(event.Partitions, groupPartition(in.Topic, p))
		}
	}
	return topics, places, event
}
