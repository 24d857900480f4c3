// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"sync"

	"github.com/IBM/sarama"
)

// RunSarama is a member that uses IBM/sarama, until ctx ends.
func RunSarama(ctx context.Context, c Config, emit func(Event)) (err error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = pollWait / 4 // that commits wait for
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = milliseconds(c.SessionTimeoutMs)
	config.Consumer.Group.Heartbeat.Interval = milliseconds(c.HeartbeatMs)
	config.Consumer.Group.InstanceId = c.Instance
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{map[string]sarama.BalanceStrategy{
		Range: sarama.NewBalanceStrategyRange(), RoundRobin: sarama.NewBalanceStrategyRoundRobin(),
	}[c.Assignor]}
	admin, err := sarama.NewClusterAdmin([]string{c.Broker}, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	group, err := sarama.NewConsumerGroup([]string{c.Broker}, c.Group, config)
	if err != nil {
		return err
	}
	var errorsRead sync.WaitGroup
	defer errorsRead.Wait()
	errorsRead.Go(func() { // until the group is closed
		for err := range group.Errors() {
			emit(Event{Kind: Failed, Error: err.Error()})
		}
	})
	defer func() { err = errors.Join(err, group.Close()) }()
	for ctx.Err() == nil { // one session after the other
		if err := group.Consume(ctx, []string{c.Topic}, saramaMember{c, admin, emit}); err != nil && ctx.Err() == nil {
			emit(Event{Kind: Failed, Error: err.Error()})
		}
	}
	return nil
}

// saramaMember is called by the library.
type saramaMember struct {
	config Config
	admin  sarama.ClusterAdmin
	emit   func(Event)
}

func (m saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.emit(Event{Kind: Assigned, Partitions: ints(s.Claims()[m.config.Topic])})
	return nil
}

func (m saramaMember) Cleanup(s sarama.ConsumerGroupSession) error {
	m.emit(Event{Kind: Revoked, Partitions: ints(s.Claims()[m.config.Topic])})
	return nil
}

func (m saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case r, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.emit(Event{Kind: Record, Partition: int(r.Partition), Offset: r.Offset, Value: string(r.Value)})
			s.MarkMessage(r, "")
			// A commit waits for the Fetch before it on the same connection: not one for each record.
			if len(claim.Messages()) == 0 {
				m.commit(s, r)
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

// commit asks what is committed, since Commit does not tell whether it succeeded.
func (m saramaMember) commit(s sarama.ConsumerGroupSession, last *sarama.ConsumerMessage) {
	s.Commit()
	answer, err := m.admin.ListConsumerGroupOffsets(m.config.Group, map[string][]int32{last.Topic: {last.Partition}})
	if err != nil {
		m.emit(Event{Kind: Failed, Error: err.Error()})
		return
	}
	if block := answer.GetBlock(last.Topic, last.Partition); block != nil && block.Err == sarama.ErrNoError && block.Offset == last.Offset+1 {
		m.emit(Event{Kind: Committed, Offsets: map[int]int64{int(last.Partition): block.Offset}})
	}
}
