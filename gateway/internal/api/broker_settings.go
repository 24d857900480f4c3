// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

// newBrokerSettings lists what DescribeConfigs tells of the broker, by name: settings that tools ask a Kafka broker for, as far
// as they mean something here, the defaults of topics, and the gateway's own settings by their own names.
func newBrokerSettings(cfg *Config, keys []topicconfig.Key) []topicconfig.Setting {
	number := func(name string, n int32, doc string) topicconfig.Setting {
		return topicconfig.Setting{Name: name, Value: strconv.Itoa(int(n)), Type: topicconfig.Int, Doc: doc}
	}
	yes := func(name string, on bool, doc string) topicconfig.Setting {
		return topicconfig.Setting{Name: name, Value: strconv.FormatBool(on), Type: topicconfig.Boolean, Doc: doc}
	}
	fixed := func(s topicconfig.Setting) topicconfig.Setting {
		s.Default = true
		return s
	}
	all := []topicconfig.Setting{
		number("node.id", cfg.NodeID, "Number of this gateway."),
		number("broker.id", cfg.NodeID, "The same as node.id."),
		number("num.partitions", cfg.DefaultPartitions, "Partitions of a topic that is created without a number of them."),
		yes("auto.create.topics.enable", cfg.AutoCreateTopics, "Whether Metadata requests create the topics that they name."),
		fixed(number("default.replication.factor", replicas, "Replicas of every topic, as far as Kafka's clients are told: replication is Iggy's.")),
		fixed(yes("delete.topic.enable", true, "Whether topics can be deleted.")),
		{Name: "log.retention.ms", Value: "-1", Type: topicconfig.Long, Default: true, Doc: "Default of topics' retention.ms."},
	}
	for _, k := range keys {
		if k.Broker != "" {
			all = append(all, topicconfig.Setting{Name: k.Broker, Value: k.Default, Type: k.Type, Default: true, Doc: "Default of topics' " + k.Name + "."})
		}
	}
	all = append(all, cfg.Settings...)
	slices.SortFunc(all, func(a, b topicconfig.Setting) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
