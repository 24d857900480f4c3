// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// Sarama is IBM/sarama, for the broker at an address. It speaks as it does by itself, to Kafka 2.8, or as to the newest
// release that it knows.
type Sarama struct {
	Addr     string
	Newest   bool
	Security Security
	// BareTokens has it log in as clients did before Kafka 1.0: SASL tokens in frames of their own, without SaslAuthenticate.
	BareTokens bool
}

func (s Sarama) Name() string {
	if s.Newest {
		return "sarama-newest"
	}
	return "sarama"
}

func (s Sarama) config() *sarama.Config {
	config := sarama.NewConfig()
	if s.Newest {
		config.Version = sarama.MaxVersion
	}
	if s.Security.User != "" {
		config.Net.SASL.Enable, config.Net.SASL.User, config.Net.SASL.Password = true, s.Security.User, s.Security.Password
		if s.BareTokens {
			config.Net.SASL.Version, config.ApiVersionsRequest = sarama.SASLHandshakeV0, false // it does not do both
		}
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = s.Security.tls != nil, s.Security.tls
	return config
}

func (Sarama) Features() Features { return Features{Idempotent: true, TellsOffset: true} }

func (s Sarama) CreateTopic(_ context.Context, topic string, partitions int) error {
	admin, err := sarama.NewClusterAdmin([]string{s.Addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(
		admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false),
		admin.Close())
}

func (s Sarama) DeleteTopic(_ context.Context, topic string) error {
	admin, err := sarama.NewClusterAdmin([]string{s.Addr}, s.config())
	if err != nil {
		return err
	}
	return errors.Join(admin.DeleteTopic(topic), admin.Close())
}

func (s Sarama) Produce(_ context.Context, to Destination, records []Record) ([]int64, error) {
	config := s.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.RequiredAcks(to.Acks)
	config.Producer.Return.Successes = true
	config.Producer.Idempotent = to.Idempotent
	config.Producer.Flush.MaxMessages = to.BatchSize
	if to.Idempotent {
		config.Net.MaxOpenRequests = 1    // sarama demands it
		config.Producer.Retry.Max = 1_000 // what waits behind a batch that is sent again counts as sent again too
		config.Producer.Retry.Backoff = 20 * time.Millisecond
	}
	if err := config.Producer.Compression.UnmarshalText([]byte(to.Codec)); err != nil {
		return nil, err
	}
	producer, err := sarama.NewSyncProducer([]string{s.Addr}, config)
	if err != nil {
		return nil, err
	}
	batch := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		m := &sarama.ProducerMessage{Topic: to.Topic, Partition: int32(to.Partition), Timestamp: toTime(r.Timestamp)}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
		batch[i] = m
	}
	if err := errors.Join(producer.SendMessages(batch), producer.Close()); err != nil || to.Acks == AcksNone {
		return nil, err
	}
	offsets := make([]int64, len(batch))
	for i, m := range batch {
		offsets[i] = m.Offset
	}
	return offsets, nil
}

func (s Sarama) Consume(ctx context.Context, topic string, partition int, offset int64, n int) ([]Record, error) {
	config := s.config()
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 100 * time.Millisecond // Close waits for the last Fetch
	consumer, err := sarama.NewConsumer([]string{s.Addr}, config)
	if err != nil {
		return nil, err
	}
	from, err := consumer.ConsumePartition(topic, int32(partition), offset)
	if err != nil {
		return nil, errors.Join(err, consumer.Close())
	}
	records, err := saramaRead(ctx, from, n)
	return records, errors.Join(err, from.Close(), consumer.Close())
}

func saramaRead(ctx context.Context, from sarama.PartitionConsumer, n int) ([]Record, error) {
	var records []Record
	for len(records) < n {
		select {
		case m := <-from.Messages():
			records = append(records, saramaRecord(m))
		case err := <-from.Errors():
			return records, err
		case <-ctx.Done():
			return records, fmt.Errorf("after %d of %d records: %w", len(records), n, ctx.Err())
		}
	}
	return records, nil
}

func saramaRecord(m *sarama.ConsumerMessage) Record {
	record := Record{Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		record.Headers = append(record.Headers, Header{string(h.Key), h.Value})
	}
	return record
}
