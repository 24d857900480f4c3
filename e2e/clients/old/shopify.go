// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Shopify/sarama"
)

// shopify is sarama from before it was IBM's. Its value is the broker's address.
type shopify struct{ addr string }

// config speaks as to Kafka 1.1, the newest that the release knows well. Commits say how long they are kept: only those
// have a version that Kafka 4 knows.
func (shopify) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V1_1_0_0
	config.Consumer.Offsets.Retention = time.Hour
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	return config
}

func (s shopify) administer(run func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin([]string{s.addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(run(admin), admin.Close())
}

func (s shopify) withClient(run func(sarama.Client) error) error {
	client, err := sarama.NewClient([]string{s.addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(run(client), client.Close())
}

func (s shopify) createTopic(topic string, partitions int) error {
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false)
	})
}

func (s shopify) deleteTopic(topic string) error {
	return s.administer(func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(topic) })
}

func (s shopify) produce(topic string, partition int, codec string, _ bool, records []record) ([]int64, error) {
	config := s.config()
	config.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4,
	}[codec]
	producer, err := sarama.NewSyncProducer([]string{s.addr}, config)
	if err != nil {
		return nil, err
	}
	var batch []*sarama.ProducerMessage
	for _, r := range records {
		m := &sarama.ProducerMessage{Topic: topic, Partition: int32(partition), Timestamp: toTime(r.Timestamp)}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
		batch = append(batch, m)
	}
	if err := errors.Join(producer.SendMessages(batch), producer.Close()); err != nil {
		return nil, err
	}
	var offsets []int64
	for _, m := range batch {
		offsets = append(offsets, m.Offset)
	}
	return offsets, nil
}

func shopifyRecord(m *sarama.ConsumerMessage) record {
	r := record{Partition: int(m.Partition), Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{string(h.Key), h.Value})
	}
	return r
}

func (s shopify) consume(topic string, partition int, offset int64, n int) ([]record, error) {
	consumer, err := sarama.NewConsumer([]string{s.addr}, s.config())
	if err != nil {
		return nil, err
	}
	from, err := consumer.ConsumePartition(topic, int32(partition), offset)
	if err != nil {
		return nil, errors.Join(err, consumer.Close())
	}
	records, err := func() ([]record, error) {
		var records []record
		for late := time.After(limit); len(records) < n; {
			select {
			case m := <-from.Messages():
				records = append(records, shopifyRecord(m))
			case <-late:
				return nil, fmt.Errorf("%d of %d records came", len(records), n)
			}
		}
		return records, nil
	}()
	return records, errors.Join(err, from.Close(), consumer.Close())
}

func (s shopify) consumeGroup(topic, group string, n int) ([]record, error) {
	consumer, err := sarama.NewConsumerGroup([]string{s.addr}, group, s.config())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	reader := shopifyReader{came: make(chan shopifyClaimed)}
	ended := make(chan error, 1)
	go func() { ended <- consumer.Consume(ctx, []string{topic}, reader) }()
	var records []record
	for len(records) < n {
		select {
		case c := <-reader.came:
			records = append(records, shopifyRecord(c.message))
			c.session.MarkMessage(c.message, "")
		case err := <-ended:
			return nil, errors.Join(fmt.Errorf("%d of %d records came", len(records), n), err, consumer.Close())
		}
	}
	cancel()
	return records, errors.Join(<-ended, consumer.Close()) // commits what is marked
}

// shopifyReader hands the records of a session over one by one.
type shopifyReader struct{ came chan shopifyClaimed }

type shopifyClaimed struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

func (shopifyReader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (shopifyReader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r shopifyReader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		select {
		case r.came <- shopifyClaimed{session, m}:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

func (s shopify) offsetAt(topic string, partition int, ms int64) (offset int64, err error) {
	err = s.withClient(func(client sarama.Client) error {
		offset, err = client.GetOffset(topic, int32(partition), ms)
		return err
	})
	return offset, err
}

func (s shopify) topics() (names []string, err error) {
	err = s.withClient(func(client sarama.Client) error {
		names, err = client.Topics()
		return err
	})
	return names, err
}

func (s shopify) partitionsOf(topic string) (n int, err error) {
	err = s.withClient(func(client sarama.Client) error {
		partitions, err := client.Partitions(topic)
		n = len(partitions)
		return err
	})
	return n, err
}

func (s shopify) deleteRecords(topic string, partition int, before int64) error {
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.DeleteRecords(topic, map[int32]int64{int32(partition): before})
	})
}
