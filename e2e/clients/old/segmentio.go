// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/gzip"
	"github.com/segmentio/kafka-go/lz4"
	"github.com/segmentio/kafka-go/snappy"
)

// segmentio is kafka-go from before it chose versions by what the broker has. Its value is the broker's address.
type segmentio struct{ addr string }

func (s segmentio) withConn(run func(*kafka.Conn) error) error {
	conn, err := kafka.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	return errors.Join(conn.SetDeadline(time.Now().Add(limit)), run(conn), conn.Close())
}

func (s segmentio) withLeader(topic string, partition int, run func(*kafka.Conn) error) error {
	conn, err := kafka.DialLeader(context.Background(), "tcp", s.addr, topic, partition)
	if err != nil {
		return err
	}
	return errors.Join(conn.SetDeadline(time.Now().Add(limit)), run(conn), conn.Close())
}

func (s segmentio) createTopic(topic string, partitions int) error {
	return s.withConn(func(conn *kafka.Conn) error {
		return conn.CreateTopics(kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1})
	})
}

func (s segmentio) deleteTopic(topic string) error {
	return s.withConn(func(conn *kafka.Conn) error { return conn.DeleteTopics(topic) })
}

func (s segmentio) produce(topic string, partition int, codec string, _ bool, records []record) (offsets []int64, err error) {
	var batch []kafka.Message
	for _, r := range records {
		m := kafka.Message{Key: r.Key, Value: r.Value, Time: toTime(r.Timestamp)}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Name, Value: h.Value})
		}
		batch = append(batch, m)
	}
	err = s.withLeader(topic, partition, func(conn *kafka.Conn) error {
		_, _, first, _, err := conn.WriteCompressedMessagesAt(segmentioCodec(codec), batch...)
		for i := range batch {
			offsets = append(offsets, first+int64(i))
		}
		return err
	})
	return offsets, err
}

func segmentioCodec(name string) kafka.CompressionCodec {
	switch name {
	case "gzip":
		return gzip.NewCompressionCodec()
	case "snappy":
		return snappy.NewCompressionCodec()
	case "lz4":
		return lz4.NewCompressionCodec()
	default:
		return nil
	}
}

func (s segmentio) read(config kafka.ReaderConfig, n int, begin, end func(context.Context, *kafka.Reader, []kafka.Message) error) (records []record, err error) {
	config.Brokers, config.MinBytes, config.MaxBytes, config.MaxWait = []string{s.addr}, 1, 10<<20, 100*time.Millisecond
	reader := kafka.NewReader(config)
	defer func() { err = errors.Join(err, reader.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit) // it is slow to join a group
	defer cancel()
	if err := begin(ctx, reader, nil); err != nil {
		return nil, err
	}
	var messages []kafka.Message
	for len(messages) < n {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(messages), n, err)
		}
		r := record{Partition: m.Partition, Offset: m.Offset, Timestamp: m.Time.UnixMilli(), Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			r.Headers = append(r.Headers, header{h.Key, h.Value})
		}
		messages, records = append(messages, m), append(records, r)
	}
	return records, end(ctx, reader, messages)
}

func nothing(context.Context, *kafka.Reader, []kafka.Message) error { return nil }

func (s segmentio) consume(topic string, partition int, offset int64, n int) ([]record, error) {
	seek := func(_ context.Context, reader *kafka.Reader, _ []kafka.Message) error {
		return reader.SetOffset(offset)
	}
	return s.read(kafka.ReaderConfig{Topic: topic, Partition: partition}, n, seek, nothing)
}

func (s segmentio) consumeGroup(topic, group string, n int) ([]record, error) {
	commit := func(ctx context.Context, reader *kafka.Reader, read []kafka.Message) error {
		return reader.CommitMessages(ctx, read...)
	}
	return s.read(kafka.ReaderConfig{Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset}, n, nothing, commit)
}

func (s segmentio) offsetAt(topic string, partition int, ms int64) (offset int64, err error) {
	err = s.withLeader(topic, partition, func(conn *kafka.Conn) error {
		offset, err = conn.ReadOffset(toTime(ms))
		return err
	})
	return offset, err
}

func (s segmentio) topics() (names []string, err error) {
	err = s.withConn(func(conn *kafka.Conn) error {
		found, err := conn.ReadPartitions()
		for _, p := range found {
			names = append(names, p.Topic)
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

func (s segmentio) partitionsOf(topic string) (n int, err error) {
	err = s.withConn(func(conn *kafka.Conn) error {
		found, err := conn.ReadPartitions(topic)
		n = len(found)
		return err
	})
	return n, err
}

func (segmentio) deleteRecords(string, int, int64) error { return errLacking }
