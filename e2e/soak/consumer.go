// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// consumer reads all partitions from the beginning on, without a group.
type consumer struct {
	scene     *scene
	plan      ConsumerPlan
	forgetful bool // the store is
	client    *kgo.Client
	cancel    context.CancelFunc
	ended     sync.WaitGroup

	mu     sync.Mutex
	reads  []Read
	next   []int64 // by partition
	errors errorList
}

// startConsumer starts to read. A consumer that may find its offset gone begins anew; others are told.
func startConsumer(s *scene, plan ConsumerPlan, forgetful bool) (*consumer, error) {
	from, reset := map[int32]kgo.Offset{}, kgo.NoResetOffset()
	for p := range int32(s.partitions) {
		from[p] = kgo.NewOffset().At(0)
	}
	if forgetful {
		reset = kgo.NewOffset().AtStart()
	}
	opts := []kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.topic: from}), kgo.ConsumeResetOffset(reset),
		kgo.FetchMaxWait(300 * time.Millisecond), kgo.FetchMaxPartitionBytes(int32(plan.FetchBytes)),
	}
	if !plan.Sessions {
		opts = append(opts, kgo.DisableFetchSessions())
	}
	client, err := s.franz(opts...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &consumer{scene: s, plan: plan, forgetful: forgetful, client: client, cancel: cancel, next: make([]int64, s.partitions)}
	c.ended.Go(func() { c.run(ctx) })
	return c, nil
}

func (c *consumer) run(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := c.client.PollFetches(ctx)
		c.mu.Lock()
		at := c.scene.now()
		fetches.EachRecord(func(r *kgo.Record) {
			c.reads = append(c.reads, Read{Partition: int(r.Partition), Offset: r.Offset, Record: parse(r.Value), At: at})
			c.next[r.Partition] = r.Offset + 1
		})
		fetches.EachError(func(_ string, p int32, err error) {
			// What a store forgets is told of: franz-go finds itself above the log's end, and begins anew.
			var lost *kgo.ErrDataLoss
			if ctx.Err() == nil && !(c.forgetful && errors.As(err, &lost)) {
				c.errors.add("partition %d: %v", p, err)
			}
		})
		c.mu.Unlock()
	}
}

// reached tells whether it has read up to the ends.
func (c *consumer) reached(ends []int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Equal(c.next, ends)
}

func (c *consumer) position() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.next)
}

// stop ends the reading.
func (c *consumer) stop() {
	c.cancel()
	c.ended.Wait()
	c.client.Close()
}

// history is valid after stop.
func (c *consumer) history(name string) ConsumerHistory {
	return ConsumerHistory{Name: fmt.Sprintf("%s (%v)", name, c.plan), Reads: c.reads, Errors: c.errors.list()}
}
