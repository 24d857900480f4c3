// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// timedEvery is how many records of a run there are for one whose latency is taken: the clock is not free.
const timedEvery = 10

// franzClient is franz-go with its defaults. Only compression is off: Iggy's SDK has none, and all shall carry the same
// bytes.
type franzClient struct {
	kafkaAdmin
	addr  string
	plain bool // its batches have no sequence numbers, as many of them under way
}

// idempotentInFlight is how many requests an idempotent producer has under way.
const idempotentInFlight = 5

func newFranzClient(addr string, plain bool) (*franzClient, error) {
	admin, err := newKafkaAdmin(addr)
	return &franzClient{admin, addr, plain}, err
}

func (f *franzClient) producer(topic string, w workload, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(f.addr), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if w.acks == "1" {
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	if f.plain {
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(idempotentInFlight))
	}
	return kgo.NewClient(options...)
}

func (f *franzClient) produce(ctx context.Context, topic string, w workload) (outcome, error) {
	client, err := f.producer(topic, w)
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	var (
		mu    sync.Mutex
		first error
		timed = make([]time.Duration, 0, w.records/timedEvery+1)
	)
	failed := func(_ *kgo.Record, err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		}
	}
	value := bytes.Repeat([]byte("x"), w.size)
	begin := time.Now()
	for i := range w.records {
		done := failed
		if i%timedEvery == 0 {
			sent := time.Now()
			done = func(r *kgo.Record, err error) {
				took := time.Since(sent)
				mu.Lock()
				timed = append(timed, took)
				mu.Unlock()
				failed(r, err)
			}
		}
		client.Produce(ctx, &kgo.Record{Value: value}, done)
	}
	if err := client.Flush(ctx); err != nil { // waits for the callbacks, too
		return outcome{}, err
	}
	return outcome{time.Since(begin), percentile(timed, 50), percentile(timed, 99)}, first
}

func (f *franzClient) consume(ctx context.Context, topic string, w workload) (outcome, error) {
	start := make(map[int32]kgo.Offset, w.partitions)
	for partition := range w.partitions {
		start[int32(partition)] = kgo.NewOffset().At(0)
	}
	begin := time.Now()
	client, err := kgo.NewClient(kgo.SeedBrokers(f.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}))
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	for n := 0; n < w.records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return outcome{}, err
		}
		n += fetches.NumRecords()
	}
	return outcome{took: time.Since(begin)}, nil
}

func (f *franzClient) single(ctx context.Context, topic string, w workload) ([]time.Duration, error) {
	client, err := f.producer(topic, w, kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	value := bytes.Repeat([]byte("x"), w.size)
	timed := make([]time.Duration, w.records)
	for i := range timed {
		begin := time.Now()
		if err := client.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
			return nil, err
		}
		timed[i] = time.Since(begin)
	}
	return timed, nil
}
