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

	"github.com/segmentio/kafka-go"
)

// kafkaGoProducer writes with kafka-go, its records to one partition after the other. The library has no idempotent
// producer, and one request under way to each partition.
type kafkaGoProducer struct {
	scene  *scene
	id     int
	plan   ProducerPlan
	writer *kafka.Writer
	stop   chan struct{}

	sending sync.WaitGroup
	sent    int // the sender's

	mu    sync.Mutex
	words words
}

func startKafkaGoProducer(ctx context.Context, s *scene, id int, plan ProducerPlan) (*kafkaGoProducer, error) {
	p := &kafkaGoProducer{scene: s, id: id, plan: plan, stop: make(chan struct{})}
	p.writer = &kafka.Writer{
		Addr: kafka.TCP(s.addr), Topic: s.topic, RequiredAcks: kafka.RequireAll,
		Balancer:    kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return parse(m.Value).ID.Number % s.partitions }),
		MaxAttempts: math.MaxInt32, WriteBackoffMax: retryWait,
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		BatchTimeout: plan.Linger + time.Millisecond,
		Completion:   p.told,
		Transport:    &kafka.Transport{DialTimeout: requestTimeout, MetadataTTL: time.Second},
	}
	if plan.Codec != "none" {
		if err := p.writer.Compression.UnmarshalText([]byte(plan.Codec)); err != nil {
			return nil, err
		}
	}
	p.sending.Go(func() { p.send(ctx) })
	return p, nil
}

func (p *kafkaGoProducer) send(ctx context.Context) {
	sizes := rand.New(rand.NewPCG(uint64(p.id), 0))
	pace(ctx, p.stop, p.plan.Interval, func() {
		burst := make([]kafka.Message, p.plan.Burst)
		for i := range burst {
			burst[i].Value = value(ID{p.id, p.sent}, sizes.IntN(p.plan.Size+1))
			p.sent++
		}
		_ = p.writer.WriteMessages(ctx, burst...) // told is told
	})
}

func (p *kafkaGoProducer) told(messages []kafka.Message, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		number := parse(m.Value).ID.Number
		if err != nil {
			p.words.fail(number, m.Partition, p.scene.now(), err.Error())
			continue
		}
		p.words.ack(Ack{Number: number, Partition: m.Partition, Offset: m.Offset, At: p.scene.now()})
	}
}

func (p *kafkaGoProducer) finish(ctx context.Context) error {
	close(p.stop)
	ended := make(chan error, 1)
	go func() {
		p.sending.Wait()
		ended <- p.writer.Close()
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("producer %d: not all records are answered: %w", p.id, context.Cause(ctx))
	}
}

func (p *kafkaGoProducer) history() ProducerHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.words.history(p.plan, p.sent)
}
