// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
)

// ErrLacking is the error of what a library has nothing for.
var ErrLacking = errors.New("clients: the library cannot do that")

// Application is what programs ask of a client library besides writing and reading partitions: groups, and what an
// administrator does. Each call uses connections of its own, leaves none open, and may be answered with ErrLacking.
type Application interface {
	Client
	Administrator
	About() About
	// ConsumeGroup reads n records of a topic as a group's only member, from the committed offsets or the beginning on,
	// commits just those and leaves. They are told by partition.
	ConsumeGroup(ctx context.Context, topic, group string, n int) (map[int][]Record, error)
	// OffsetAt is the offset of the first record whose timestamp is at least ms; where there is none, -1, or the end of
	// the partition, as the library has it.
	OffsetAt(ctx context.Context, topic string, partition int, ms int64) (int64, error)
	Topics(ctx context.Context) ([]string, error)
	// Partitions is how many partitions a topic has.
	Partitions(ctx context.Context, topic string) (int, error)
	Groups(ctx context.Context) ([]string, error)
	// GroupState is a group's state in Kafka's words.
	GroupState(ctx context.Context, group string) (string, error)
	// DeleteRecords deletes the records of a partition before an offset.
	DeleteRecords(ctx context.Context, topic string, partition int, before int64) error
	DeleteGroup(ctx context.Context, group string) error
}

// About says which library it is, and what can be written with it.
type About struct {
	Version    string   `json:"version"` // empty for what Module tells
	Module     string   `json:"module"`  // of Go, whose version go.mod names
	Codecs     []string `json:"codecs"`
	Headerless bool     `json:"headerless"` // writes and reads no headers
	OwnTimes   bool     `json:"own_times"`  // writes the time of writing, whatever timestamp it is given

	Idempotent  bool `json:"idempotent"`
	TellsOffset bool `json:"tells_offset"`
	NullIsEmpty bool `json:"null_is_empty"`
}

// Features are those that all clients have something to say on.
func (a About) Features() Features {
	return Features{Idempotent: a.Idempotent, TellsOffset: a.TellsOffset, NullIsEmpty: a.NullIsEmpty}
}

// Applications returns the clients for Go, for the broker at addr (host:port), with sarama also as it speaks to the newest
// brokers that it knows.
func Applications(addr string) []Application {
	return []Application{Franz{Addr: addr}, Sarama{Addr: addr}, Sarama{Addr: addr, Newest: true}, KafkaGo{Addr: addr}}
}

// aboutGo is what is said about a client that this program is made with.
func aboutGo(c Client, module string) About {
	f := c.Features()
	return About{Module: module, Codecs: Codecs(), Idempotent: f.Idempotent, TellsOffset: f.TellsOffset, NullIsEmpty: f.NullIsEmpty}
}
