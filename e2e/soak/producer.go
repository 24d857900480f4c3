// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// producer is a client that writes.
type producer interface {
	// finish ends the writing and waits until all is answered. It is called once.
	finish(ctx context.Context) error
	// history is valid after finish, whether that succeeded or not.
	history() ProducerHistory
}

// mostUnderWay is how many records a producer has not been told of, at most; more wait.
const mostUnderWay = 1000

func startProducer(ctx context.Context, s *scene, id int, plan ProducerPlan, native nativeServer) (producer, error) {
	switch plan.Library {
	case FranzGo:
		return startFranzProducer(ctx, s, id, plan)
	case Java:
		return startJavaProducer(ctx, s, id, plan)
	case Sarama:
		return startSaramaProducer(ctx, s, id, plan)
	case KafkaGo:
		return startKafkaGoProducer(ctx, s, id, plan)
	default:
		return startNativeProducer(ctx, s, id, plan, native), nil
	}
}

// franzProducer writes with franz-go, its records to one partition after the other.
type franzProducer struct {
	scene  *scene
	id     int
	plan   ProducerPlan
	client *kgo.Client
	log    io.Closer
	stop   chan struct{}
	ended  sync.WaitGroup

	sent int // the sender's; anybody's after its end

	mu    sync.Mutex
	words words
}

func startFranzProducer(ctx context.Context, s *scene, id int, plan ProducerPlan) (*franzProducer, error) {
	file, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("producer-%d.log", id)))
	if err != nil {
		return nil, err
	}
	p := &franzProducer{scene: s, id: id, plan: plan, log: file, stop: make(chan struct{})}
	opts := []kgo.Opt{
		kgo.ProduceRequestTimeout(requestTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(mostUnderWay),
		kgo.ProducerLinger(plan.Linger),
		kgo.ProducerBatchCompression(codec(plan.Codec)),
		kgo.ProducerOnDataLossDetected(func(_ string, partition int32) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.words.breaks = append(p.words.breaks, Break{int(partition), s.now()})
		}),
		kgo.WithLogger(kgo.BasicLogger(file, logLevel(), func() string { return time.Now().Format("15:04:05.000 ") })),
	}
	if !plan.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(plan.InFlight))
	}
	if p.client, err = s.franz(opts...); err != nil {
		return nil, err
	}
	p.ended.Go(func() { p.send(ctx) })
	return p, nil
}

// send writes until it is stopped.
func (p *franzProducer) send(ctx context.Context) {
	sizes := rand.New(rand.NewPCG(uint64(p.id), 0))
	pace(ctx, p.stop, p.plan.Interval, func() {
		for range p.plan.Burst {
			id := ID{p.id, p.sent}
			record := &kgo.Record{Topic: p.scene.topic, Partition: int32(id.Number % p.scene.partitions), Value: value(id, sizes.IntN(p.plan.Size+1))}
			p.sent++
			// Waits while there is too much under way.
			p.client.Produce(ctx, record, func(r *kgo.Record, err error) { p.told(id.Number, r, err) })
		}
	})
}

func (p *franzProducer) told(number int, r *kgo.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, kgo.ErrClientClosed) {
		return // finish has given up, and says so
	}
	if err != nil {
		p.words.fail(number, int(r.Partition), p.scene.now(), err.Error())
		return
	}
	p.words.ack(Ack{Number: number, Partition: int(r.Partition), Offset: r.Offset, At: p.scene.now()})
}

func (p *franzProducer) finish(ctx context.Context) error {
	defer p.log.Close()
	defer p.client.Close()
	close(p.stop)
	done := make(chan struct{})
	go func() { p.ended.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // a record waits for room
		p.client.Close()
		<-done
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("producer %d: %d records are not answered: %w", p.id, p.client.BufferedProduceRecords(), err)
	}
	return nil
}

func (p *franzProducer) history() ProducerHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.words.history(p.plan, p.sent)
}

// logLevel is how much clients write: each request, if SOAK_DEBUG=true.
func logLevel() kgo.LogLevel {
	if os.Getenv("SOAK_DEBUG") == "true" {
		return kgo.LogLevelDebug
	}
	return kgo.LogLevelInfo
}

func codec(name string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[name]
}
