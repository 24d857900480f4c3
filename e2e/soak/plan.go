// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Topology is what stands between the clients and the disk.
type Topology string

// The topologies. Connections to the gateway, and its own to a server that stands apart, go through a [Proxy].
const (
	Embedded Topology = "embedded" // the durable store within the gateway
	Separate Topology = "separate" // iggy-embedded, durable
	Losing   Topology = "losing"   // iggy-embedded, which forgets when it is killed as a real server does
	Real     Topology = "real"     // a real server
)

// forgets tells whether a kill of the store takes away what it had acknowledged.
func (t Topology) forgets() bool { return t == Losing || t == Real }

// Plan is all that is decided about a run.
type Plan struct {
	Seed       uint64
	Topology   Topology
	Partitions int
	Producers  []ProducerPlan
	Consumers  []ConsumerPlan // without a group
	Members    []ConsumerPlan // of one group
	Faults     []Fault        // in the order of their times
	Length     time.Duration  // of the time in which faults happen

	Exclusive     bool // the gateway is told that nobody else writes
	LogAppendTime bool // the topic's records have the store's time
}

// Library is what a client is made of.
type Library string

// The libraries.
const (
	FranzGo Library = "franz-go"
	Sarama  Library = "sarama"
	KafkaGo Library = "kafka-go"
	Java    Library = "java"
	SDK     Library = "iggy sdk" // writes past the gateway
)

// ProducerPlan is a producer.
type ProducerPlan struct {
	Library    Library
	Idempotent bool
	InFlight   int // requests
	Burst      int // records at a time
	Interval   time.Duration
	Size       int // most bytes of padding
	Codec      string
	Linger     time.Duration
}

func (p ProducerPlan) String() string {
	if p.Library == SDK {
		return fmt.Sprintf("%s, %d records every %v", p.Library, p.Burst, p.Interval)
	}
	kind := "not idempotent"
	if p.Idempotent {
		kind = "idempotent"
	}
	return fmt.Sprintf("%s, %s, %d in flight, %d records every %v, up to %d bytes, %s, linger %v",
		p.Library, kind, p.InFlight, p.Burst, p.Interval, p.Size, p.Codec, p.Linger)
}

// guarantee is what this producer may rely on.
func (p ProducerPlan) guarantee() Guarantee {
	switch {
	case p.Idempotent || p.Library == SDK: // which sends nothing again
		return Once
	case p.InFlight == 1 && p.Library != Sarama: // which may batch what it sends again behind later records (IBM/sarama#2860)
		return InOrder
	default:
		return AtLeastOnce
	}
}

// ConsumerPlan is a consumer.
type ConsumerPlan struct {
	Library    Library
	Sessions   bool // fetch sessions (KIP-227)
	FetchBytes int  // most per partition
}

func (c ConsumerPlan) String() string {
	if c.FetchBytes == 0 {
		return string(c.Library)
	}
	return fmt.Sprintf("%s, sessions %v, %d bytes of a partition", c.Library, c.Sessions, c.FetchBytes)
}

// NewPlan draws the plan of a run. It depends on nothing but its arguments; topology is drawn, too, unless it is named.
func NewPlan(seed uint64, topology Topology) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Topology: []Topology{Embedded, Separate, Separate, Losing}[r.IntN(4)]}
	if topology != "" {
		p.Topology = topology
	}
	p.Partitions = 1 + r.IntN(3)
	if p.Topology.forgets() {
		p.Partitions = 1 + r.IntN(2) // of one it is known exactly what was told when
	}
	p.Length = between(r, 8*time.Second, 11*time.Second)
	p.drawProducers(r)
	p.drawConsumers(r)
	p.Faults = drawFaults(r, p.Topology, p.Length)
	p.Exclusive = chance(r, 0.3) && !p.Needs(SDK)
	p.LogAppendTime = chance(r, 0.2)
	if len(p.Members) > 0 && !p.Topology.forgets() && chance(r, 0.5) {
		replaced := drawSeries(r, p.Length, func() Fault {
			return Fault{Where: Members, Kind: Replace, Who: r.IntN(len(p.Members)), For: between(r, 0, time.Second)}
		})
		// Not more: a member that cannot say that it leaves is missed only at the end of its session.
		p.Faults = sorted(append(p.Faults, replaced[:min(2, len(replaced))]...))
	}
	return p
}

func (p *Plan) drawProducers(r *rand.Rand) {
	for range 2 + r.IntN(3) {
		p.Producers = append(p.Producers, drawProducer(r))
	}
	p.Producers[0].Library, p.Producers[0].Idempotent = FranzGo, true // in every run
	for i := range p.Producers {
		q := &p.Producers[i]
		switch {
		case q.Library == FranzGo && q.Idempotent:
			q.InFlight = 5 // it takes no other number then
		case q.Library == Sarama:
			q.InFlight = 1 // as it demands of idempotent producers
		}
		if p.Topology.forgets() {
			q.Burst *= 3 // so much that it keeps something
		}
	}
	if chance(r, 0.35) {
		p.Producers = append(p.Producers, ProducerPlan{
			Library: SDK, Burst: 1 + r.IntN(5), Interval: between(r, 5*time.Millisecond, 50*time.Millisecond),
		})
	}
}

func (p *Plan) drawConsumers(r *rand.Rand) {
	for range 1 + r.IntN(2) {
		p.Consumers = append(p.Consumers, ConsumerPlan{Library: FranzGo, Sessions: chance(r, 0.7), FetchBytes: 1 << (9 + r.IntN(12))})
	}
	if chance(r, 0.5) {
		for range 1 + r.IntN(2) {
			p.Members = append(p.Members, ConsumerPlan{Library: pick(r, FranzGo, FranzGo, Sarama, Java)})
		}
		for i := range p.Members { // members of different libraries have no protocol in common
			p.Members[i].Library = p.Members[0].Library
		}
	}
}

func drawProducer(r *rand.Rand) ProducerPlan {
	p := ProducerPlan{
		Library:    pick(r, FranzGo, FranzGo, FranzGo, FranzGo, Sarama, Java, Java),
		Idempotent: chance(r, 0.6),
		InFlight:   pick(r, 1, 5),
		Burst:      1 + r.IntN(20),
		Interval:   between(r, 10*time.Millisecond, 60*time.Millisecond),
		Size:       r.IntN(400),
		Codec:      pick(r, "none", "none", "gzip", "snappy", "lz4", "zstd"),
		Linger:     pick(r, 0, 0, 5*time.Millisecond),
	}
	if p.Library == Java {
		p.Size = 0 // its values are numbers
	}
	return p
}

// Needs tells whether a library takes part.
func (p Plan) Needs(library Library) bool {
	return slices.ContainsFunc(p.Producers, func(q ProducerPlan) bool { return q.Library == library }) ||
		slices.ContainsFunc(p.Members, func(q ConsumerPlan) bool { return q.Library == library })
}

// Without is the plan with franz-go in a library's place.
func (p Plan) Without(library Library) Plan {
	p.Producers, p.Members = slices.Clone(p.Producers), slices.Clone(p.Members)
	for i := range p.Producers {
		if p.Producers[i].Library == library {
			p.Producers[i].Library = FranzGo
		}
	}
	for i := range p.Members {
		if p.Members[i].Library == library {
			p.Members[i].Library = FranzGo
		}
	}
	return p
}

func (p Plan) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: topology %s, %d partitions, exclusive %v, LogAppendTime %v, faults for %v\n",
		p.Seed, p.Topology, p.Partitions, p.Exclusive, p.LogAppendTime, p.Length)
	for i, q := range p.Producers {
		fmt.Fprintf(&text, "  producer %d: %v\n", i, q)
	}
	for i, c := range p.Consumers {
		fmt.Fprintf(&text, "  consumer %d: %v\n", i, c)
	}
	for i, c := range p.Members {
		fmt.Fprintf(&text, "  member %d: %v\n", i, c)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&text, "  %v\n", f)
	}
	return text.String()
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, of float64) bool { return r.Float64() < of }

// between draws a duration in whole milliseconds, which read well.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(r.Int64N(int64(most-least)+1))).Truncate(time.Millisecond)
}
