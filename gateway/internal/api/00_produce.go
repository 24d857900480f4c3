// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Produce (0), v3-13.
//
// v3: record batches of format 2, the only one taken. v5: log start offset. v7: zstd (KIP-110). v8: which records were
// refused, and why (KIP-467). v9: flexible. v10: the current leader (KIP-951), which is always this gateway. v11, v12:
// other errors for transactions, which are not served. v13: topics by id instead of by name (KIP-516).
//
// The checks, the decoding and the queuing happen in Start, so that batches reach their lanes in the order of the
// requests; the Pending waits for Iggy's confirmations. A broker judges a batch by itself before it looks at its
// producer's sequence (UnifiedLog.append), and so do these: the lane has the last word, on what has passed all else.

// produceByID is the version since which topics are named by id.
const produceByID = 13

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
	to               *bridge.Topic
	append           *bridge.Append
}

func (a *API) produce(ctx context.Context, conn *server.Conn, r *wire.Request) server.Pending {
	req, ok := r.Body.(*kmsg.ProduceRequest)
	if !ok {
		return fails(errNoHandler)
	}
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.ProduceRequestTopic) bool { return len(t.Partitions) == 0 }) // not answered
	p := a.newProduction(req)
	p.resp.ThrottleMillis = a.chargeProduce(conn, r)
	ctx, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	see, err := a.topicsFor(ctx, conn, req)
	a.awaitSettings(ctx)
	run := produceRun{
		api: a, req: req, deadline: p.deadline, session: a.session(conn), see: see, seeErr: err,
		left: maxCapsPerRequest * a.PartitionCap, seen: map[partitionRef]struct{}{},
	}
	for ti := range req.Topics {
		in := &req.Topics[ti]
		topic, settings, code := run.topic(in)
		for pi := range in.Partitions {
			out := &p.resp.Topics[ti].Partitions[pi]
			to := batchTarget{topic, in.Partitions[pi].Partition, settings}
			var queued *bridge.Append
			if out.ErrorCode = code; code == none {
				queued = run.partition(ctx, &to, in.Partitions[pi].Records, out)
			}
			if queued != nil {
				p.waits = append(p.waits, productionWait{ti, pi, topic, queued})
			} else if isRetriable(out.ErrorCode) {
				run.noteRefused(&to, in.Partitions[pi].Records)
			}
		}
	}
	return func(ctx context.Context) (server.Reply, error) { return a.finishProduce(ctx, p) }
}

// topicsFor is topics for a Produce request. Requests of a connection begin one after the other, so none may wait
// for Iggy without need: a topic that was there a while ago most likely still is, and its lane will find out.
func (a *API) topicsFor(ctx context.Context, conn *server.Conn, req *kmsg.ProduceRequest) (sight, error) {
	access, err := a.access(ctx, conn)
	if err != nil {
		return sight{}, err
	}
	view := a.Bridge.TopicsNow()
	if view == nil || !namesAll(view, req) {
		view, err = a.Bridge.Topics(ctx)
	}
	return sight{view, access}, err
}

// namesAll says whether a view has every partition that a request is for.
func namesAll(view *bridge.TopicView, req *kmsg.ProduceRequest) bool {
	for i := range req.Topics {
		t, code := producedTopic(view, req.Version, &req.Topics[i])
		if code != none {
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

// producedTopic finds the topic of an entry, by what its version names it by; the code says why there is none.
func producedTopic(view *bridge.TopicView, version int16, in *kmsg.ProduceRequestTopic) (*bridge.Topic, int16) {
	if version >= produceByID {
		return lookUpID(view, in.TopicID)
	}
	return lookUp(view, topicRef{name: in.Topic})
}

// newProduction lays out the answer: a place for each partition.
func (a *API) newProduction(req *kmsg.ProduceRequest) *production {
	p := &production{resp: kmsg.NewPtrProduceResponse(), acks: req.Acks}
	p.resp.Version = req.Version
	timeout := time.Duration(req.TimeoutMillis) * time.Millisecond
	if timeout <= 0 || timeout > a.ProduceTimeoutMax {
		timeout = a.ProduceTimeoutMax
	}
	p.deadline = time.Now().Add(timeout)
	p.resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &p.resp.Topics[i]
		t.Default()
		t.Topic, t.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
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
			a.refuseProduced(p, w, out, err)
			continue
		}
		out.BaseOffset, out.LogStartOffset, out.LogAppendTime = done.BaseOffset, done.LogStart, done.Timestamp
	}
	if err := ctx.Err(); err != nil {
		return server.Reply{}, err
	}
	if p.acks == 0 {
		return finishUnacknowledged(p)
	}
	return server.NewReply(p.resp), nil
}

// refuseProduced says what became of a batch that was queued and not confirmed.
func (a *API) refuseProduced(p *production, w *productionWait, out *kmsg.ProduceResponseTopicPartition, err error) {
	out.ErrorCode = a.produceCode(p.resp.Version, err, !time.Now().Before(p.deadline))
	if out.ErrorCode == outOfOrderSequence || out.ErrorCode == invalidProducerEpoch {
		out.LogStartOffset = a.knownLogStart(w.to, out.Partition)
	}
}

// produceCode is code in the terms of a version: a topic that went while its batch waited is unknown by what it was
// named by.
func (a *API) produceCode(version int16, err error, late bool) int16 {
	code := a.code(opProduce, err, late)
	if code == unknownTopicOrPartition && version >= produceByID && !errors.Is(err, bridge.ErrPartitionNotFound) {
		return unknownTopicID
	}
	return code
}

// knownLogStart is the log start that goes with a refusal, -1 if it is not known: a refusal is not worth a question.
func (a *API) knownLogStart(t *bridge.Topic, partition int32) int64 {
	if bounds, ok := a.Bridge.KnownBounds(t, partition); ok {
		return bounds.Start
	}
	return -1
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
