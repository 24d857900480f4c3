// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// RunFranz is a member that uses twmb/franz-go, until ctx ends.
func RunFranz(ctx context.Context, c Config, emit func(Event)) error {
	partitions := func(kind Kind) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			emit(Event{Kind: kind, Partitions: ints(changed[c.Topic])})
		}
	}
	balancer := map[string]kgo.GroupBalancer{
		Range: kgo.RangeBalancer(), RoundRobin: kgo.RoundRobinBalancer(), CooperativeSticky: kgo.CooperativeStickyBalancer(),
	}[c.Assignor]
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Broker), kgo.MetadataMinAge(100 * time.Millisecond), kgo.FetchMaxWait(pollWait),
		kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Topic), kgo.Balancers(balancer),
		kgo.SessionTimeout(milliseconds(c.SessionTimeoutMs)), kgo.HeartbeatInterval(milliseconds(c.HeartbeatMs)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // what is being printed is committed before others have it
		kgo.OnPartitionsAssigned(partitions(Assigned)), kgo.OnPartitionsRevoked(partitions(Revoked)), kgo.OnPartitionsLost(partitions(Revoked)),
	}
	if c.Instance != "" {
		opts = append(opts, kgo.InstanceID(c.Instance))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for {
		fetches := client.PollRecords(ctx, pollRecords)
		if ctx.Err() != nil {
			return nil
		}
		fetches.EachError(func(_ string, _ int32, err error) { emit(Event{Kind: Failed, Error: err.Error()}) })
		if records := fetches.Records(); len(records) > 0 {
			next := map[int]int64{}
			for _, r := range records {
				emit(Event{Kind: Record, Partition: int(r.Partition), Offset: r.Offset, Value: string(r.Value)})
				next[int(r.Partition)] = r.Offset + 1
			}
			// The member was told to end: what it printed is committed all the same.
			commitCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
			if err := client.CommitRecords(commitCtx, records...); err != nil {
				emit(Event{Kind: Failed, Error: err.Error()})
			} else {
				emit(Event{Kind: Committed, Offsets: next})
			}
			cancel()
		}
		client.AllowRebalance()
	}
}

// How the members in Go read and commit.
const (
	pollRecords   = 100
	pollWait      = 200 * time.Millisecond
	commitTimeout = 10 * time.Second
)

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func ints(partitions []int32) []int {
	wide := make([]int, len(partitions))
	for i, p := range partitions {
		wide[i] = int(p)
	}
	return wide
}
