// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// DescribeProducers (61), v0 (KIP-664): the idempotent producers that a partition remembers. Without transactions there
// is no coordinator epoch, and no transaction that began anywhere.

const (
	// describeProducersTimeout bounds what one answer waits for Iggy: a partition that nobody has written to through this
	// gateway is read from its tail first.
	describeProducersTimeout = 10 * time.Second
	// What an answer takes, in bytes, for each partition and for each producer.
	producersPartitionBytes = 64
	producerBytes           = 40
	noCoordinatorEpoch      = -1
)

func (a *API) describeProducers(ctx context.Context, conn *server.Conn, req *kmsg.DescribeProducersRequest) (server.Reply, error) {
	resp := newDescribeProducers(req)
	a.fillProducers(ctx, conn, resp)
	release, err := a.reserve(ctx, describeProducersSize(resp))
	if err != nil {
		return server.Reply{}, err
	}
	return server.NewReservedReply(resp, release), nil
}

// describedPartition is a partition that a request asks about, and the answer.
type describedPartition struct {
	topic     *bridge.Topic
	partition int32
	code      int16
	producers []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
}

// fillProducers answers each partition. One that is named again is not looked up again, and shares the answer: few bytes could ask
// for very many.
func (a *API) fillProducers(ctx context.Context, conn *server.Conn, resp *kmsg.DescribeProducersResponse) {
	ctx, cancel := context.WithTimeout(ctx, describeProducersTimeout)
	defer cancel()
	see, err := a.topics(ctx, conn)
	described := map[partitionRef]*describedPartition{}
	for i := range resp.Topics {
		out := &resp.Topics[i]
		t, no := a.describedTopic(see, err, out.Topic)
		for j := range out.Partitions {
			p := &out.Partitions[j]
			switch {
			case no != nil:
				p.ErrorCode, p.ErrorMessage = no.code, &no.text
			case p.Partition < 0 || p.Partition >= t.Partitions:
				p.ErrorCode = unknownTopicOrPartition
			case a.isInternal(t.Name): // the gateway's own topics have no such producers
			default:
				described[partitionRef{out.Topic, p.Partition}] = &describedPartition{topic: t, partition: p.Partition}
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(askTogether)
	for _, d := range described {
		group.Go(func() error {
			a.describePartition(ctx, d)
			return nil
		})
	}
	_ = group.Wait() // every partition has its own code
	for i := range resp.Topics {
		out := &resp.Topics[i]
		for j := range out.Partitions {
			p := &out.Partitions[j]
			if d := described[partitionRef{out.Topic, p.Partition}]; d != nil {
				p.ErrorCode, p.ActiveProducers = d.code, d.producers
			}
		}
	}
}

// newDescribeProducers lays out the answer: a place for each partition.
func newDescribeProducers(req *kmsg.DescribeProducersRequest) *kmsg.DescribeProducersResponse {
	resp := kmsg.NewPtrDescribeProducersResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = req.Topics[i].Topic
		for _, partition := range req.Topics[i].Partitions {
			p := kmsg.NewDescribeProducersResponseTopicPartition()
			p.Partition = partition
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// describedTopic finds a topic, or says why all its partitions are refused; err is why there is no view.
func (a *API) describedTopic(see sight, err error, name string) (*bridge.Topic, *refusal) {
	var t *bridge.Topic
	code := a.code(opDescribeProducers, err, false)
	if err == nil {
		t, code = see.find(topicRef{name: name}, permissions.Read)
	}
	if bad := bridge.ValidateTopicName(name); bad != nil && code != topicAuthorizationFailed {
		return nil, refuse(invalidTopicException, "%s", bad.Error())
	}
	if code != none {
		return nil, &refusal{code: code, text: *errorText(code)}
	}
	return t, nil
}

// describePartition lists the producers of one partition.
func (a *API) describePartition(ctx context.Context, d *describedPartition) {
	known, err := a.Bridge.Producers(ctx, d.topic, d.partition)
	if err != nil {
		d.code = a.code(opDescribeProducers, err, false)
		return
	}
	d.producers = make([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, len(known))
	for i := range known {
		out := &d.producers[i]
		out.Default()
		out.ProducerID, out.ProducerEpoch = known[i].ID, int32(known[i].Epoch)
		out.LastSequence, out.LastTimestamp = known[i].LastSequence, known[i].LastTimestamp
		out.CoordinatorEpoch = noCoordinatorEpoch
	}
}

// describeProducersSize bounds the answer, in bytes.
func describeProducersSize(resp *kmsg.DescribeProducersResponse) int64 {
	size := producersPartitionBytes
	for i := range resp.Topics {
		t := &resp.Topics[i]
		size += producersPartitionBytes + len(t.Topic)
		for j := range t.Partitions {
			size += producersPartitionBytes + producerBytes*len(t.Partitions[j].ActiveProducers)
			if text := t.Partitions[j].ErrorMessage; text != nil {
				size += len(*text)
			}
		}
	}
	return int64(size)
}

func (a *API) describeProducersDetached(_ context.Context, _ *server.Conn, req *kmsg.DescribeProducersRequest) (kmsg.Response, error) {
	resp := newDescribeProducers(req)
	for i := range resp.Topics {
		_, no := a.describedTopic(sight{new(bridge.TopicView), a.everything}, nil, resp.Topics[i].Topic)
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			p.ErrorCode, p.ErrorMessage = no.code, &no.text
		}
	}
	return resp, nil
}
