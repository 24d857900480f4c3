// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// ListOffsets (2), v1-10.
//
// v1: one offset and its timestamp for each partition. v2: isolation level, which changes nothing without
// transactions. v4: leader epochs (KIP-320). v6: flexible. v7: the largest timestamp (KIP-734). v8: the earliest local
// offset (KIP-405). v9: the latest tiered offset (KIP-1005), of which there is none. v10: a timeout (KIP-1075).

// What a request asks for instead of a timestamp (org.apache.kafka.common.requests.ListOffsetsRequest).
const (
	askLatest        = -1
	askEarliest      = -2
	askMaxTimestamp  = -3
	askEarliestLocal = -4
	askLatestTiered  = -5
)

const (
	listOffsetsTimeout = 10 * time.Second
	// disorder is how many records timestamps may go backwards by for a search by timestamp to be right.
	disorder = 1000
	// searchBytes is what one poll of a search should bring.
	searchBytes = 1 << 20
)

func (a *API) listOffsets(ctx context.Context, _ *server.Conn, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	ctx, cancel := within(ctx, req.TimeoutMillis, listOffsetsTimeout)
	defer cancel()
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	view, err := a.Bridge.Topics(ctx)
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	repeated := repeatedPartitions(req)
	var group errgroup.Group
	group.SetLimit(askTogether)
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		out.Default()
		out.Topic = in.Topic
		var topic *bridge.Topic
		if err == nil {
			topic, _ = view.ByName(in.Topic)
		}
		group.Go(func() error {
			a.listTopicOffsets(ctx, req.Version, in, out, topic, err, repeated)
			return nil
		})
	}
	_ = group.Wait() // every partition has its own code
	return resp, nil
}

// repeatedPartitions lists the partitions that a request names more than once.
func repeatedPartitions(req *kmsg.ListOffsetsRequest) map[partitionRef]bool {
	seen := map[partitionRef]bool{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			ref := partitionRef{req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition}
			_, again := seen[ref]
			seen[ref] = again
		}
	}
	return seen
}

func (a *API) listTopicOffsets(ctx context.Context, version int16, in *kmsg.ListOffsetsRequestTopic, out *kmsg.ListOffsetsResponseTopic, topic *bridge.Topic, err error, repeated map[partitionRef]bool) {
	// Never from memory: a client may have written, by whatever way, just before it asks.
	var bounds []bridge.Bounds
	if topic != nil {
		bounds, err = a.Bridge.Bounds(ctx, topic)
	}
	answered := map[int32]bool{}
	for i := range in.Partitions {
		p := &in.Partitions[i]
		o := kmsg.NewListOffsetsResponseTopicPartition()
		o.Partition, o.Timestamp, o.Offset, o.LeaderEpoch = p.Partition, -1, -1, -1
		switch known := topic != nil && p.Partition >= 0 && p.Partition < topic.Partitions; {
		case repeated[partitionRef{in.Topic, p.Partition}]:
			if answered[p.Partition] {
				continue
			}
			answered[p.Partition] = true
			o.ErrorCode = invalidRequest
		case err == nil && (!known || int(p.Partition) >= len(bounds)):
			o.ErrorCode = unknownTopicOrPartition
		case err == nil && checkEpoch(p.CurrentLeaderEpoch) != none:
			o.ErrorCode = checkEpoch(p.CurrentLeaderEpoch)
		case !mayAsk(version, p.Timestamp):
			o.ErrorCode = unsupportedVersion
		case err != nil:
			o.ErrorCode = a.code(opListOffsets, err, false)
		default:
			a.listOffset(ctx, topic, p, bounds[p.Partition], &o)
		}
		out.Partitions = append(out.Partitions, o)
	}
}

// mayAsk says which of the special timestamps a version knows.
func mayAsk(version int16, timestamp int64) bool {
	switch timestamp {
	case askMaxTimestamp:
		return version >= 7
	case askEarliestLocal:
		return version >= 8
	case askLatestTiered:
		return version >= 9
	}
	return timestamp >= askEarliest
}

func (a *API) listOffset(ctx context.Context, topic *bridge.Topic, p *kmsg.ListOffsetsRequestTopicPartition, bounds bridge.Bounds, o *kmsg.ListOffsetsResponseTopicPartition) {
	var err error
	at := stamped{offset: -1, timestamp: -1}
	switch p.Timestamp {
	case askLatest:
		at.offset = bounds.Next
	case askEarliest, askEarliestLocal:
		at.offset = bounds.Start
	case askLatestTiered:
	case askMaxTimestamp:
		at, err = a.newestRecord(ctx, topic, p.Partition, bounds)
	default:
		at, err = a.firstAtOrAfter(ctx, topic, p.Partition, bounds, p.Timestamp)
	}
	if err != nil {
		o.ErrorCode = a.code(opListOffsets, err, false)
		return
	}
	o.Offset, o.Timestamp = at.offset, at.timestamp
	if at.offset >= 0 {
		o.LeaderEpoch = leaderEpoch
	}
}

// stamped is a record's place and timestamp (ms); offset -1 is no record.
type stamped struct{ offset, timestamp int64 }

// newestRecord finds the record with the largest timestamp among the last ones and those that this gateway wrote.
func (a *API) newestRecord(ctx context.Context, topic *bridge.Topic, partition int32, bounds bridge.Bounds) (stamped, error) {
	newest := stamped{-1, -1}
	if ts, offset, ok := a.Bridge.NewestTimestamp(topic, partition); ok && offset >= bounds.Start && offset < bounds.Next {
		newest = stamped{offset, ts}
	}
	err := a.eachTimestamp(ctx, topic, partition, bounds, max(bounds.Next-disorder, bounds.Start), bounds.Next, func(s stamped) bool {
		if newest.offset < 0 || s.timestamp > newest.timestamp || s.timestamp == newest.timestamp && s.offset < newest.offset {
			newest = s
		}
		return true
	})
	return newest, err
}

// firstAtOrAfter finds the first record whose timestamp is at or after asked. Iggy indexes messages by the time it got
// them, not by theirs, so this is a binary search over offsets which allows for timestamps that go backwards by at
// most disorder records: one that is too small says that the answer lies at most so far before it, or behind it.
func (a *API) firstAtOrAfter(ctx context.Context, topic *bridge.Topic, partition int32, bounds bridge.Bounds, asked int64) (stamped, error) {
	low := bounds.Start
	high := stamped{offset: bounds.Next} // the answer is here or before
	exists := false                      // high is a record
	for high.offset-low > 2*disorder+1 { // so that low moves in any case
		middle := low + (high.offset-low)/2
		probe := stamped{-1, -1}
		err := a.eachTimestamp(ctx, topic, partition, bounds, middle, middle+1, func(s stamped) bool {
			probe = s
			return false
		})
		switch {
		case err != nil:
			return stamped{}, err
		case probe.offset < 0: // the partition has become shorter
			return probe, nil
		case probe.timestamp >= asked:
			high, exists = probe, true
		default:
			low = middle - disorder
		}
	}
	found := stamped{-1, -1}
	err := a.eachTimestamp(ctx, topic, partition, bounds, low, high.offset, func(s stamped) bool {
		if s.timestamp >= asked {
			found = s
		}
		return found.offset < 0
	})
	if err == nil && found.offset < 0 && exists {
		found = high
	}
	return found, err
}

// eachTimestamp visits the records from up to to, until visit returns false.
func (a *API) eachTimestamp(ctx context.Context, topic *bridge.Topic, partition int32, bounds bridge.Bounds, from, to int64, visit func(stamped) bool) error {
	perPoll := min(max(searchBytes/max(bounds.MessageSize, 1), 1), disorder)
	for from < to {
		m, err := a.Bridge.Read(ctx, a.Bridge.Self(), topic, partition, from, int(min(perPoll, to-from)))
		if err != nil {
			return err
		}
		next, more, err := visitMessages(m.Messages, from, to, visit)
		m.Release()
		if err != nil {
			return fmt.Errorf("%w: %w", bridge.ErrMalformed, err)
		}
		if !more || next == from { // all seen, or the partition has become shorter
			return nil
		}
		from = next
	}
	return nil
}

func visitMessages(msgs []byte, from, to int64, visit func(stamped) bool) (next int64, more bool, err error) {
	next = from
	for len(msgs) > 0 {
		m, n, err := mapping.ParseMessage(msgs)
		if err != nil {
			return next, false, err
		}
		msgs = msgs[n:]
		offset := int64(m.Offset)
		if offset >= to || !visit(stamped{offset, mapping.RecordTimestamp(&m)}) {
			return next, false, nil
		}
		next = offset + 1
	}
	return next, true, nil
}

func (a *API) listOffsetsDetached(_ context.Context, _ *server.Conn, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	for i := range req.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = req.Topics[i].Topic
		for j := range req.Topics[i].Partitions {
			o := kmsg.NewListOffsetsResponseTopicPartition()
			o.Partition, o.ErrorCode = req.Topics[i].Partitions[j].Partition, notLeaderOrFollower
			o.Timestamp, o.Offset, o.LeaderEpoch = -1, -1, -1
			t.Partitions = append(t.Partitions, o)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}
