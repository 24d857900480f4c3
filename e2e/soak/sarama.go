// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaProducer writes with sarama, its records to one partition after the other.
type saramaProducer struct {
	scene  *scene
	id     int
	plan   ProducerPlan
	client sarama.AsyncProducer
	stop   chan struct{}

	sending, telling sync.WaitGroup
	sent             int // the sender's

	mu    sync.Mutex
	words words
}

func startSaramaProducer(ctx context.Context, s *scene, id int, plan ProducerPlan) (*saramaProducer, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Net.DialTimeout, config.Net.ReadTimeout, config.Net.WriteTimeout = requestTimeout, requestTimeout, requestTimeout
	config.Net.MaxOpenRequests = plan.InFlight
	config.Metadata.Retry.Max, config.Metadata.Retry.Backoff = math.MaxInt32, retryWait
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Timeout = requestTimeout
	config.Producer.Idempotent = plan.Idempotent
	config.Producer.Retry.Max, config.Producer.Retry.Backoff = 10_000, 50*time.Millisecond // it makes an array of so many
	config.Producer.Return.Successes = true
	if err := config.Producer.Compression.UnmarshalText([]byte(plan.Codec)); err != nil {
		return nil, err
	}
	client, err := sarama.NewAsyncProducer([]string{s.addr}, config)
	if err != nil {
		return nil, fmt.Errorf("soak: producer %d: %w", id, err)
	}
	p := &saramaProducer{scene: s, id: id, plan: plan, client: client, stop: make(chan struct{})}
	p.telling.Go(func() {
		for m := range client.Successes() {
			p.mu.Lock()
			p.words.ack(Ack{Number: m.Metadata.(int), Partition: int(m.Partition), Offset: m.Offset, At: s.now()})
			p.mu.Unlock()
		}
	})
	p.telling.Go(func() {
		for e := range client.Errors() {
			p.mu.Lock()
			p.words.fail(e.Msg.Metadata.(int), int(e.Msg.Partition), s.now(), e.Err.Error())
			p.mu.Unlock()
		}
	})
	p.sending.Go(func() { p.send(ctx) })
	return p, nil
}

func (p *saramaProducer) send(ctx context.Context) {
	sizes := rand.New(rand.NewPCG(uint64(p.id), 0))
	pace(ctx, p.stop, p.plan.Interval, func() {
		for range p.plan.Burst {
			id := ID{p.id, p.sent}
			message := &sarama.ProducerMessage{
				Topic: p.scene.topic, Partition: int32(id.Number % p.scene.partitions), Metadata: id.Number,
				Value: sarama.ByteEncoder(value(id, sizes.IntN(p.plan.Size+1))),
			}
			select {
			case p.client.Input() <- message: // which has room for few
				p.sent++
			case <-p.stop:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

func (p *saramaProducer) finish(ctx context.Context) error {
	close(p.stop)
	p.sending.Wait()
	for !p.answered() { // it drops what it was about to send again when it is closed
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			p.client.AsyncClose()
			return fmt.Errorf("producer %d: not all records are answered: %w", p.id, err)
		}
	}
	p.client.AsyncClose()
	told := make(chan struct{})
	go func() { p.telling.Wait(); close(told) }()
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("producer %d: not all records are answered: %w", p.id, context.Cause(ctx))
	}
}

// answered tells whether nothing is under way. The sender has ended.
func (p *saramaProducer) answered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.words.told == p.sent
}

func (p *saramaProducer) history() ProducerHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.words.history(p.plan, p.sent)
}
