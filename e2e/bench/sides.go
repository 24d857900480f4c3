// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// kafkaSide is franz-go with its defaults: idempotent, acks of all, its own batching. Only compression is off: Iggy's
// SDK has none, and both shall carry the same bytes.
type kafkaSide struct {
	addr, topic string
	client      *kgo.Client
}

func newKafkaSide(ctx context.Context, target *harness.Target, topic string) (*kafkaSide, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(target.Kafka), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		client.Close()
		return nil, err
	}
	return &kafkaSide{addr: target.Kafka, topic: topic, client: client}, nil
}

func (k *kafkaSide) close() { k.client.Close() }

func (k *kafkaSide) deleteTopics(ctx context.Context, topics ...string) error {
	answers, err := kadm.NewClient(k.client).DeleteTopics(ctx, topics...)
	if err != nil {
		return err
	}
	return answers.Error()
}

func (k *kafkaSide) produce(ctx context.Context, p plan) error {
	var (
		once  sync.Once
		first error
	)
	payload := p.payload()
	for range p.records {
		k.client.Produce(ctx, &kgo.Record{Value: payload}, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	if err := k.client.Flush(ctx); err != nil { // waits for the callbacks, too
		return err
	}
	return first
}

func (k *kafkaSide) consume(ctx context.Context, p plan) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		k.topic: {0: kgo.NewOffset().At(0)},
	}))
	if err != nil {
		return err
	}
	defer client.Close()
	for n := 0; n < p.records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		n += fetches.NumRecords()
	}
	return nil
}

// nativeSide is the official SDK: one call after the other, as its client works.
type nativeSide struct {
	client        iggcon.Client
	stream, topic iggcon.Identifier
}

func newNativeSide(target *harness.Target, topic string) (n *nativeSide, err error) {
	client, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(target.Iggy.Addr)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = client.Close()
		}
	}()
	n = &nativeSide{client: client}
	if _, err = client.LoginUser(target.Iggy.Username, target.Iggy.Password); err != nil {
		return nil, err
	}
	if n.stream, err = iggcon.NewIdentifier(target.Iggy.Stream); err != nil {
		return nil, err
	}
	if n.topic, err = iggcon.NewIdentifier(topic); err != nil {
		return nil, err
	}
	_, err = client.CreateTopic(n.stream, topic, 1, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil)
	return n, err
}

func (n *nativeSide) close() { _ = n.client.Close() }

func (n *nativeSide) send(p plan) error {
	payload := p.payload()
	for sent := 0; sent < p.records; sent += p.perCall {
		messages := make([]iggcon.IggyMessage, min(p.perCall, p.records-sent))
		for i := range messages {
			var err error
			if messages[i], err = iggcon.NewIggyMessage(payload); err != nil {
				return err
			}
		}
		if err := n.client.SendMessages(n.stream, n.topic, iggcon.PartitionId(0), messages); err != nil {
			return err
		}
	}
	return nil
}

func (n *nativeSide) poll(p plan) error {
	var partition uint32
	for next := 0; next < p.records; {
		polled, err := n.client.PollMessages(n.stream, n.topic, iggcon.DefaultConsumer(),
			iggcon.OffsetPollingStrategy(uint64(next)), uint32(p.perCall), false, &partition)
		if err != nil {
			return err
		}
		if len(polled.Messages) == 0 {
			return fmt.Errorf("bench: the partition ends at %d of %d messages", next, p.records)
		}
		next += len(polled.Messages)
	}
	return nil
}
