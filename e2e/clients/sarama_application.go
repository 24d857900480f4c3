// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func (s Sarama) About() About { return aboutGo(s, "github.com/IBM/sarama") }

func (s Sarama) ConsumeGroup(ctx context.Context, topic, group string, n int) (map[int][]Record, error) {
	config := s.config()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	consumer, err := sarama.NewConsumerGroup([]string{s.Addr}, group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader := &saramaReader{n: n, done: cancel, records: map[int][]Record{}}
	err = consumer.Consume(ctx, []string{topic}, reader) // one session: until n records are read
	if err == nil && reader.read < n {
		err = fmt.Errorf("%d of %d records came", reader.read, n)
	}
	return reader.records, errors.Join(err, consumer.Close())
}

// saramaReader takes n records of a group's session, all partitions together, and ends it.
type saramaReader struct {
	n    int
	done func()

	mu      sync.Mutex // each partition has a goroutine
	read    int
	records map[int][]Record
}

func (r *saramaReader) Setup(sarama.ConsumerGroupSession) error { return nil }

func (r *saramaReader) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (r *saramaReader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open || !r.take(m) {
				return nil
			}
			session.MarkMessage(m, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

// take takes a record if more are wanted.
func (r *saramaReader) take(m *sarama.ConsumerMessage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read == r.n {
		return false
	}
	r.records[int(m.Partition)] = append(r.records[int(m.Partition)], saramaRecord(m))
	r.read++
	if r.read == r.n {
		r.done()
	}
	return true
}

// withClient runs calls of a client, administer those of an administrator.
func (s Sarama) withClient(call func(sarama.Client) error) error {
	client, err := sarama.NewClient([]string{s.Addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(call(client), client.Close())
}

func (s Sarama) administer(call func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin([]string{s.Addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(call(admin), admin.Close())
}

func (s Sarama) OffsetAt(_ context.Context, topic string, partition int, ms int64) (offset int64, err error) {
	err = s.withClient(func(client sarama.Client) error {
		offset, err = client.GetOffset(topic, int32(partition), ms)
		return err
	})
	return offset, err
}

// Topics asks a client: an administrator would ask for the topics' settings as well.
func (s Sarama) Topics(context.Context) (names []string, err error) {
	err = s.withClient(func(client sarama.Client) error {
		names, err = client.Topics()
		return err
	})
	return names, err
}

func (s Sarama) Partitions(_ context.Context, topic string) (n int, err error) {
	err = s.administer(func(admin sarama.ClusterAdmin) error {
		found, err := admin.DescribeTopics([]string{topic})
		if err != nil {
			return err
		}
		n = len(found[0].Partitions)
		if found[0].Err != sarama.ErrNoError {
			return found[0].Err
		}
		return nil
	})
	return n, err
}

func (s Sarama) Groups(context.Context) (ids []string, err error) {
	err = s.administer(func(admin sarama.ClusterAdmin) error {
		found, err := admin.ListConsumerGroups()
		for id := range found {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		return err
	})
	return ids, err
}

func (s Sarama) GroupState(_ context.Context, group string) (state string, err error) {
	err = s.administer(func(admin sarama.ClusterAdmin) error {
		found, err := admin.DescribeConsumerGroups([]string{group})
		if err != nil {
			return err
		}
		state = found[0].State
		if found[0].Err != sarama.ErrNoError {
			return found[0].Err
		}
		return nil
	})
	return state, err
}

func (s Sarama) DeleteRecords(_ context.Context, topic string, partition int, before int64) error {
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.DeleteRecords(topic, map[int32]int64{int32(partition): before})
	})
}

func (s Sarama) DeleteGroup(_ context.Context, group string) error {
	return s.administer(func(admin sarama.ClusterAdmin) error { return admin.DeleteConsumerGroup(group) })
}
