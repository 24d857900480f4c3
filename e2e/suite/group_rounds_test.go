// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testJoinRounds has four members join a group one soon after the other, again and again: each comes while the ones
// before are being assigned their partitions, and none is left without.
func testJoinRounds(t *testing.T, target *harness.Target) {
	const (
		rounds     = 5 // in each group
		partitions = 12
		apart      = 100 * time.Millisecond
	)
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, partitions)
	lanes := []struct {
		run      func(context.Context, group.Config, func(group.Event)) error
		assignor string
	}{
		{group.RunFranz, group.Range}, {group.RunFranz, group.CooperativeSticky}, {group.RunFranz, group.RoundRobin},
		{group.RunFranz, group.Range}, {group.RunFranz, group.CooperativeSticky},
		{group.RunSarama, group.Range}, {group.RunSarama, group.RoundRobin}, {group.RunSarama, group.Range},
		{group.RunKafkaGo, group.Range}, {group.RunKafkaGo, group.RoundRobin},
	}
	for i, lane := range lanes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			config := group.Config{
				Broker: target.Kafka, Group: topicName(t), Topic: topic, Assignor: lane.assignor,
				SessionTimeoutMs: int(sessionTimeout.Milliseconds()), HeartbeatMs: 100,
			}
			for round := range rounds {
				l := newLedger(partitions)
				ctx, leave := context.WithCancel(t.Context())
				var members sync.WaitGroup
				var names []string
				for m := range 4 {
					name := fmt.Sprintf("member %d", m)
					names = append(names, name)
					told := l.join(name)
					members.Go(func() {
						if wait(ctx, time.Duration(m)*apart) {
							if err := lane.run(ctx, config, told); err != nil {
								t.Error(err)
							}
						}
					})
				}
				complete := await(t, func() bool { return l.settled(names...) })
				leave()
				members.Wait()
				if !complete {
					t.Fatalf("round %d: the members do not come to share the partitions:\n%v", round, l)
				}
			}
		})
	}
}

// wait tells whether ctx lasts for as long.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
