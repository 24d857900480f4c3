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

func (k KafkaGo) About() About { return aboutGo(k, "github.com/segmentio/kafka-go") }

func (k KafkaGo) ConsumeGroup(ctx context.Context, topic, group string, n int) (records map[int][]Record, err error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{k.Addr}, Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset,
		MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 100 * time.Millisecond,
	})
	defer func() { err = errors.Join(err, reader.Close()) }()
	records = map[int][]Record{}
	read := make([]kafka.Message, n)
	for i := range read {
		if read[i], err = reader.FetchMessage(ctx); err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", i, n, err)
		}
		records[read[i].Partition] = append(records[read[i].Partition], kafkaGoRecord(read[i]))
	}
	return records, reader.CommitMessages(ctx, read...)
}

func (k KafkaGo) OffsetAt(ctx context.Context, topic string, partition int, ms int64) (int64, error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.TimeOffsetOf(partition, toTime(ms))},
	}})
	if err != nil {
		return 0, err
	}
	if len(found.Topics[topic]) != 1 {
		return 0, fmt.Errorf("%d answers for %s", len(found.Topics[topic]), topic)
	}
	p, offset := found.Topics[topic][0], int64(-1)
	for o := range p.Offsets { // one at most
		offset = o
	}
	return offset, p.Error
}

// metadata is that of the topics named, or of all.
func (k KafkaGo) metadata(ctx context.Context, topics ...string) ([]kafka.Topic, error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, err
	}
	return found.Topics, nil
}

func (k KafkaGo) Topics(ctx context.Context) ([]string, error) {
	found, err := k.metadata(ctx)
	var names []string
	for _, t := range found {
		names = append(names, t.Name)
	}
	return names, err
}

func (k KafkaGo) Partitions(ctx context.Context, topic string) (int, error) {
	found, err := k.metadata(ctx, topic)
	if err != nil {
		return 0, err
	}
	return len(found[0].Partitions), found[0].Error
}

func (k KafkaGo) Groups(ctx context.Context) ([]string, error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, g := range found.Groups {
		ids = append(ids, g.GroupID)
	}
	return ids, found.Error
}

func (k KafkaGo) GroupState(ctx context.Context, group string) (string, error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return "", err
	}
	return found.Groups[0].GroupState, found.Groups[0].Error
}

func (KafkaGo) DeleteRecords(context.Context, string, int, int64) error { return ErrLacking }

func (k KafkaGo) DeleteGroup(ctx context.Context, group string) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	done, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return err
	}
	return done.Errors[group]
}
