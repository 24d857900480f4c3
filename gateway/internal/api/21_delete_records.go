// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DeleteRecords (21), v0-2 (KIP-107).
//
// v1: throttle. v2: flexible.

func (a *API) deleteRecords(ctx context.Context, conn *server.Conn, req *kmsg.DeleteRecordsRequest) (kmsg.Response, error) {
	ctx, cancel := within(ctx, req.TimeoutMillis, a.ProduceTimeoutMax)
	defer cancel()
	topics := topicDeletions(req)
	see, err := a.topics(ctx, conn)
	var group errgroup.Group
	group.SetLimit(askTogether)
	for i := range topics {
		group.Go(func() error {
			a.deleteTopicRecords(ctx, see, err, &topics[i])
			return nil
		})
	}
	_ = group.Wait() // every partition has its own code
	return deleteRecordsResponse(req.Version, topics), nil
}

// topicDeletion is what a request asks of one topic, and what came of it.
type topicDeletion struct {
	topic      string
	partitions []bridge.Deletion
	codes      []int16 // of the partitions
}

// topicDeletions gathers what a request asks: a topic named twice is answered once, and of a partition named twice the last
// offset counts, as for a broker.
func topicDeletions(req *kmsg.DeleteRecordsRequest) []topicDeletion {
	var topics []topicDeletion
	topicAt, partitionAt := map[string]int{}, map[partitionRef]int{}
	for i := range req.Topics {
		in := &req.Topics[i]
		if len(in.Partitions) == 0 {
			continue // not answered
		}
		at, named := topicAt[in.Topic]
		if !named {
			at = len(topics)
			topicAt[in.Topic] = at
			topics = append(topics, topicDeletion{topic: in.Topic})
		}
		t := &topics[at]
		for _, p := range in.Partitions {
			ref := partitionRef{in.Topic, p.Partition}
			if at, named := partitionAt[ref]; named {
				t.partitions[at].Before = p.Offset
				continue
			}
			partitionAt[ref] = len(t.partitions)
			t.partitions = append(t.partitions, bridge.Deletion{Partition: p.Partition, Before: p.Offset})
		}
	}
	return topics
}

func (a *API) deleteTopicRecords(ctx context.Context, see sight, err error, d *topicDeletion) {
	d.codes = make([]int16, len(d.partitions))
	topic, code := a.mayDeleteRecords(ctx, see, err, d.topic)
	if code == none {
		a.Bridge.DeleteRecords(ctx, topic, d.partitions)
	}
	for i := range d.partitions {
		p := &d.partitions[i]
		switch {
		case topic != nil && (p.Partition < 0 || p.Partition >= topic.Partitions):
			d.codes[i] = unknownTopicOrPartition // before all else that speaks against it
		case code != none:
			d.codes[i] = code
		case errors.Is(p.Err, bridge.ErrOffsetOutOfRange):
			d.codes[i] = offsetOutOfRange
		default:
			d.codes[i] = a.code(opDeleteRecords, p.Err, ctx.Err() != nil)
		}
	}
}

// mayDeleteRecords finds the topic, and says what speaks against deleting any of its records.
func (a *API) mayDeleteRecords(ctx context.Context, see sight, err error, name string) (*bridge.Topic, int16) {
	if err != nil {
		return nil, a.code(opDeleteRecords, err, ctx.Err() != nil)
	}
	topic, code := see.find(topicRef{name: name}, permissions.Manage)
	switch {
	case code != none:
		return nil, code
	case topic.Internal:
		return topic, invalidTopicException
	case a.fenced():
		return topic, notLeaderOrFollower
	}
	a.awaitSettings(ctx)
	switch settings, err := a.effective(topic); {
	case err != nil:
		return topic, notLeaderOrFollower // loading
	case !settings.Delete:
		return topic, policyViolation
	}
	return topic, none
}

func deleteRecordsResponse(version int16, topics []topicDeletion) kmsg.Response {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	resp.Version = version
	for i := range topics {
		d := &topics[i]
		t := kmsg.NewDeleteRecordsResponseTopic()
		t.Topic = d.topic
		for j := range d.partitions {
			p := kmsg.NewDeleteRecordsResponseTopicPartition()
			p.Partition, p.LowWatermark, p.ErrorCode = d.partitions[j].Partition, -1, d.codes[j]
			if p.ErrorCode == none {
				p.LowWatermark = d.partitions[j].LogStart
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (a *API) deleteRecordsDetached(_ context.Context, _ *server.Conn, req *kmsg.DeleteRecordsRequest) (kmsg.Response, error) {
	topics := topicDeletions(req)
	for i := range topics {
		for range topics[i].partitions {
			topics[i].codes = append(topics[i].codes, notLeaderOrFollower)
		}
	}
	return deleteRecordsResponse(req.Version, topics), nil
}
