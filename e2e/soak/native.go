// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"sync"

	iggyclient "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// nativeServer is the store as Iggy's own clients see it. Its methods fail while the store is away, and wait while it is
// paused: the SDK has no deadlines.
type nativeServer struct {
	iggy  *harness.Iggy
	topic string
	// gate is locked for writing while nobody may write: a store that forgets has come back, and it is being looked at.
	gate *sync.RWMutex
}

// nativeClient is a connection of the SDK.
type nativeClient struct {
	client        iggcon.Client
	stream, topic iggcon.Identifier
}

func (s nativeServer) dial() (*nativeClient, error) {
	client, err := iggyclient.NewIggyClient(iggyclient.WithTcp(tcp.WithServerAddress(s.iggy.Addr)))
	if err != nil {
		return nil, err
	}
	n := &nativeClient{client: client}
	if _, err = client.LoginUser(s.iggy.Username, s.iggy.Password); err == nil {
		if n.stream, err = iggcon.NewIdentifier(s.iggy.Stream); err == nil {
			n.topic, err = iggcon.NewIdentifier(s.topic)
		}
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *nativeClient) close() { _ = n.client.Close() }

func (n *nativeClient) send(partition int, payloads ...[]byte) error {
	messages := make([]iggcon.IggyMessage, len(payloads))
	for i, payload := range payloads {
		var err error
		if messages[i], err = iggcon.NewIggyMessage(payload); err != nil {
			return err
		}
	}
	return n.client.SendMessages(n.stream, n.topic, iggcon.PartitionId(uint32(partition)), messages)
}

// read returns a partition's messages from the beginning on.
func (n *nativeClient) read(partition int) ([]Stored, error) {
	const most = 1000
	var log []Stored
	for id := uint32(partition); ; {
		polled, err := n.client.PollMessages(n.stream, n.topic, iggcon.DefaultConsumer(), iggcon.OffsetPollingStrategy(uint64(len(log))), most, false, &id)
		if err != nil {
			return nil, fmt.Errorf("soak: reading partition %d of the store: %w", partition, err)
		}
		if len(polled.Messages) == 0 {
			return log, nil
		}
		for _, m := range polled.Messages {
			if m.Header.Offset != uint64(len(log)) {
				return nil, fmt.Errorf("soak: the store has %d behind %d in partition %d", m.Header.Offset, len(log)-1, partition)
			}
			log = append(log, parse(m.Payload))
		}
	}
}

// logs returns all partitions' messages.
func (s nativeServer) logs(partitions int) ([][]Stored, error) {
	n, err := s.dial()
	if err != nil {
		return nil, fmt.Errorf("soak: dialling the store: %w", err)
	}
	defer n.close()
	logs := make([][]Stored, partitions)
	for p := range logs {
		if logs[p], err = n.read(p); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// nativeProducer writes past the gateway, to partitions that it writes to. What it cannot send, or may not have sent, it
// does not send again.
type nativeProducer struct {
	scene  *scene
	id     int
	plan   ProducerPlan
	server nativeServer
	stop   chan struct{}
	ended  chan struct{}

	// The sender's until ended is closed.
	sent  int
	words words
}

func startNativeProducer(ctx context.Context, s *scene, id int, plan ProducerPlan, server nativeServer) *nativeProducer {
	p := &nativeProducer{scene: s, id: id, plan: plan, server: server, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.run(ctx)
	}()
	return p
}

func (p *nativeProducer) run(ctx context.Context) {
	var client *nativeClient
	pace(ctx, p.stop, p.plan.Interval, func() {
		if client == nil {
			client, _ = p.server.dial() // tried again
			return
		}
		if err := p.burst(client); err != nil {
			client.close()
			client = nil
		}
	})
	if client != nil {
		client.close()
	}
}

// burst writes a few messages to one partition.
func (p *nativeProducer) burst(client *nativeClient) error {
	p.server.gate.RLock()
	defer p.server.gate.RUnlock()
	first := p.sent
	partition := first % p.scene.partitions
	payloads := make([][]byte, p.plan.Burst)
	for i := range payloads {
		payloads[i] = value(ID{p.id, first + i}, 0)
	}
	p.sent += len(payloads)
	if err := client.send(partition, payloads...); err != nil {
		return err
	}
	for i := range payloads {
		p.words.ack(Ack{Number: first + i, Partition: partition, Offset: -1, At: p.scene.now()})
	}
	return nil
}

func (p *nativeProducer) finish(ctx context.Context) error {
	close(p.stop)
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("producer %d: the store does not answer: %w", p.id, ctx.Err())
	}
}

// history must not be asked for unless finish has succeeded.
func (p *nativeProducer) history() ProducerHistory {
	select {
	case <-p.ended:
		return p.words.history(p.plan, p.sent)
	default:
		return ProducerHistory{Name: p.plan.String(), Guarantee: p.plan.guarantee(), Sent: 1 << 62}
	}
}
