// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients/group"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestGatewayRestarts stops and kills the gateway again and again under the load of every library for Go and Kafka's own,
// with their usual batches and groups: nobody is told of an error that its library does not deal with by itself. (Most of
// them give up after a few tries, unless they are told otherwise, with Kafka as well.)
func TestGatewayRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	bin, err := harness.Build(t.Context(), "steppedclock")
	if err != nil {
		t.Fatal(err)
	}
	java := PrepareJava(t.Context()) == nil
	for _, topology := range []Topology{Embedded, Separate} {
		t.Run(string(topology), func(t *testing.T) {
			plan := restarts(topology)
			if !java {
				plan = plan.Without(Java)
			}
			history := check(t, plan, bin, &total{})
			if history == nil {
				return
			}
			for _, e := range history.Group.Events {
				if e.Kind == group.Failed {
					t.Errorf("member %s was told at %v: %s", e.Member, e.At, e.Error)
				}
			}
		})
	}
}

// restarts is a plan in which the gateway is started again six times.
func restarts(topology Topology) Plan {
	p := Plan{Topology: topology, Partitions: 3, Length: 9 * time.Second}
	writer := ProducerPlan{Burst: 10, Interval: 20 * time.Millisecond, Size: 100, Codec: "none"}
	for _, kind := range []struct {
		library    Library
		idempotent bool
		inFlight   int
	}{
		{FranzGo, true, 5}, {FranzGo, false, 1}, {Sarama, true, 1}, {Sarama, false, 1}, {KafkaGo, false, 1}, {Java, true, 5}, {Java, false, 1},
	} {
		q := writer
		q.Library, q.Idempotent, q.InFlight = kind.library, kind.idempotent, kind.inFlight
		p.Producers = append(p.Producers, q)
	}
	p.Consumers = []ConsumerPlan{{Library: FranzGo, Sessions: true, FetchBytes: 1 << 20}, {Library: FranzGo, FetchBytes: 1 << 12}}
	p.Members = []ConsumerPlan{{Library: Java}, {Library: Java}}
	for i := range 6 {
		p.Faults = append(p.Faults, Fault{
			At: time.Duration(1500+i*1200) * time.Millisecond, Where: Gateway, Kind: []Kind{Stop, Kill}[i%2], For: time.Duration(i%3) * 100 * time.Millisecond,
		})
	}
	return p
}
