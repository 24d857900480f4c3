// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// RunKafkaGo is a member that uses segmentio/kafka-go, until ctx ends. Its Reader does not tell what is assigned to it;
// this is made of the parts that the Reader is made of.
func RunKafkaGo(ctx context.Context, c Config, emit func(Event)) (err error) {
	balancer := map[string]kafka.GroupBalancer{Range: kafka.RangeGroupBalancer{}, RoundRobin: kafka.RoundRobinGroupBalancer{}}[c.Assignor]
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		Brokers: []string{c.Broker}, ID: c.Group, Topics: []string{c.Topic}, GroupBalancers: []kafka.GroupBalancer{balancer},
		SessionTimeout: milliseconds(c.SessionTimeoutMs), HeartbeatInterval: milliseconds(c.HeartbeatMs),
		JoinGroupBackoff: 100 * time.Millisecond, StartOffset: kafka.FirstOffset,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	for {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			emit(Event{Kind: Failed, Error: err.Error()})
			continue
		}
		member := kafkaGoMember{c, generation, emit}
		generation.Start(member.run) // the library joins again only after it has returned
	}
}

// kafkaGoMember is a member in one generation.
type kafkaGoMember struct {
	config     Config
	generation *kafka.Generation
	emit       func(Event)
}

// run reads the partitions until the generation ends.
func (m kafkaGoMember) run(ctx context.Context) {
	var partitions []int
	for _, a := range m.generation.Assignments[m.config.Topic] {
		partitions = append(partitions, a.ID)
	}
	m.emit(Event{Kind: Assigned, Partitions: partitions})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	for _, a := range m.generation.Assignments[m.config.Topic] {
		reading.Go(func() {
			if err := m.read(ctx, a); err != nil && ctx.Err() == nil {
				m.emit(Event{Kind: Failed, Error: err.Error()})
				cancel() // end the generation, start again from what is committed
			}
		})
	}
	<-ctx.Done()
	reading.Wait()
	m.emit(Event{Kind: Revoked, Partitions: partitions})
}

func (m kafkaGoMember) read(ctx context.Context, a kafka.PartitionAssignment) (err error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{m.config.Broker}, Topic: m.config.Topic, Partition: a.ID, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: pollWait,
	})
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := reader.SetOffset(a.Offset); err != nil {
		return err
	}
	for {
		r, err := reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		m.emit(Event{Kind: Record, Partition: r.Partition, Offset: r.Offset, Value: string(r.Value)})
		next := map[int]int64{r.Partition: r.Offset + 1}
		if err := m.generation.CommitOffsets(map[string]map[int]int64{r.Topic: next}); err != nil {
			return err
		}
		m.emit(Event{Kind: Committed, Offsets: next})
	}
}
