// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitOperations are commits by groups without members, as tools and consumers with assigned partitions make them, and
// by the one member of each group.
func commitOperations() []operation {
	return []operation{
		{"commits", commitColumns(), workload.commits, func(c client, ctx context.Context, topic string, w workload) (outcome, error) {
			return commits(c, ctx, topic, w, false)
		}},
		{"commits of members", commitColumns(), workload.commits, func(c client, ctx context.Context, topic string, w workload) (outcome, error) {
			return commits(c, ctx, topic, w, true)
		}},
	}
}

func commits(c client, ctx context.Context, topic string, w workload, members bool) (outcome, error) {
	raw, ok := c.(*rawClient)
	if !ok {
		return outcome{}, errCannot
	}
	return raw.commit(ctx, topic, w, members)
}

func (w workload) commits() string {
	return fmt.Sprintf("%d of one partition, %d groups at once", w.records, w.groups)
}

func commitColumns() []column {
	return []column{
		{"commits/s", func(r *results, i int, _ workload) string { return spread("%.0f", r.measured[i][rate]) }},
		{"p50 ms", value(p50, "%.2f")},
		{"p99 ms", value(p99, "%.2f")},
		{"gateway CPU s/M", value(gatewayCPU, "%.0f")},
		{"peak MiB", value(gatewayPeak, "%.0f")},
		{"store CPU s/M", value(storeCPU, "%.0f")},
		{"peak MiB", value(storePeak, "%.0f")},
		{"rate / Kafka", ratio(rate, (*results).kafka)},
		{"p99 / Kafka", ratio(p99, (*results).kafka)},
	}
}

// commit lets all groups commit at once, each on a connection of its own and one commit after the other. The time starts when
// every group's first commit is acknowledged.
func (r *rawClient) commit(ctx context.Context, topic string, w workload, members bool) (outcome, error) {
	committers := make([]*committer, w.groups)
	defer func() {
		for _, c := range committers {
			if c != nil {
				c.conn.Close()
			}
		}
	}()
	err := atOnce(w.groups, func(i int) (err error) {
		committers[i], err = r.newCommitter(ctx, fmt.Sprintf("%s-%t-%d", topic, members, i), topic, members)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	timed := make([]time.Duration, w.records)
	begin := time.Now()
	err = atOnce(w.groups, func(i int) error {
		first, end := part(w.records, w.groups, i)
		return committers[i].commit(timed[first:end])
	})
	took := time.Since(begin)
	if err == nil && members {
		err = atOnce(w.groups, func(i int) error { return committers[i].leave(committers[i].conn) })
	}
	return outcome{took, percentile(timed, 50), percentile(timed, 99)}, err
}

// part divides total things among n as evenly as can be: i has those from first to before end.
func part(total, n, i int) (first, end int) { return total * i / n, total * (i + 1) / n }

// committer is one group's, with the request that it repeats.
type committer struct {
	member
	conn    net.Conn
	request *kmsg.OffsetCommitRequest
}

func (r *rawClient) newCommitter(ctx context.Context, group, topic string, asMember bool) (_ *committer, err error) {
	c := &committer{member: member{group: group, generation: -1}}
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", r.addr); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.conn.Close()
		}
	}()
	if err = findCoordinator(ctx, c.conn, group); err != nil {
		return nil, err
	}
	if asMember {
		if c.member, err = joinGroup(ctx, c.conn, group, topic, 1); err != nil {
			return nil, err
		}
	}
	c.request = c.commitRequest(topic)
	return c, untilServed(ctx, func() error { return c.commit(make([]time.Duration, 1)) })
}

// commit commits as often as timed is long, and says there how long each took.
func (c *committer) commit(timed []time.Duration) error {
	for i := range timed {
		begin := time.Now()
		answer, err := ask[*kmsg.OffsetCommitResponse](c.conn, c.request)
		if err != nil {
			return err
		}
		timed[i] = time.Since(begin)
		if err := checkCommitted(answer); err != nil {
			return err
		}
	}
	return nil
}

// commitRequest commits an offset of partition 0.
func (m member) commitRequest(topic string) *kmsg.OffsetCommitRequest {
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = 1
	of := kmsg.NewOffsetCommitRequestTopic()
	of.Topic, of.Partitions = topic, []kmsg.OffsetCommitRequestTopicPartition{partition}
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Version, request.Group, request.Generation, request.MemberID = 8, m.group, m.generation, m.id
	request.Topics = []kmsg.OffsetCommitRequestTopic{of}
	return request
}

func checkCommitted(answer *kmsg.OffsetCommitResponse) error {
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return errors.New("bench: an OffsetCommit answer is not about one partition")
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}
