// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"
)

func (k KafkaGo) GrowTopic(ctx context.Context, topic string, partitions int) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	done, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}}})
	if err != nil {
		return err
	}
	return done.Errors[topic]
}

func (k KafkaGo) Settings(ctx context.Context, topic string) (map[string]string, error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}},
	})
	if err != nil {
		return nil, err
	}
	if len(found.Resources) != 1 {
		return nil, fmt.Errorf("%d answers for %s", len(found.Resources), topic)
	}
	settings := map[string]string{}
	for _, c := range found.Resources[0].ConfigEntries {
		settings[c.ConfigName] = c.ConfigValue
	}
	return settings, found.Resources[0].Error
}

func (k KafkaGo) AlterSettings(ctx context.Context, topic string, settings map[string]string) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}
	for name, value := range settings {
		resource.Configs = append(resource.Configs, kafka.IncrementalAlterConfigsRequestConfig{Name: name, Value: value})
	}
	done, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
	if err != nil {
		return err
	}
	return done.Resources[0].Error
}

func (k KafkaGo) ReplaceSettings(ctx context.Context, topic string, settings map[string]string) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	resource := kafka.AlterConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}
	for name, value := range settings {
		resource.Configs = append(resource.Configs, kafka.AlterConfigRequestConfig{Name: name, Value: value})
	}
	done, err := client.AlterConfigs(ctx, &kafka.AlterConfigsRequest{Resources: []kafka.AlterConfigRequestResource{resource}})
	if err != nil {
		return err
	}
	return done.Errors[kafka.AlterConfigsResponseResource{Type: int8(kafka.ResourceTypeTopic), Name: topic}]
}

func (k KafkaGo) ProducerRate(ctx context.Context, clientID string) (rate float64, err error) {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	found, err := client.DescribeClientQuotas(ctx, &kafka.DescribeClientQuotasRequest{
		Components: []kafka.DescribeClientQuotasRequestComponent{{EntityType: quotaClientID, Match: clientID}}, Strict: true,
	})
	if err != nil {
		return 0, err
	}
	for _, entity := range found.Entries {
		for _, v := range entity.Values {
			if v.Key == quotaProducer {
				rate = v.Value
			}
		}
	}
	return rate, found.Error
}

func (k KafkaGo) SetProducerRate(ctx context.Context, clientID string, rate float64) error {
	client, transport := k.client(ctx)
	defer transport.CloseIdleConnections()
	done, err := client.AlterClientQuotas(ctx, &kafka.AlterClientQuotasRequest{Entries: []kafka.AlterClientQuotaEntry{{
		Entities: []kafka.AlterClientQuotaEntity{{EntityType: quotaClientID, EntityName: clientID}},
		Ops:      []kafka.AlterClientQuotaOps{{Key: quotaProducer, Value: rate, Remove: rate == 0}},
	}}})
	if err != nil {
		return err
	}
	return done.Entries[0].Error
}
