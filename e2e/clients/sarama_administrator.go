// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"

	"github.com/IBM/sarama"
)

func (s Sarama) GrowTopic(_ context.Context, topic string, partitions int) error {
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.CreatePartitions(topic, int32(partitions), nil, false)
	})
}

func (s Sarama) Settings(_ context.Context, topic string) (settings map[string]string, err error) {
	settings = map[string]string{}
	err = s.administer(func(admin sarama.ClusterAdmin) error {
		found, err := admin.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic}}, sarama.DescribeConfigsOptions{})
		if err != nil {
			return err
		}
		for _, c := range found[0].Configs {
			settings[c.Name] = c.Value
		}
		if found[0].ErrorCode != sarama.ErrNoError {
			return found[0].ErrorCode
		}
		return nil
	})
	return settings, err
}

func (s Sarama) AlterSettings(_ context.Context, topic string, settings map[string]string) error {
	entries := map[string]sarama.IncrementalAlterConfigsEntry{}
	for name, value := range settings {
		entries[name] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
	}
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false)
	})
}

func (s Sarama) ReplaceSettings(_ context.Context, topic string, settings map[string]string) error {
	entries := map[string]*string{}
	for name, value := range settings {
		entries[name] = &value
	}
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.AlterConfig(sarama.TopicResource, topic, entries, false)
	})
}

func (s Sarama) ProducerRate(_ context.Context, clientID string) (rate float64, err error) {
	err = s.administer(func(admin sarama.ClusterAdmin) error {
		found, err := admin.DescribeClientQuotas([]sarama.QuotaFilterComponent{
			{EntityType: sarama.QuotaEntityClientID, MatchType: sarama.QuotaMatchExact, Match: clientID},
		}, true)
		for _, entity := range found {
			rate = entity.Values[quotaProducer]
		}
		return err
	})
	return rate, err
}

func (s Sarama) SetProducerRate(_ context.Context, clientID string, rate float64) error {
	return s.administer(func(admin sarama.ClusterAdmin) error {
		return admin.AlterClientQuotas([]sarama.QuotaEntityComponent{
			{EntityType: sarama.QuotaEntityClientID, MatchType: sarama.QuotaMatchExact, Name: clientID},
		}, sarama.ClientQuotasOp{Key: quotaProducer, Value: rate, Remove: rate == 0}, false)
	})
}
