// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
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

func (a *API) listOffsets(ctx context.Context, conn *server.Conn, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	ctx, cancel := within(ctx, req.TimeoutMillis, listOffsetsTimeout)
	defer cancel()
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	topics := a.boundsOf(ctx, conn, permissions.Poll, func(yield func(string) bool) {
		for i := range req.Topics {
			if !yield(req.Topics[i].Topic) {
				return
			}
		}
	})
	repeated := repeatedPartitions(req)
	var group errgroup.Group
	group.SetLimit(askTogether)
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		out.Default()
		out.Topic = in.Topic
		group.Go(func() error {
			a.listTopicOffsets(ctx, a.session(conn), req.Version, in, out, topics[in.Topic], repeated)
			return nil
		})
	}
	_ = group.Wait() // every partition has its own code
	resp.Topics = slices.DeleteFunc(resp.Topics, func(t kmsg.ListOffsetsResponseTopic) bool { return len(t.Partitions) == 0 })
	return resp, nil
}

// repeatedPartitions lists the partitions that a request names more than once, with the first entry that does: it answers.
func repeatedPartitions(req *kmsg.ListOffsetsRequest) map[partitionRef]*kmsg.ListOffsetsRequestTopic {
	first, repeated := map[partitionRef]*kmsg.ListOffsetsRequestTopic{}, map[partitionRef]*kmsg.ListOffsetsRequestTopic{}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			ref := partitionRef{t.Topic, t.Partitions[j].Partition}
			if at, again := first[ref]; again {
				repeated[ref] = at
			} else {
				first[ref] = t
			}
		}
	}
	return repeated
}

func (a *API) listTopicOffsets(
	ctx context.Context, s *bridge.Session, version int16, in *kmsg.ListOffsetsRequestTopic, out *kmsg.ListOffsetsResponseTopic,
	asked *topicBounds, repeated map[partitionRef]*kmsg.ListOffsetsRequestTopic,
) {
	topic, bounds, err := asked.topic, asked.partitions, asked.err
	search := offsetSearch{api: a, session: s, topic: topic, stamp: mapping.RecordTimestamp}
	if topic != nil && err == nil {
		var settings *topicconfig.Effective
		if settings, err = a.effective(topic); err != nil {
			err = fmt.Errorf("%w: %w", bridge.ErrUnavailable, err)
		} else if settings.LogAppendTime {
			search.stamp, search.ordered = mapping.AppendTimestamp, true
		}
	}
	answered := map[int32]bool{}
	for i := range in.Partitions {
		p := &in.Partitions[i]
		o := kmsg.NewListOffsetsResponseTopicPartition()
		o.Partition, o.Timestamp, o.Offset, o.LeaderEpoch = p.Partition, -1, -1, -1
		switch known := topic != nil && p.Partition >= 0 && p.Partition < topic.Partitions; {
		case errors.Is(err, errNotAllowed): // before all else that speaks against it
			o.ErrorCode = topicAuthorizationFailed
		case repeated[partitionRef{in.Topic, p.Partition}] != nil:
			if repeated[partitionRef{in.Topic, p.Partition}] != in || answered[p.Partition] {
				continue
			}
			answered[p.Partition] = true
			o.ErrorCode = invalidRequest
		case err == nil && (!known || int(p.Partition) >= len(bounds)):
			o.ErrorCode = unknownTopicOrPartition
		case err == nil && p.CurrentLeaderEpoch < noEpoch:
			o.ErrorCode = fencedLeaderEpoch // which a Fetch takes for none
		case err == nil && checkEpoch(p.CurrentLeaderEpoch) != none:
			o.ErrorCode = checkEpoch(p.CurrentLeaderEpoch)
		case !mayAsk(version, p.Timestamp):
			o.ErrorCode = unsupportedVersion
		case err != nil:
			o.ErrorCode = a.code(opListOffsets, err, false)
		default:
			search.partition, search.bounds = p.Partition, bounds[p.Partition]
			at, err := search.find(ctx, p.Timestamp)
			if o.ErrorCode = a.code(opListOffsets, err, false); err == nil {
				o.Offset, o.Timestamp = at.offset, at.timestamp
			}
			if o.Offset >= 0 {
				o.LeaderEpoch = leaderEpoch
			}
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

// stamped is a record's place and timestamp (ms); offset -1 is no record.
type stamped struct{ offset, timestamp int64 }

// offsetSearch looks for records of one partition.
type offsetSearch struct {
	api       *API
	session   *bridge.Session // whose polls they are
	topic     *bridge.Topic
	partition int32
	bounds    bridge.Bounds
	// stamp is the timestamp (ms) that a message has as a record: the producer's, or Iggy's own where the topic says so
	// (message.timestamp.type), which never goes backwards: ordered.
	stamp   func(*mapping.Message) int64
	ordered bool
}

// find answers what a request asks for by a timestamp, or instead of one. Offset -1: there is no such record.
func (s *offsetSearch) find(ctx context.Context, timestamp int64) (stamped, error) {
	switch timestamp {
	case askLatest:
		return stamped{s.bounds.Next, -1}, nil
	case askEarliest, askEarliestLocal:
		return stamped{s.bounds.Start, -1}, nil
	case askLatestTiered:
		return stamped{-1, -1}, nil
	case askMaxTimestamp:
		return s.newest(ctx)
	}
	return s.firstAtOrAfter(ctx, timestamp)
}

// newest finds the first record that has the largest timestamp: among the last ones and those that this gateway wrote, if
// timestamps may go backwards.
func (s *offsetSearch) newest(ctx context.Context) (stamped, error) {
	newest := stamped{-1, -1}
	if s.ordered {
		err := s.each(ctx, max(s.bounds.Next-1, s.bounds.Start), s.bounds.Next, func(r stamped) bool {
			newest = r
			return true
		})
		if err != nil || newest.offset < 0 {
			return newest, err
		}
		return s.firstAtOrAfter(ctx, newest.timestamp)
	}
	if ts, offset, ok := s.api.Bridge.NewestTimestamp(s.topic, s.partition); ok && offset >= s.bounds.Start && offset < s.bounds.Next {
		newest = stamped{offset, ts}
	}
	err := s.each(ctx, max(s.bounds.Next-disorder, s.bounds.Start), s.bounds.Next, func(r stamped) bool {
		if newest.offset < 0 || r.timestamp > newest.timestamp || r.timestamp == newest.timestamp && r.offset < newest.offset {
			newest = r
		}
		return true
	})
	return newest, err
}

// firstAtOrAfter finds the first record whose timestamp is at or after asked. Iggy indexes messages by the time it got
// them, not by theirs, so this is a binary search over offsets which allows for timestamps that go backwards by at
// most disorder records: one that is too small says that the answer lies at most so far before it, or behind it.
func (s *offsetSearch) firstAtOrAfter(ctx context.Context, asked int64) (stamped, error) {
	low := s.bounds.Start
	high := stamped{offset: s.bounds.Next} // the answer is here or before
	exists := false                        // high is a record
	for high.offset-low > 2*disorder+1 {   // so that low moves in any case
		middle := low + (high.offset-low)/2
		probe := stamped{-1, -1}
		err := s.each(ctx, middle, middle+1, func(r stamped) bool {
			probe = r
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
	err := s.each(ctx, low, high.offset, func(r stamped) bool {
		if r.timestamp >= asked {
			found = r
		}
		return found.offset < 0
	})
	if err == nil && found.offset < 0 && exists {
		found = high
	}
	return found, err
}

// each visits the records from up to to, until visit returns false.
func (s *offsetSearch) each(ctx context.Context, from, to int64, visit func(stamped) bool) error {
	perPoll := min(max(searchBytes/max(s.bounds.MessageSize, 1), 1), disorder)
	for from < to {
		m, err := s.api.Bridge.Read(ctx, s.session, s.topic, s.partition, from, int(min(perPoll, to-from)))
		if err != nil {
			return err
		}
		next, more, err := s.visit(m.Messages, from, to, visit)
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

func (s *offsetSearch) visit(msgs []byte, from, to int64, visit func(stamped) bool) (next int64, more bool, err error) {
	next = from
	for len(msgs) > 0 {
		m, n, err := mapping.ParseMessage(msgs)
		if err != nil {
			return next, false, err
		}
		msgs = msgs[n:]
		offset := int64(m.Offset)
		if offset >= to || !visit(stamped{offset, s.stamp(&m)}) {
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
