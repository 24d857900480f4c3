// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeTopicPartitions (75), v0 (KIP-966): Metadata of topics in pages, sorted by name, with a cursor to the next one. Replicas
// out of sync are Iggy's matter: there are none to tell of.

// maxDescribedPartitions is a broker's max.request.partition.size.limit.
const maxDescribedPartitions = 2000

func (a *API) describeTopicPartitions(ctx context.Context, conn *server.Conn, req *kmsg.DescribeTopicPartitionsRequest) (server.Reply, error) {
	if badCursor(req) {
		return a.refuseTopicPartitions(ctx, req, invalidRequest)
	}
	asking, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	see, err := a.topicsToPage(asking, conn, req)
	if err != nil {
		if len(req.Topics) == 0 { // as for Metadata: an answer without topics would be a lie
			return server.Reply{}, fmt.Errorf("api: partitions of all topics: %w", err)
		}
		return a.refuseTopicPartitions(ctx, req, a.code(opMetadata, err, false))
	}
	page := topicPage{api: a, see: see, left: int(max(min(req.ResponsePartitionLimit, maxDescribedPartitions), 1))}
	if req.Cursor != nil {
		page.from, page.partition = req.Cursor.Topic, req.Cursor.Partition
	}
	page.choose(req)
	release, err := a.reserveAnswer(ctx, page.size)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NewReservedReply(page.answer(req), release), nil
}

// topicsToPage looks at the topics, as Metadata does.
func (a *API) topicsToPage(ctx context.Context, conn *server.Conn, req *kmsg.DescribeTopicPartitionsRequest) (sight, error) {
	if len(req.Topics) == 0 || a.Bridge == nil {
		return a.topicsIfAny(ctx, conn)
	}
	refs := make([]topicRef, len(req.Topics))
	for i := range refs {
		refs[i].name = req.Topics[i].Topic
	}
	return a.topicsNamed(ctx, conn, refs)
}

// badCursor: the topic that it names has to be asked for, and the partition is a number that a partition can have.
func badCursor(req *kmsg.DescribeTopicPartitionsRequest) bool {
	if req.Cursor == nil {
		return false
	}
	named := len(req.Topics) == 0 || slices.ContainsFunc(req.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool {
		return t.Topic == req.Cursor.Topic
	})
	return !named || req.Cursor.Partition < 0
}

// refuseTopicPartitions answers the same for every topic that is named.
func (a *API) refuseTopicPartitions(ctx context.Context, req *kmsg.DescribeTopicPartitionsRequest, code int16) (server.Reply, error) {
	size := 0
	for i := range req.Topics {
		size += topicPartitionsBytes + len(req.Topics[i].Topic)
	}
	release, err := a.reserveAnswer(ctx, size)
	if err != nil {
		return server.Reply{}, err
	}
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.ErrorCode, t.Topic = code, &req.Topics[i].Topic
		resp.Topics = append(resp.Topics, t)
	}
	return server.NewReservedReply(resp, release), nil
}

// What a topic and a partition take in an answer, in bytes.
const (
	topicPartitionsBytes = 48
	topicPartitionBytes  = 48
)

// topicPage is one answer: as many partitions as fit, in the order of the topics' names.
type topicPage struct {
	api       *API
	see       sight
	from      string // the first topic, if it is not the first of all
	partition int32  // of that topic
	left      int    // partitions that still fit
	size      int    // bytes

	shown []pageTopic
	next  *kmsg.DescribeTopicPartitionsResponseNextCursor
}

// pageTopic is a topic with its partitions from one up to, and without, another, or why it is not told.
type pageTopic struct {
	name     string
	topic    *bridge.Topic
	code     int16
	from, to int32
}

// names lists the topics that are asked for, or all that the client may see, each once, from the cursor's on.
func (p *topicPage) names(req *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	if len(req.Topics) == 0 {
		for _, t := range p.see.all(permissions.Describe) {
			names = append(names, t.Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name < p.from })
	slices.Sort(names)
	return slices.Compact(names)
}

// choose fills the page. What may not be seen comes last and takes no place, as KafkaApis adds it.
func (p *topicPage) choose(req *kmsg.DescribeTopicPartitionsRequest) {
	var hidden []pageTopic
	for _, name := range p.names(req) {
		t, code := p.see.find(topicRef{name: name}, permissions.Describe)
		one := pageTopic{name: name, topic: t, code: code}
		p.size += topicPartitionsBytes + len(name)
		switch {
		case code == topicAuthorizationFailed:
			hidden = append(hidden, one)
			continue
		case p.next != nil: // only what is hidden is still looked for
			continue
		case p.left == 0:
			p.next = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
			continue
		case code != none:
			if bridge.ValidateTopicName(name) != nil {
				one.code = invalidTopicException
			}
		default:
			if name == p.from {
				one.from = min(p.partition, t.Partitions)
			}
			one.to = min(t.Partitions, one.from+int32(p.left))
			p.left -= int(one.to - one.from)
			p.size += topicPartitionBytes * int(one.to-one.from)
			if one.to < t.Partitions {
				p.next = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: one.to}
			}
		}
		p.shown = append(p.shown, one)
	}
	p.shown = append(p.shown, hidden...)
}

func (p *topicPage) answer(req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	resp.Version, resp.NextCursor = req.Version, p.next
	for i := range p.shown {
		resp.Topics = append(resp.Topics, p.describe(&p.shown[i]))
	}
	return resp
}

func (p *topicPage) describe(t *pageTopic) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.ErrorCode = &t.name, t.code
	if t.code == topicAuthorizationFailed {
		return out
	}
	if t.code != none {
		out.AuthorizedOperations = int32(p.see.rightsTo(t.name).Operations()) // of a topic that is missing, too
		return out
	}
	out.TopicID, out.IsInternal = t.topic.ID, t.topic.Internal
	out.AuthorizedOperations = int32(p.see.access.Rights(t.topic).Operations())
	self := []int32{p.api.NodeID}
	for partition := t.from; partition < t.to; partition++ {
		one := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		one.Partition, one.LeaderID, one.LeaderEpoch = partition, p.api.NodeID, leaderEpoch
		one.Replicas, one.ISR = self, self
		one.EligibleLeaderReplicas, one.LastKnownELR = []int32{}, []int32{}
		out.Partitions = append(out.Partitions, one)
	}
	return out
}
