// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package clients puts the Kafka clients for Go behind one interface, so that each test has one body for all of them.
package clients

import (
	"context"
	"time"
)

// Client is one Kafka client library. Each call uses connections of its own and leaves none open.
type Client interface {
	Name() string
	// Features says what the library can express and what it can tell apart.
	Features() Features
	CreateTopic(ctx context.Context, topic string, partitions int) error
	DeleteTopic(ctx context.Context, topic string) error
	// Produce writes the records in order and returns the offsets that it was told, or nil if the library was told none.
	Produce(ctx context.Context, to Destination, records []Record) ([]int64, error)
	// Consume reads n records of a partition, without a group, from an offset on.
	Consume(ctx context.Context, topic string, partition int, offset int64, n int) ([]Record, error)
}

// Features differ among the libraries.
type Features struct {
	Idempotent  bool // has an idempotent producer
	TellsOffset bool // Produce returns offsets if acks are asked for
	NullIsEmpty bool // reads null and empty bytes as the same
}

// Destination says where and how Produce writes.
type Destination struct {
	Topic      string
	Partition  int
	Codec      string // none, gzip, snappy, lz4, zstd
	Acks       Acks
	Idempotent bool
	BatchSize  int // most records in one batch; 0 leaves it to the library
}

// Acks is who has to have a record before the producer is told that it is written.
type Acks int

// The values of a Produce request's field acks.
const (
	AcksAll    Acks = -1
	AcksNone   Acks = 0
	AcksLeader Acks = 1
)

// Record is a Kafka record. Nil is null in Key, Value and a header's Value.
type Record struct {
	Offset     int64
	Timestamp  int64 // ms since 1970
	Key, Value []byte
	Headers    []Header
}

// Header is one header of a record; names may repeat.
type Header struct {
	Name  string
	Value []byte
}

// Codecs lists Kafka's compression codecs by name.
func Codecs() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// All returns every client for the broker at addr (host:port).
func All(addr string) []Client {
	return []Client{Franz{Addr: addr}, Sarama{Addr: addr}, KafkaGo{addr}}
}

func toTime(ms int64) time.Time { return time.UnixMilli(ms) }
