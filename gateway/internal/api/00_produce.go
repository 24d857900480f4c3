// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Produce (0), v3-12.
//
// v3: record batches of format 2, the only one taken. v5: log start offset. v7: zstd (KIP-110). v8: which records were
// refused, and why (KIP-467). v9: flexible. v10: the current leader (KIP-951), which is always this gateway. v11, v12:
// other errors for transactions, which are not served.
//
// The checks, the decoding and the queuing happen in Start, so that batches reach their lanes in the order of the
// requests; the Pending waits for Iggy's confirmations.

// production is one Produce request under way.
type production struct {
	resp     *kmsg.ProduceResponse
	acks     int16
	deadline time.Time
	// waits holds the batches on their way, with the places of their partitions in resp.
	waits []productionWait
}

type productionWait struct {
	topic, partition int
	append           *bridge.Append
}

func (a *API) produce(ctx context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	req, ok := r.Body.(*kmsg.ProduceRequest)
	if !ok {
		return fails(errNoHandler)
	}
	p := a.newProduction(req)
	ctx, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	view, err := a.topicsFor(ctx, req)
	run := produceRun{api: a, req: req, view: view, viewErr: err, left: maxCapsPerRequest * a.PartitionCap, seen: map[partitionRef]struct{}{}}
	for ti := range req.Topics {
		t := &req.Topics[ti]
		for pi := range t.Partitions {
			out := &p.resp.Topics[ti].Partitions[pi]
			queued := run.partition(ctx, p.deadline, t.Topic, &t.Partitions[pi], out)
			if queued != nil {
				p.waits = append(p.waits, productionWait{ti, pi, queued})
			}
		}
	}
	return func(ctx context.Context) (server.Reply, error) { return a.finishProduce(ctx, p) }
}

// topicsFor returns a view for a Produce request. Requests of a connection begin one after the other, so none may wait
// for Iggy without need: a topic that was there a while ago most likely still is, and its lane will find out.
func (a *API) topicsFor(ctx context.Context, req *kmsg.ProduceRequest) (*bridge.TopicView, error) {
	if view := a.Bridge.TopicsNow(); view != nil && namesAll(view, req) {
		return view, nil
	}
	return a.Bridge.Topics(ctx)
}

// namesAll says whether a view has every partition that a request is for.
func namesAll(view *bridge.TopicView, req *kmsg.ProduceRequest) bool {
	for i := range req.Topics {
		t, ok := view.ByName(req.Topics[i].Topic)
		if !ok {
			return false
		}
		for j := range req.Topics[i].Partitions {
			if p := req.Topics[i].Partitions[j].Partition; p < 0 || p >= t.Partitions {
				return false
			}
		}
	}
	return true
}

// newProduction lays out the answer: a place for each partition.
func (a *API) newProduction(req *kmsg.ProduceRequest) *production {
	p := &production{resp: kmsg.NewPtrProduceResponse(), acks: req.Acks}
	p.resp.Version = req.Version
	timeout := time.Duration(req.TimeoutMillis) * time.Millisecond
	if timeout <= 0 || timeout > a.ProduceTimeoutMax {
		timeout = a.ProduceTimeoutMax
	}
	p.deadline = a.Now().Add(timeout)
	p.resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &p.resp.Topics[i]
		t.Default()
		t.Topic = req.Topics[i].Topic
		t.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(req.Topics[i].Partitions))
		for j := range t.Partitions {
			out := &t.Partitions[j]
			out.Default()
			out.Partition = req.Topics[i].Partitions[j].Partition
			out.BaseOffset, out.LogAppendTime, out.LogStartOffset = -1, -1, -1
		}
	}
	return p
}

// finishProduce waits for the batches and fills in where they went.
func (a *API) finishProduce(ctx context.Context, p *production) (server.Reply, error) {
	waiting, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	for i := range p.waits {
		w := &p.waits[i]
		out := &p.resp.Topics[w.topic].Partitions[w.partition]
		done, err := w.append.Wait(waiting)
		if err != nil {
			out.ErrorCode = a.code(opProduce, err, !a.Now().Before(p.deadline))
			continue
		}
		out.BaseOffset, out.LogStartOffset = done.BaseOffset, done.LogStart
	}
	if err := ctx.Err(); err != nil {
		return server.Reply{}, err
	}
	if p.acks == 0 {
		return finishUnacknowledged(p)
	}
	return server.NewReply(p.resp), nil
}

// finishUnacknowledged gives no answer. A client that asked for none can only be told of a failure by losing its
// connection, as on Kafka.
func finishUnacknowledged(p *production) (server.Reply, error) {
	for i := range p.resp.Topics {
		for j := range p.resp.Topics[i].Partitions {
			if p.resp.Topics[i].Partitions[j].ErrorCode != none {
				return server.Reply{}, errAcksZero
			}
		}
	}
	return server.NoReply(), nil
}

func (a *API) produceDetached(_ context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	req, ok := r.Body.(*kmsg.ProduceRequest)
	if !ok {
		return fails(errNoHandler)
	}
	p := a.newProduction(req)
	for i := range p.resp.Topics {
		for j := range p.resp.Topics[i].Partitions {
			p.resp.Topics[i].Partitions[j].ErrorCode = notLeaderOrFollower
		}
	}
	return func(ctx context.Context) (server.Reply, error) { return a.finishProduce(ctx, p) }
}

type partitionRef struct {
	topic     string
	partition int32
}

// maxCapsPerRequest: how many partition caps one request may bring, decompressed.
const maxCapsPerRequest = 8

// produceRun goes through the partitions of one request.
type produceRun struct {
	api     *API
	req     *kmsg.ProduceRequest
	view    *bridge.TopicView
	viewErr error
	left    int // decompressed bytes that this request may still bring
	seen    map[partitionRef]struct{}
}

// partition checks one partition's batch and queues it; nil when it was refused, which out then says.
func (r *produceRun) partition(ctx context.Context, deadline time.Time, topic string, in *kmsg.ProduceRequestTopicPartition, out *kmsg.ProduceResponseTopicPartition) *bridge.Append {
	a := r.api
	t, code := r.admit(topic, in.Partition, deadline)
	if code != none {
		out.ErrorCode = code
		return nil
	}
	if r.left <= 0 {
		out.ErrorCode = notLeaderOrFollower // retriable, and nothing of it was looked at
		return nil
	}
	batch, no := a.decodeForProduce(ctx, r.req.Version, in.Records)
	if no != nil {
		no.fill(out)
		if no.logStart {
			out.LogStartOffset = r.logStart(t, in.Partition)
		}
		return nil
	}
	r.left -= batch.decompressed
	queued := &bridge.Append{
		Session:           a.Bridge.Self(),
		Messages:          batch.messages,
		Count:             batch.count,
		Deadline:          deadline,
		MaxTimestamp:      batch.maxTimestamp,
		MaxTimestampIndex: batch.maxTimestampIndex,
		Release:           batch.release,
	}
	if err := a.Bridge.Append(t, in.Partition, queued); err != nil {
		batch.release()
		out.ErrorCode = a.code(opProduce, err, false)
		return nil
	}
	return queued
}

// admit checks all that needs no look at the batch.
func (r *produceRun) admit(topic string, partition int32, deadline time.Time) (*bridge.Topic, int16) {
	a := r.api
	if bridge.ValidateTopicName(topic) != nil || a.isInternal(topic) {
		return nil, invalidTopicException
	}
	if r.viewErr != nil {
		return nil, a.code(opProduce, r.viewErr, !a.Now().Before(deadline))
	}
	t, ok := r.view.ByName(topic)
	if !ok || partition < 0 || partition >= t.Partitions {
		return nil, unknownTopicOrPartition
	}
	if r.req.Acks < -1 || r.req.Acks > 1 {
		return nil, invalidRequiredAcks
	}
	if r.req.TransactionID != nil && *r.req.TransactionID != "" {
		return nil, unsupportedVersion
	}
	ref := partitionRef{topic, partition}
	if _, twice := r.seen[ref]; twice {
		return nil, invalidRequest
	}
	r.seen[ref] = struct{}{}
	return t, none
}

// logStart is the log start that goes with a refusal, as far as it is known: a refusal is not worth a question.
func (r *produceRun) logStart(t *bridge.Topic, partition int32) int64 {
	if bounds, ok := r.api.Bridge.KnownBounds(t, partition); ok {
		return bounds.Start
	}
	return -1
}
