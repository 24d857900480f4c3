// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// createTimeout bounds how long a new topic may not be served.
const createTimeout = 30 * time.Second

// errCannot says that a client has no way to do something.
var errCannot = errors.New("bench: this client cannot do that")

// client is a program or library that writes and reads messages. Its methods are for one goroutine; they return
// errCannot for what it has no way to do.
type client interface {
	// create makes a topic of the run's own, remove takes it away.
	create(ctx context.Context, topic string, partitions int) error
	remove(ctx context.Context, topic string) error
	// produce returns once everything is acknowledged.
	produce(ctx context.Context, topic string, w workload) (outcome, error)
	// consume reads everything that produce has written.
	consume(ctx context.Context, topic string, w workload) (outcome, error)
	// single writes one record after the other and returns how long each took.
	single(ctx context.Context, topic string, w workload) ([]time.Duration, error)
	close()
}

// outcome is what a client saw of a run.
type outcome struct {
	took     time.Duration
	p50, p99 time.Duration // of a record, or of a call, until it is acknowledged; 0: not known
}

// contestant is a client on a target; both names are shown.
type contestant struct {
	target *harness.Target
	name   string // "franz", "java 16 KiB", "sdk"
	client client
}

// contestants are every client on every target that it can be used with.
func (p plan) contestants(ctx context.Context, targets []*harness.Target) (all []contestant, err error) {
	defer func() {
		if err != nil {
			closeClients(all)
		}
	}()
	for _, t := range targets {
		for _, name := range p.clients {
			made, err := p.newClients(ctx, t, name)
			if err != nil {
				return all, fmt.Errorf("%s on %s: %w", name, t.Name, err)
			}
			all = append(all, made...)
		}
	}
	return all, nil
}

// newClients makes one client, of Java's one for each batch size, and the SDK's only where there is an Iggy.
func (p plan) newClients(ctx context.Context, t *harness.Target, name string) ([]contestant, error) {
	switch {
	case name == clientFranz, name == clientPlain:
		c, err := newFranzClient(t.Kafka, name == clientPlain)
		return []contestant{{t, name, c}}, err
	case name == clientRaw:
		c, err := newRawClient(t.Kafka)
		return []contestant{{t, name, c}}, err
	case name == clientJava:
		jars, err := harness.KafkaJars(ctx)
		if err != nil {
			return nil, err
		}
		var made []contestant
		for _, batch := range p.batches {
			c, err := newJavaClient(jars, t.Kafka, batch)
			if err != nil {
				closeClients(made)
				return nil, err
			}
			made = append(made, contestant{t, fmt.Sprintf("java %d KiB", batch>>10), c})
		}
		return made, nil
	case t.Iggy == nil:
		return nil, nil
	default:
		c, err := newSDKClient(*t.Iggy)
		return []contestant{{t, name, c}}, err
	}
}

func closeClients(all []contestant) {
	for _, c := range all {
		c.client.close()
	}
}

// kafkaAdmin makes and deletes topics for the clients that speak Kafka's protocol.
type kafkaAdmin struct{ client *kgo.Client }

func newKafkaAdmin(addr string) (kafkaAdmin, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	return kafkaAdmin{client}, err
}

// create returns once the partitions answer: a broker says that a topic exists before it serves it, and what a client
// does then, which is to back off, is not the matter here.
func (a kafkaAdmin) create(ctx context.Context, topic string, partitions int) error {
	admin := kadm.NewClient(a.client)
	if _, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, topic); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err = errors.Join(err, ends.Error()); err == nil && len(ends[topic]) == partitions {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("topic %s is not served: %w", topic, errors.Join(err, ctx.Err()))
		}
	}
}

func (a kafkaAdmin) remove(ctx context.Context, topic string) error {
	_, err := kadm.NewClient(a.client).DeleteTopic(ctx, topic)
	return err
}

func (a kafkaAdmin) close() { a.client.Close() }
