// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// OffsetForLeaderEpoch (23), v2-4.
//
// v2: current leader epoch (KIP-320). v3: replica id, which says who asks and changes nothing. v4: flexible.
//
// Where a leader epoch ends: consumers ask after a change of leaders, to find out whether what they read is still there, and
// before they go on from a committed offset that has an epoch. So who may poll may ask: without the answer Java's consumer and
// franz-go's do not read on.

// noEpoch is no leader epoch (org.apache.kafka.common.record.RecordBatch.NO_PARTITION_LEADER_EPOCH).
const noEpoch = -1

func (a *API) offsetForLeaderEpoch(ctx context.Context, conn *server.Conn, req *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, listOffsetsTimeout)
	defer cancel()
	resp := newEpochEnds(req)
	topics := a.boundsOf(ctx, conn, permissions.Poll, func(yield func(string) bool) {
		for i := range req.Topics {
			if !yield(req.Topics[i].Topic) {
				return
			}
		}
	})
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		a.topicEpochEnds(in, out, topics[in.Topic])
	}
	return resp, nil
}

// newEpochEnds is an answer that knows no epoch yet.
func newEpochEnds(req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(in.Partitions))
		for j := range in.Partitions {
			out.Partitions[j].Default()
			out.Partitions[j].Partition = in.Partitions[j].Partition
		}
	}
	return resp
}

func (a *API) topicEpochEnds(
	in *kmsg.OffsetForLeaderEpochRequestTopic, out *kmsg.OffsetForLeaderEpochResponseTopic, known *topicBounds,
) {
	for i := range in.Partitions {
		p, o := &in.Partitions[i], &out.Partitions[i]
		switch {
		case known.err != nil:
			o.ErrorCode = a.code(opOffsetForLeaderEpoch, known.err, false)
		case p.Partition < 0 || int(p.Partition) >= len(known.partitions):
			o.ErrorCode = unknownTopicOrPartition
		default:
			epochEnd(p, o, known.partitions[p.Partition])
		}
	}
}

// epochEnd answers as a log does that has had one epoch only: a lower one, but for none, ended where the log starts.
func epochEnd(p *kmsg.OffsetForLeaderEpochRequestTopicPartition, o *kmsg.OffsetForLeaderEpochResponseTopicPartition, bounds bridge.Bounds) {
	switch current := p.CurrentLeaderEpoch; {
	case current != noEpoch && current < leaderEpoch:
		o.ErrorCode = fencedLeaderEpoch
	case current > leaderEpoch:
		o.ErrorCode = unknownLeaderEpoch
	case p.LeaderEpoch == leaderEpoch:
		o.LeaderEpoch, o.EndOffset = leaderEpoch, bounds.Next
	case p.LeaderEpoch < noEpoch:
		o.LeaderEpoch, o.EndOffset = p.LeaderEpoch, bounds.Start
	}
}

func (a *API) offsetForLeaderEpochDetached(_ context.Context, _ *server.Conn, req *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	resp := newEpochEnds(req)
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			resp.Topics[i].Partitions[j].ErrorCode = notLeaderOrFollower
		}
	}
	return resp, nil
}
