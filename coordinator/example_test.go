// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// A gateway for some protocol has one Driver and translates its clients' requests into the Driver's methods. Here one
// worker of a group runs through a generation: it joins, assigns as the leader, commits, and leaves.
func ExampleDriver() {
	cfg := coordinator.DriverConfig{
		Config: coordinator.DefaultConfig(),
		Store:  coordinator.NewMemoryStore(), // or one that lasts
	}
	cfg.InitialRebalanceDelay = 0
	driver, err := coordinator.NewDriver(cfg)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- driver.Run(ctx) }()
	<-driver.Loaded()

	joined, err := driver.Join(ctx, "thumbnails", coordinator.Join{
		ClientID: "worker", Unique: "1",
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "work",
		Protocols:    []coordinator.Protocol{{Name: "one-each", Metadata: []byte("4 cores")}},
	})
	fmt.Println(joined.MemberID, "generation", joined.Generation, "leads:", joined.Leader == joined.MemberID, err)

	sync := coordinator.Sync{MemberID: joined.MemberID, Generation: joined.Generation}
	for _, member := range joined.Members { // of the leader only
		sync.Assignments = append(sync.Assignments, coordinator.Assignment{MemberID: member.MemberID, Data: []byte("images/0")})
	}
	synced, err := driver.Sync(ctx, "thumbnails", sync)
	fmt.Printf("assigned %s %v\n", synced.Assignment, err)

	images := coordinator.TopicPartition{Topic: "images", Partition: 0}
	_, err = driver.Commit(ctx, "thumbnails", coordinator.Commit{
		MemberID: joined.MemberID, Generation: joined.Generation,
		Offsets: []coordinator.OffsetCommit{{TopicPartition: images, Offset: 42}},
	})
	offsets, _ := driver.Offsets(ctx, "thumbnails", []coordinator.OffsetQuery{{TopicPartition: images}})
	fmt.Println("committed", offsets[0].Offset, err)

	_, err = driver.Leave(ctx, "thumbnails", coordinator.Leave{Members: []coordinator.Identity{{MemberID: joined.MemberID}}})
	fmt.Println("left", err)
	err = driver.Heartbeat(ctx, "thumbnails", coordinator.Heartbeat{MemberID: joined.MemberID, Generation: joined.Generation})
	fmt.Println(errors.Is(err, coordinator.ErrUnknownMemberID))

	stop()
	fmt.Println("stopped", <-stopped)
	// Output:
	// worker-1 generation 1 leads: true <nil>
	// assigned images/0 <nil>
	// committed 42 <nil>
	// left <nil>
	// true
	// stopped <nil>
}

// Without the Driver, the same is a function of events and time: this is how it is tested, and how it fits into an
// event loop that is already there.
func ExampleGroups() {
	cfg := coordinator.DefaultConfig()
	groups := coordinator.NewGroups(cfg)
	now := time.Unix(0, 0)
	show := func(effects []coordinator.Effect) {
		for _, effect := range effects {
			fmt.Printf("%2.0fs %v\n", now.Sub(time.Unix(0, 0)).Seconds(), effect)
		}
	}
	show(groups.Step(now, "g", coordinator.Join{
		Request: 1, ClientID: "worker", Unique: "1", SessionTimeout: 10 * time.Second,
		ProtocolType: "work", Protocols: []coordinator.Protocol{{Name: "one-each"}},
	}))
	for groups.List(coordinator.Filter{})[0].State != coordinator.Empty {
		now, _ = groups.NextDeadline()
		show(groups.Tick(now))
	}
	// Output:
	//  0s g: Dead -> Empty, generation 0: first member
	//  0s g: Empty -> PreparingRebalance, generation 0: member worker-1 joined
	//  3s g: PreparingRebalance -> CompletingRebalance, generation 1: all members joined
	//  3s reply to 1: {MemberID:worker-1 Generation:1 ProtocolType:work ProtocolName:one-each Leader:worker-1 Members:[{MemberID:worker-1 InstanceID: Metadata:[]}] SkipAssignment:false}
	// 13s g: member worker-1 removed: session expired
	// 13s g: CompletingRebalance -> PreparingRebalance, generation 1: member worker-1 session expired
	// 13s g: PreparingRebalance -> Empty, generation 2: no members left
	// 13s g: write 1, 1 changes
}
