// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import "context"

// Administrator is what else those ask of a client library who look after topics and clients. Each call may be answered
// with ErrLacking.
type Administrator interface {
	// GrowTopic gives a topic more partitions, so many in all.
	GrowTopic(ctx context.Context, topic string, partitions int) error
	// Settings are all of a topic's, by name.
	Settings(ctx context.Context, topic string) (map[string]string, error)
	// AlterSettings sets some and leaves the others as they are: IncrementalAlterConfigs (KIP-339).
	AlterSettings(ctx context.Context, topic string, settings map[string]string) error
	// ReplaceSettings sets some and resets the others: AlterConfigs (KIP-133).
	ReplaceSettings(ctx context.Context, topic string, settings map[string]string) error
	// ProducerRate is the rate, bytes/s, at which clients of an id may produce (KIP-546), 0 where nobody has said.
	ProducerRate(ctx context.Context, clientID string) (float64, error)
	// SetProducerRate sets it; 0 removes it.
	SetProducerRate(ctx context.Context, clientID string, rate float64) error
}

// Kafka's names in quotas.
const (
	quotaClientID = "client-id"
	quotaProducer = "producer_byte_rate"
)
