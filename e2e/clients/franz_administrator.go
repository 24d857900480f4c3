// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

func (f Franz) GrowTopic(ctx context.Context, topic string, partitions int) error {
	return f.administer(func(admin *kadm.Client) error {
		grown, err := admin.UpdatePartitions(ctx, partitions, topic)
		if err != nil {
			return err
		}
		return grown[topic].Err
	})
}

func (f Franz) Settings(ctx context.Context, topic string) (settings map[string]string, err error) {
	settings = map[string]string{}
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		resource, err := found.On(topic, nil)
		if err != nil {
			return err
		}
		for _, c := range resource.Configs {
			settings[c.Key] = c.MaybeValue()
		}
		return resource.Err
	})
	return settings, err
}

func (f Franz) AlterSettings(ctx context.Context, topic string, settings map[string]string) error {
	return f.administer(func(admin *kadm.Client) error {
		return franzAltered(admin.AlterTopicConfigs(ctx, franzSettings(settings), topic))
	})
}

func (f Franz) ReplaceSettings(ctx context.Context, topic string, settings map[string]string) error {
	return f.administer(func(admin *kadm.Client) error {
		return franzAltered(admin.AlterTopicConfigsState(ctx, franzSettings(settings), topic))
	})
}

func franzSettings(settings map[string]string) (altered []kadm.AlterConfig) {
	for name, value := range settings {
		altered = append(altered, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	return altered
}

// franzAltered is the outcome for one resource.
func franzAltered(altered kadm.AlterConfigsResponses, err error) error {
	if err != nil {
		return err
	}
	return altered[0].Err
}

func (f Franz) ProducerRate(ctx context.Context, clientID string) (rate float64, err error) {
	err = f.administer(func(admin *kadm.Client) error {
		found, err := admin.DescribeClientQuotas(ctx, true, []kadm.DescribeClientQuotaComponent{{Type: quotaClientID, MatchName: &clientID}})
		for _, entity := range found {
			for _, v := range entity.Values {
				if v.Key == quotaProducer {
					rate = v.Value
				}
			}
		}
		return err
	})
	return rate, err
}

func (f Franz) SetProducerRate(ctx context.Context, clientID string, rate float64) error {
	return f.administer(func(admin *kadm.Client) error {
		altered, err := admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
			Entity: kadm.ClientQuotaEntity{{Type: quotaClientID, Name: &clientID}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: quotaProducer, Value: rate, Remove: rate == 0}},
		}})
		if err != nil {
			return err
		}
		return altered[0].Err
	})
}
