// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

type partitionRef struct {
	topic     string
	partition int32
}

// maxCapsPerRequest: how many partition caps one request may bring, decompressed.
const maxCapsPerRequest = 8

// produceRun goes through the partitions of one request.
type produceRun struct {
	api      *API
	req      *kmsg.ProduceRequest
	deadline time.Time
	session  *bridge.Session // whose writes they are
	see      sight
	seeErr   error
	left     int // decompressed bytes that this request may still bring
	listed   int // refused records that the answer lists
	seen     map[partitionRef]struct{}
}

// topic finds what an entry of the request is for, and the topic's settings; the code says why nothing of it is written,
// with the topic all the same if it may be written to later.
func (r *produceRun) topic(in *kmsg.ProduceRequestTopic) (*bridge.Topic, *topicconfig.Effective, int16) {
	a := r.api
	if r.seeErr != nil {
		return nil, nil, a.code(opProduce, r.seeErr, false)
	}
	// A batch of who may not send must not come to the lane: for a repetition it would have an answer without asking Iggy.
	t, code := r.find(in)
	switch {
	case code != topicAuthorizationFailed && a.isInternal(in.Topic):
		return nil, nil, invalidTopicException
	case code != none:
		return nil, nil, code
	case a.isInternal(t.Name):
		return nil, nil, invalidTopicException
	}
	settings, err := a.effective(t)
	return t, settings, a.code(opProduce, err, false)
}

func (r *produceRun) find(in *kmsg.ProduceRequestTopic) (*bridge.Topic, int16) {
	t, code := producedTopic(r.see.view, r.req.Version, in)
	return r.see.allow(t, code, in.Topic, permissions.Send)
}

// partition checks one partition's batch and queues it; nil when it was refused, which out then says.
func (r *produceRun) partition(ctx context.Context, to *batchTarget, records []byte, out *kmsg.ProduceResponseTopicPartition) *bridge.Append {
	a := r.api
	if out.ErrorCode = r.admit(to); out.ErrorCode != none {
		return nil
	}
	if r.left <= 0 {
		out.ErrorCode = notLeaderOrFollower // retriable, and nothing of it was looked at
		return nil
	}
	batch, no := a.decodeForProduce(ctx, r.req.Version, to, records)
	if no != nil {
		r.left -= no.decompressed
		no.records = slices.Clone(no.records[:min(len(no.records), maxErrorRecords-r.listed)])
		r.listed += len(no.records)
		no.fill(out)
		if no.logStart {
			out.LogStartOffset = a.knownLogStart(to.topic, to.partition)
		}
		return nil
	}
	r.left -= batch.decompressed
	queued := &bridge.Append{
		Session:           r.session,
		Messages:          batch.messages,
		Count:             batch.count,
		Deadline:          r.deadline,
		Producer:          batch.producer,
		StampTime:         to.settings.LogAppendTime,
		MaxTimestamp:      batch.maxTimestamp,
		MaxTimestampIndex: batch.maxTimestampIndex,
		Release:           batch.release,
	}
	if err := a.Bridge.Append(to.topic, to.partition, queued); err != nil {
		batch.release()
		out.ErrorCode = a.produceCode(r.req.Version, err, false)
		return nil
	}
	return queued
}

// isRetriable says whether a producer sends a batch again that was refused with a code.
func isRetriable(code int16) bool { return code == notLeaderOrFollower || code == requestTimedOut }

// noteRefused tells the lane of a batch that did not come to it, but may come yet.
func (r *produceRun) noteRefused(to *batchTarget, records []byte) {
	if h, err := recordcodec.ParseHeader(records); err == nil && to.topic != nil {
		r.api.Bridge.Refused(to.topic, to.partition, producerOf(&h))
	}
}

// admit checks all that needs no look at the batch.
func (r *produceRun) admit(to *batchTarget) int16 {
	switch {
	case to.partition < 0 || to.partition >= to.topic.Partitions:
		return unknownTopicOrPartition
	case r.req.Acks < -1 || r.req.Acks > 1:
		return invalidRequiredAcks
	case r.req.TransactionID != nil && *r.req.TransactionID != "":
		return unsupportedVersion
	}
	ref := partitionRef{to.topic.Name, to.partition}
	if _, twice := r.seen[ref]; twice {
		return invalidRequest
	}
	r.seen[ref] = struct{}{}
	return none
}
