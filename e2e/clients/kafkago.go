// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// KafkaGo is segmentio/kafka-go. Its value is the broker's address.
type KafkaGo struct{ Addr string }

func (KafkaGo) Name() string { return "kafka-go" }

func (KafkaGo) Features() Features { return Features{NullIsEmpty: true} }

func (k KafkaGo) client(ctx context.Context) (*kafka.Client, *kafka.Transport) {
	transport := &kafka.Transport{Context: ctx}
	return &kafka.Client{Addr: kafka.TCP(k.Addr), Transport: transport}, transport
}

func (k KafkaGo) CreateTopic(ctx context.Context, topic string, partitions int) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (k KafkaGo) DeleteTopic(ctx context.Context, topic string) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	answer, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (k KafkaGo) Produce(ctx context.Context, to Destination, records []Record) ([]int64, error) {
	_, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr:         kafka.TCP(k.Addr),
		Transport:    transport,
		Topic:        to.Topic,
		Balancer:     kafka.BalancerFunc(func(kafka.Message, ...int) int { return to.Partition }),
		RequiredAcks: kafka.RequiredAcks(to.Acks),
		BatchTimeout: 5 * time.Millisecond, // the default of 1 s waits for a fuller batch
		BatchSize:    to.BatchSize,
	}
	if to.Codec != "none" {
		if err := writer.Compression.UnmarshalText([]byte(to.Codec)); err != nil {
			return nil, err
		}
	}
	batch := make([]kafka.Message, len(records))
	for i, r := range records {
		batch[i] = kafka.Message{Key: r.Key, Value: r.Value, Time: toTime(r.Timestamp)}
		for _, h := range r.Headers {
			batch[i].Headers = append(batch[i].Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
	}
	return nil, errors.Join(writer.WriteMessages(ctx, batch...), writer.Close())
}

func (k KafkaGo) Consume(ctx context.Context, topic string, partition int, offset int64, n int) (records []Record, err error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{k.Addr}, Topic: topic, Partition: partition,
		MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 100 * time.Millisecond,
	})
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := reader.SetOffset(offset); err != nil {
		return nil, err
	}
	for len(records) < n {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return records, fmt.Errorf("after %d of %d records: %w", len(records), n, err)
		}
		records = append(records, kafkaGoRecord(m))
	}
	return records, nil
}

func kafkaGoRecord(m kafka.Message) Record {
	record := Record{Offset: m.Offset, Timestamp: m.Time.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		record.Headers = append(record.Headers, Header{h.Key, h.Value})
	}
	return record
}
