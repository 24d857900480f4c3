// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
)

const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

// describeConfigs asks for settings of one resource; without names, for all.
func describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

// ownConfigs are the settings that a topic has of its own, as NAME=value.
func (c *client) ownConfigs(topic string) map[string]string {
	c.Helper()
	got := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, ofTopic, topic)).Resources[0]
	if got.ErrorCode != 0 {
		c.Fatalf("describe %s: error %d", topic, got.ErrorCode)
	}
	own := map[string]string{}
	for _, config := range got.Configs {
		if config.Source == kmsg.ConfigSourceDynamicTopicConfig {
			own[config.Name] = *config.Value
		}
	}
	return own
}

// incremental changes settings of a resource: "name=value" sets, "name" deletes, "name+=value" appends, "name-=value" subtracts.
func incremental(kind kmsg.ConfigResourceType, name string, changes ...string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, change := range changes {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		key, value, set := strings.Cut(change, "=")
		switch {
		case !set:
			c.Op = kmsg.IncrementalAlterConfigOpDelete
		case strings.HasSuffix(key, "+"):
			c.Op = kmsg.IncrementalAlterConfigOpAppend
		case strings.HasSuffix(key, "-"):
			c.Op = kmsg.IncrementalAlterConfigOpSubtract
		}
		c.Name = strings.TrimRight(key, "+-")
		if set {
			c.Value = &value
		}
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// replacing gives a resource just these settings, NAME=value.
func replacing(kind kmsg.ConfigResourceType, name string, settings ...string) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version = 2
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, setting := range settings {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		key, value, set := strings.Cut(setting, "=")
		if c.Name = key; set {
			c.Value = &value
		}
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// altered asks and returns each resource's code and text in short.
func (c *client) altered(req kmsg.Request) string {
	c.Helper()
	short := func(code int16, text *string) string {
		if text == nil {
			return fmt.Sprint(code)
		}
		return fmt.Sprintf("%d: %s", code, *text)
	}
	c.send(req)
	var all []string
	switch resp := c.receive().(type) {
	case *kmsg.AlterConfigsResponse:
		for _, r := range resp.Resources {
			all = append(all, short(r.ErrorCode, r.ErrorMessage))
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range resp.Resources {
			all = append(all, short(r.ErrorCode, r.ErrorMessage))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, r := range resp.Topics {
			all = append(all, short(r.ErrorCode, r.ErrorMessage))
		}
	}
	return strings.Join(all, "; ")
}

// set changes settings of a topic, which must succeed.
func (c *client) set(topic string, changes ...string) {
	c.Helper()
	if got := c.altered(incremental(ofTopic, topic, changes...)); got != "0" {
		c.Fatalf("%s %v: %s", topic, changes, got)
	}
}

// Every setting is told with its value, where that comes from, its type and, if asked, what it is for.
func TestDescribeTopicConfigs(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 2, "retention.ms", "60000", "segment.bytes", " 2000000 ", "min.cleanable.dirty.ratio", "1", "preallocate", "TRUE")
	for version := int16(1); version <= 4; version++ {
		req := describeConfigs(version, ofTopic, topic)
		req.IncludeSynonyms, req.IncludeDocumentation = true, version >= 3
		got := ask[*kmsg.DescribeConfigsResponse](c, req).Resources[0]
		if got.ErrorCode != 0 || got.ErrorMessage == nil || *got.ErrorMessage != "" || got.ResourceType != ofTopic || got.ResourceName != topic {
			t.Fatalf("v%d: %+v", version, got)
		}
		keys := topicconfig.NewTable().All()
		if len(got.Configs) != len(keys) {
			t.Fatalf("v%d: %d settings", version, len(got.Configs))
		}
		for i, config := range got.Configs {
			key := keys[i]
			want := kmsg.NewDescribeConfigsResponseResourceConfig()
			want.Name, want.Value, want.Source = key.Name, &key.Default, kmsg.ConfigSourceDefaultConfig
			if value, ok := map[string]string{"retention.ms": "60000", "segment.bytes": "2000000", "min.cleanable.dirty.ratio": "1.0", "preallocate": "true"}[key.Name]; ok {
				want.Value, want.Source = &value, kmsg.ConfigSourceDynamicTopicConfig
				want.ConfigSynonyms = append(want.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					Name: key.Name, Value: &value, Source: kmsg.ConfigSourceDynamicTopicConfig,
				})
			}
			if key.Broker != "" {
				want.ConfigSynonyms = append(want.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					Name: key.Broker, Value: &key.Default, Source: kmsg.ConfigSourceDefaultConfig,
				})
			}
			if version >= 3 {
				want.ConfigType, want.Documentation = kmsg.ConfigType(key.Type), &key.Doc
			}
			if diff := cmp.Diff(want, config, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
				t.Errorf("v%d: %s", version, diff)
			}
		}
	}
	// Only what is asked for, once, and nothing that there is not.
	got := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, ofTopic, topic, "retention.ms", "no.such.key", "cleanup.policy", "retention.ms")).Resources[0]
	if len(got.Configs) != 2 || got.Configs[0].Name != "cleanup.policy" || got.Configs[1].Name != "retention.ms" || got.Configs[0].ConfigSynonyms != nil || got.Configs[0].Documentation != nil {
		t.Errorf("two of them: %+v", got.Configs)
	}
}

// What has no settings to tell, with the texts of a broker.
func TestDescribeConfigsRefusals(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for _, tc := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want string
	}{
		{ofTopic, "no-such-topic", "3: "},
		{ofTopic, "a b", "17: Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{ofTopic, "", "17: Topic name is invalid: the empty string is not allowed"},
		{ofBroker, "", "0: "},
		{ofBroker, "7", "42: Unexpected broker id, expected 1 or empty string, but received 7"},
		{ofBroker, "x", "42: Broker id must be an integer, but it is: x"},
		{8, "1", "42: Resources of type 8 have no settings here."},
		{16, "subscription", "42: Resources of type 16 have no settings here."},
		{32, "group", "42: Resources of type 32 have no settings here."},
	} {
		got := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, tc.kind, tc.name)).Resources[0]
		if short := fmt.Sprintf("%d: %s", got.ErrorCode, *got.ErrorMessage); short != tc.want || len(got.Configs) != 0 || got.ResourceType != tc.kind || got.ResourceName != tc.name {
			t.Errorf("%v %q: %s, %d settings", tc.kind, tc.name, short, len(got.Configs))
		}
	}
	// An unknown type spoils all.
	req := describeConfigs(4, ofBroker, "1")
	req.Resources = append(req.Resources, describeConfigs(4, 3, "x").Resources...)
	for _, got := range ask[*kmsg.DescribeConfigsResponse](c, req).Resources {
		if got.ErrorCode != codeInvalidRequest || len(got.Configs) != 0 {
			t.Errorf("beside an unknown type: %+v", got)
		}
	}
	if got := ask[*kmsg.DescribeConfigsResponse](c, &kmsg.DescribeConfigsRequest{Version: 4}); len(got.Resources) != 0 {
		t.Errorf("none: %+v", got)
	}
}

// The gateway's own settings are those of its broker, read-only, and secrets are not told.
func TestDescribeBrokerConfigs(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) {
		cfg.DefaultPartitions, cfg.AutoCreateTopics = 5, true
		cfg.Settings = []topicconfig.Setting{
			{Name: "IGGY_KAFKA_IGGY_PASSWORD", Value: "hidden", Type: topicconfig.Password, Secret: true, Doc: "Secret."},
			{Name: "IGGY_KAFKA_MAX_CONNECTIONS", Value: "10", Type: topicconfig.Long},
			{Name: "IGGY_KAFKA_LOG_FORMAT", Value: "text", Type: topicconfig.String, Default: true},
		}
	}})
	c := gw.dial(t)
	req := describeConfigs(4, ofBroker, "1")
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	got := ask[*kmsg.DescribeConfigsResponse](c, req).Resources[0]
	told := map[string]string{}
	for _, config := range got.Configs {
		value := "null"
		if config.Value != nil {
			value = *config.Value
		}
		told[config.Name] = fmt.Sprintf("%s from %d, type %d", value, config.Source, config.ConfigType)
		if len(config.ConfigSynonyms) != 1 || config.ConfigSynonyms[0].Source != config.Source || !cmp.Equal(config.ConfigSynonyms[0].Value, config.Value) {
			t.Errorf("%s: synonyms %+v", config.Name, config.ConfigSynonyms)
		}
		if !config.ReadOnly || config.IsSensitive != (config.Name == "IGGY_KAFKA_IGGY_PASSWORD") {
			t.Errorf("%+v", config)
		}
	}
	for name, want := range map[string]string{
		"IGGY_KAFKA_IGGY_PASSWORD": "null from 4, type 9", "IGGY_KAFKA_MAX_CONNECTIONS": "10 from 4, type 5", "IGGY_KAFKA_LOG_FORMAT": "text from 5, type 2",
		"num.partitions": "5 from 4, type 3", "auto.create.topics.enable": "true from 4, type 1", "node.id": "1 from 4, type 3",
		"message.max.bytes": "1048588 from 5, type 3", "log.cleanup.policy": "delete from 5, type 7",
	} {
		if told[name] != want {
			t.Errorf("%s: %s, want %s", name, told[name], want)
		}
	}
	if !slices.IsSortedFunc(got.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("out of order")
	}
	one := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, ofBroker, "1", "num.partitions")).Resources[0]
	if len(one.Configs) != 1 || *one.Configs[0].Value != "5" {
		t.Errorf("one of them: %+v", one.Configs)
	}
}

// A topic that a native client has made, or changed, is described by what Iggy holds, and what Kafka cannot express is rounded.
// What is set from then on changes nothing else.
func TestNativeSettings(t *testing.T) {
	gw := start(t, setup{bridge: func(cfg *bridge.Config) { cfg.TopicViewAge = 1 }})
	c := gw.dial(t)
	stream := iggywire.NamedID("kafka")
	gw.native(t, iggywire.CreateTopic{
		Stream: stream, Name: "native", Partitions: 3, Compression: iggywire.CompressionGzip, ReplicationFactor: 3,
		MessageExpiry: 1500, MaxSize: 10 << 30,
	})
	held := func() iggywire.Topic {
		t.Helper()
		now, _, err := iggywire.ParseTopicDetails(gw.native(t, iggywire.GetTopic{Stream: stream, Topic: iggywire.NamedID("native")}))
		if err != nil {
			t.Fatal(err)
		}
		return now.Topic
	}
	before := held()
	expect := func(step string, want map[string]string, change func(*iggywire.Topic)) {
		t.Helper()
		if diff := cmp.Diff(want, c.ownConfigs("native")); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		change(&before)
		if diff := cmp.Diff(before, held()); diff != "" {
			t.Errorf("%s, in iggy: %s", step, diff)
		}
	}
	same := func(*iggywire.Topic) {}
	expect("as it was made", map[string]string{"retention.ms": "2", "retention.bytes": "3579139413"}, same)
	c.set("native", "max.message.bytes=1000")
	expect("another setting", map[string]string{"retention.ms": "2", "retention.bytes": "3579139413", "max.message.bytes": "1000"}, same)
	c.set("native", "retention.ms=60000")
	expect("the expiry", map[string]string{"retention.ms": "60000", "retention.bytes": "3579139413", "max.message.bytes": "1000"},
		func(now *iggywire.Topic) { now.MessageExpiry = 60_000_000 })
	c.set("native", "retention.bytes=1073741824")
	expect("the size", map[string]string{"retention.ms": "60000", "retention.bytes": "1073741824", "max.message.bytes": "1000"},
		func(now *iggywire.Topic) { now.MaxSize = 3 << 30 })
	gw.native(t, iggywire.UpdateTopic{
		Stream: stream, Topic: iggywire.NamedID("native"), Name: "native", Compression: iggywire.CompressionNone, ReplicationFactor: 2, MessageExpiry: 5_000, MaxSize: 0,
	})
	before = held()
	expect("changed by others", map[string]string{"retention.ms": "5", "max.message.bytes": "1000"}, same)
	c.set("native", "retention.ms")
	expect("the default again", map[string]string{"max.message.bytes": "1000"}, func(now *iggywire.Topic) { now.MessageExpiry = iggywire.NeverExpire })
	c.set("native", "retention.ms=-1")
	expect("none, expressly", map[string]string{"retention.ms": "-1", "max.message.bytes": "1000"}, same)
	if got := c.altered(replacing(ofTopic, "native", "retention.ms=7")); got != "0" {
		t.Error(got)
	}
	expect("replaced", map[string]string{"retention.ms": "7"}, func(now *iggywire.Topic) { now.MessageExpiry = 7000 })
}

// A topic that is made by being named has no settings of its own.
func TestAutoCreatedSettings(t *testing.T) {
	c := start(t, setup{tune: func(cfg *api.Config) { cfg.AutoCreateTopics = true }}).dial(t)
	named := metadataRequest(12, "made")
	named.AllowAutoTopicCreation = true
	if got := ask[*kmsg.MetadataResponse](c, named).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("error %d", got.ErrorCode)
	}
	if own := c.ownConfigs("made"); len(own) != 0 {
		t.Errorf("set: %v", own)
	}
}

// Without delete in the cleanup policy nothing expires in Iggy, and what is set of the retention is remembered for when it is
// put in again.
func TestCleanupPolicySwitchesExpiry(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 2, "retention.ms", "60000", "retention.bytes", "2147483648")
	expect := func(step string, expiry, maxSize uint64, want map[string]string) {
		t.Helper()
		if now := gw.topic(t, topic); now.MessageExpiry != expiry || now.MaxSize != maxSize {
			t.Errorf("%s: iggy holds expiry %d µs and %d bytes", step, now.MessageExpiry, now.MaxSize)
		}
		if diff := cmp.Diff(want, c.ownConfigs(topic)); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	c.set(topic, "cleanup.policy=compact")
	expect("compact", iggywire.NeverExpire, iggywire.UnlimitedSize,
		map[string]string{"cleanup.policy": "compact", "retention.ms": "60000", "retention.bytes": "2147483648"})
	c.set(topic, "retention.ms=70000")
	expect("compact, another retention", iggywire.NeverExpire, iggywire.UnlimitedSize,
		map[string]string{"cleanup.policy": "compact", "retention.ms": "70000", "retention.bytes": "2147483648"})
	c.set(topic, "cleanup.policy+=delete")
	expect("both", 70_000_000, 4<<30, map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "70000", "retention.bytes": "2147483648"})
	c.set(topic, "cleanup.policy-=compact,delete")
	expect("neither", iggywire.NeverExpire, iggywire.UnlimitedSize,
		map[string]string{"cleanup.policy": "", "retention.ms": "70000", "retention.bytes": "2147483648"})
	c.set(topic, "cleanup.policy")
	expect("the default", 70_000_000, 4<<30, map[string]string{"retention.ms": "70000", "retention.bytes": "2147483648"})
}

// Of 4,000 topics all settings are told in one answer, from the response budget; one that would be larger than the largest
// answer closes the connection before it is made.
func TestDescribeConfigsBounds(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.MaxResponseSize = 10 << 20 }})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	all := func(n int) *kmsg.DescribeConfigsRequest {
		req := describeConfigs(4, ofTopic, topic)
		req.Resources = slices.Repeat(req.Resources, n)
		return req
	}
	if got := ask[*kmsg.DescribeConfigsResponse](c, all(4000)); len(got.Resources) != 4000 || len(got.Resources[3999].Configs) != len(topicconfig.Keys()) {
		t.Errorf("%d resources", len(got.Resources))
	}
	c.send(all(9000))
	c.expectClosed()
}
