// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// configScripts are about settings, and about what grows a topic.
func configScripts() []script {
	refused := []*kerr.Error{nil, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.InvalidConfig, kerr.InvalidRequest}
	return []script{
		{
			key: kmsg.DescribeConfigs.Int16(), run: (*parity).describeConfigs, also: []int16{2},
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.InvalidRequest),
		},
		{key: kmsg.AlterConfigs.Int16(), run: (*parity).alterConfigs, asked: always(refused...)},
		{key: kmsg.IncrementalAlterConfigs.Int16(), run: (*parity).incrementalAlterConfigs, asked: always(append(refused, kerr.UnknownServerError)...)},
		{
			key: kmsg.CreatePartitions.Int16(), run: (*parity).createPartitions,
			asked: always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidPartitions, kerr.InvalidReplicaAssignment, kerr.InvalidRequest, kerr.RequestTimedOut),
		},
		{
			key: kmsg.ListConfigResources.Int16(), run: (*parity).listConfigResources,
			asked: slices.Concat(always(nil), since(1, kerr.UnsupportedVersion)),
		},
	}
}

// The types of resources that have settings on a broker.
const (
	topicConfig   = kmsg.ConfigResourceTypeTopic
	brokerConfig  = kmsg.ConfigResourceTypeBroker
	loggerConfig  = kmsg.ConfigResourceTypeBrokerLogger
	metricsConfig = kmsg.ConfigResourceType(16)
	groupConfig   = kmsg.ConfigResourceType(32)
)

const (
	otherResources = "only topics and brokers have settings"
	noCluster      = "there are no settings of the cluster"
)

func describeConfigsRequest(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

func (p *parity) describeConfigs() {
	step := func(step string, req *kmsg.DescribeConfigsRequest, accepted ...difference) {
		p.t.Helper()
		req.Version = p.version
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.DescribeConfigsResponse); ok {
			blankDocumentation(answer)
		}
		p.note(step, req, resp, err, accepted...)
	}
	// min.insync.replicas, the only setting of a new cluster's, is told as such.
	const replicas = `Configs Name="min.insync.replicas" Value="1" ReadOnly=false IsDefault=false Source=`
	cluster := difference{replicas + "DYNAMIC_DEFAULT_BROKER_CONFIG", replicas + "DEFAULT_CONFIG", noCluster}
	const synonym = `        ConfigSynonyms Name="min.insync.replicas" Value="1" Source=`
	dynamic := difference{synonym + "DEFAULT_CONFIG\n" + synonym + "DYNAMIC_DEFAULT_BROKER_CONFIG\n", synonym + "DEFAULT_CONFIG\n", noCluster}

	set := p.create("set", 1, "retention.ms=86400000", "cleanup.policy= compact , delete", "min.cleanable.dirty.ratio=1", "preallocate=TRUE",
		"max.message.bytes= 2000000 ", "message.timestamp.type=LogAppendTime", "compression.type=zstd", "flush.messages=7", "retention.bytes=2147483648")
	step("a topic", describeConfigsRequest(topicConfig, set.name), cluster)
	synonyms := describeConfigsRequest(topicConfig, set.name)
	synonyms.IncludeSynonyms = true
	step("where its settings come from", synonyms, cluster, dynamic)
	documented := describeConfigsRequest(topicConfig, set.name, "retention.ms", "segment.ms")
	documented.IncludeDocumentation = true
	step("what they are for", documented)
	step("some, and one that there is not", describeConfigsRequest(topicConfig, set.name, "retention.ms", "no.such.key", "segment.ms", "retention.ms"))
	both := describeConfigsRequest(topicConfig, set.name, "segment.ms")
	both.Resources = append(both.Resources, describeConfigsRequest(topicConfig, p.missing.name).Resources[0], both.Resources[0])
	step("a topic twice, and one that is not there", both)
	step("bad names", describeConfigsRequest(topicConfig, "a b"))
	step("no name", describeConfigsRequest(topicConfig, ""))
	step("the broker", describeConfigsRequest(brokerConfig, "1", "num.partitions", "node.id", "delete.topic.enable", "default.replication.factor", "no.such.key"))
	step("all brokers", describeConfigsRequest(brokerConfig, "", "num.partitions"))
	step("another broker", describeConfigsRequest(brokerConfig, "77"))
	step("a broker that is no number", describeConfigsRequest(brokerConfig, "x"))
	for _, kind := range []kmsg.ConfigResourceType{loggerConfig, metricsConfig, groupConfig} {
		text := fmt.Sprintf("ErrorCode=42 ErrorMessage=\"Resources of type %d have no settings here.\"", kind)
		step(fmt.Sprintf("a resource of type %d", kind), describeConfigsRequest(kind, "1", "no.such.key"),
			difference{`ErrorCode=0 ErrorMessage=""`, text, otherResources})
	}
	for _, kind := range []kmsg.ConfigResourceType{0, 3} {
		unknown := describeConfigsRequest(topicConfig, set.name, "segment.ms")
		unknown.Resources = append(unknown.Resources, describeConfigsRequest(kind, "x").Resources...)
		step(fmt.Sprintf("a resource of type %d beside a topic", kind), unknown)
	}
	none := describeConfigsRequest(topicConfig, "")
	none.Resources = nil
	step("none", none)
}

// blankDocumentation: it is there or not; the words are each one's own.
func blankDocumentation(resp *kmsg.DescribeConfigsResponse) {
	for i := range resp.Resources {
		for j := range resp.Resources[i].Configs {
			if c := &resp.Resources[i].Configs[j]; c.Documentation != nil && *c.Documentation != "" {
				c.Documentation = named("words")
			}
		}
	}
}

// own writes down what some of a topic's settings are, once one of them is as expected (NAME=value): a broker takes a moment for
// that.
func (p *parity) own(topic topicRef, expected string, keys ...string) {
	p.t.Helper()
	name, value, _ := strings.Cut(expected, "=")
	req := describeConfigsRequest(topicConfig, topic.name, name)
	if !await(p.t, func() bool {
		told := askRaw[*kmsg.DescribeConfigsResponse](p.t, p.conn, req).Resources[0]
		return len(told.Configs) == 1 && *told.Configs[0].Value == value
	}) {
		p.t.Errorf("%s does not come to be %q", name, value)
	}
	p.ask("what is set", describeConfigsRequest(topicConfig, topic.name, keys...))
}

// setting is one of a request's; without a value, null.
type setting struct {
	name  string
	value *string
	op    kmsg.IncrementalAlterConfigOp
}

// settings reads NAME=value (set), NAME+=value (append), NAME-=value (subtract), NAME- (delete) and NAME (set to null).
func settings(changes ...string) (all []setting) {
	for _, change := range changes {
		name, value, hasValue := strings.Cut(change, "=")
		s := setting{name: name}
		if hasValue {
			s.value = &value
		}
		switch {
		case strings.HasSuffix(name, "+"):
			s.op = kmsg.IncrementalAlterConfigOpAppend
		case strings.HasSuffix(name, "-") && hasValue:
			s.op = kmsg.IncrementalAlterConfigOpSubtract
		case strings.HasSuffix(name, "-"):
			s.op = kmsg.IncrementalAlterConfigOpDelete
		}
		s.name = strings.TrimRight(name, "+-")
		all = append(all, s)
	}
	return all
}

func alterConfigsRequest(kind kmsg.ConfigResourceType, name string, changes ...string) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, s := range settings(changes...) {
		r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: s.name, Value: s.value})
	}
	req.Resources = append(req.Resources, r)
	return req
}

func incrementalRequest(kind kmsg.ConfigResourceType, name string, changes ...string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, s := range settings(changes...) {
		r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: s.name, Value: s.value, Op: s.op})
	}
	req.Resources = append(req.Resources, r)
	return req
}

func (p *parity) alterConfigs() {
	topic := p.create("altered", 1, "retention.ms=60000", "segment.ms=5")
	keys := []string{"retention.ms", "segment.ms", "max.message.bytes", "cleanup.policy"}
	topics := func(changes ...string) *kmsg.AlterConfigsRequest {
		return alterConfigsRequest(topicConfig, topic.name, changes...)
	}
	validated := topics("retention.ms=80000")
	validated.ValidateOnly = true
	p.step("validated only", validated)
	p.own(topic, "retention.ms=60000", keys...)
	p.step("two settings", topics("retention.ms=80000", "max.message.bytes=1000"))
	p.own(topic, "retention.ms=80000", keys...)
	p.step("the same again", topics("retention.ms=80000", "max.message.bytes=1000"))
	p.step("another one", topics("cleanup.policy=compact,delete", "retention.ms= 90000 "))
	p.own(topic, "retention.ms=90000", keys...)
	p.alteredBadly(func(kind kmsg.ConfigResourceType, name string, changes ...string) kmsg.Request {
		return alterConfigsRequest(kind, name, changes...)
	}, topic)
	p.own(topic, "retention.ms=90000", keys...)
	p.step("no settings", topics())
	p.own(topic, "cleanup.policy=delete", "segment.ms", "max.message.bytes", "cleanup.policy")
	p.step("none", kmsg.NewPtrAlterConfigsRequest())
}

func (p *parity) incrementalAlterConfigs() {
	topic := p.create("altered", 1, "retention.ms=60000", "segment.ms=5")
	keys := []string{"retention.ms", "segment.ms", "max.message.bytes", "cleanup.policy", "leader.replication.throttled.replicas"}
	topics := func(changes ...string) *kmsg.IncrementalAlterConfigsRequest {
		return incrementalRequest(topicConfig, topic.name, changes...)
	}
	validated := topics("retention.ms=80000", "segment.ms-")
	validated.ValidateOnly = true
	p.step("validated only", validated)
	p.own(topic, "retention.ms=60000", keys...)
	p.step("one set, one deleted", topics("retention.ms=80000", "segment.ms-"))
	p.own(topic, "segment.ms=604800000", keys...)
	p.step("deleted again, and an unknown one", topics("segment.ms-", "no.such.key-"))
	p.step("a value to be deleted", topics("max.message.bytes=5"))
	deleted := topics("max.message.bytes=7")
	deleted.Resources[0].Configs[0].Op = kmsg.IncrementalAlterConfigOpDelete
	p.step("deleted with a value", deleted)
	p.step("appended to the default", topics("cleanup.policy+=compact"))
	p.step("appended again", topics("cleanup.policy+=compact,delete"))
	p.own(topic, "cleanup.policy=delete,compact", keys...)
	p.step("subtracted", topics("cleanup.policy-=delete"))
	p.own(topic, "cleanup.policy=compact", keys...)
	p.step("subtracted all", topics("cleanup.policy-=compact,delete"))
	p.own(topic, "cleanup.policy=", keys...)
	p.step("appended to nothing", topics("leader.replication.throttled.replicas+=0:1", "cleanup.policy-"))
	p.own(topic, "cleanup.policy=delete", keys...)
	p.step("appended a bad one", topics("cleanup.policy+=shrink"))
	p.step("appended to a number", topics("retention.ms+=1"))
	p.step("subtracted from an unknown one", topics("no.such.key-=1"))
	p.step("appended null", topics("cleanup.policy+"))
	p.alteredBadly(func(kind kmsg.ConfigResourceType, name string, changes ...string) kmsg.Request {
		return incrementalRequest(kind, name, changes...)
	}, topic)
	p.step("a broker's that is fixed, to be deleted", incrementalRequest(brokerConfig, "1", "node.id-"))
	p.step("appended to a broker's", incrementalRequest(brokerConfig, "1", "num.partitions+=2"))
	for _, kind := range []kmsg.ConfigResourceType{topicConfig, brokerConfig} {
		name := map[bool]string{true: topic.name, false: "1"}[kind == topicConfig]
		odd := incrementalRequest(kind, name, "num.partitions=5")
		odd.Resources[0].Configs[0].Op = 9
		p.step(fmt.Sprintf("an operation that there is not, to a resource of type %d", kind), odd)
	}
	twice := topics("segment.ms=6")
	twice.Resources = append(twice.Resources, incrementalRequest(topicConfig, p.missing.name, "segment.ms=6").Resources[0], topics("segment.ms=7").Resources[0])
	p.step("a topic twice, another once", twice)
	p.own(topic, "segment.ms=604800000", keys...)
	p.step("none", kmsg.NewPtrIncrementalAlterConfigsRequest())
}

// alteredBadly asks both APIs for what is refused.
func (p *parity) alteredBadly(alter func(kmsg.ConfigResourceType, string, ...string) kmsg.Request, topic topicRef) {
	topics := func(step string, changes ...string) {
		p.t.Helper()
		p.step(step, alter(topicConfig, topic.name, changes...))
	}
	topics("a bad value, beside a good one", "segment.ms=6", "retention.ms=x")
	topics("a value out of range", "retention.ms=-2")
	topics("an empty value", "retention.ms=")
	topics("an unknown name", "no.such.key=1")
	topics("no topic's setting", "retention.minutes=1")
	topics("an empty name", "=1")
	topics("an unknown name and a bad value", "retention.ms=x", "no.such.key=1")
	topics("two bad values", "cleanup.policy=shrink", "segment.bytes=x")
	topics("a word that there is not", "compression.type=brotli")
	topics("neither true nor false", "preallocate=yes")
	topics("two that do not go together", "min.compaction.lag.ms=10", "max.compaction.lag.ms=5")
	topics("tiered storage", "remote.storage.enable=true")
	topics("replicas of no form", "leader.replication.throttled.replicas=x")
	topics("a name twice", "retention.ms=1", "retention.ms=2")
	topics("two nulls", "retention.ms", "segment.ms")
	p.step("a topic that is not there", alter(topicConfig, p.missing.name, "segment.ms=6"))
	p.step("a bad value of a topic that is not there", alter(topicConfig, p.missing.name, "segment.ms=x"))
	p.step("a bad name", alter(topicConfig, "a b", "segment.ms=6"))
	p.step("no name", alter(topicConfig, "", "segment.ms=6"))
	p.step("an unknown type", alter(3, "x", "segment.ms=6"))
	p.step("settings that are fixed", alter(brokerConfig, "1", "num.partitions=3", "node.id=7"))
	p.step("settings that are fixed, of all brokers", alter(brokerConfig, "", "num.partitions=3"))
	p.step("no settings of the broker", alter(brokerConfig, "1"))
	p.step("another broker", alter(brokerConfig, "77", "num.partitions=3"))
	p.step("a broker that is no number", alter(brokerConfig, "x", "num.partitions=3"))
	p.step("a group", alter(groupConfig, "g", "no.such.key=1"), difference{
		`ErrorCode=40 ErrorMessage="Unknown group config name: no.such.key"`, `ErrorCode=42 ErrorMessage="Unknown resource type 32"`, otherResources,
	})
}

func (p *parity) createPartitions() {
	topic := p.create("grown", 2)
	grow := func(name string, total int32, assignments ...[]int32) *kmsg.CreatePartitionsRequest {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 10_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = name, total
		for _, nodes := range assignments {
			t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: nodes})
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	validated := grow(topic.name, 3)
	validated.ValidateOnly = true
	p.step("validated only", validated)
	p.step("more", grow(topic.name, 3))
	p.step("as many", grow(topic.name, 3))
	for _, n := range []int32{2, 0, -1} {
		p.step(fmt.Sprintf("%d in all", n), grow(topic.name, n))
	}
	p.step("with assignments", grow(topic.name, 5, []int32{1}, []int32{1}))
	p.step("with too few", grow(topic.name, 7, []int32{1}))
	p.step("with too many", grow(topic.name, 6, []int32{1}, []int32{1}))
	p.step("to an unknown broker", grow(topic.name, 6, []int32{7}))
	p.step("to a broker twice", grow(topic.name, 6, []int32{1, 1}))
	p.step("to nobody", grow(topic.name, 6, []int32{}))
	none := grow(topic.name, 6)
	none.Topics[0].Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	p.step("with an empty list of assignments", none)
	p.step("one that is not there", grow(p.missing.name, 3))
	p.step("a bad name", grow("a b", 3))
	twice := grow(topic.name, 6)
	twice.Topics = append(twice.Topics, grow(p.missing.name, 3).Topics[0], grow(topic.name, 7).Topics[0])
	p.step("a topic twice, another once", twice)
	for _, timeout := range []int32{0, -1} {
		late := grow(topic.name, 6)
		late.TimeoutMillis = timeout
		p.step(fmt.Sprintf("a timeout of %d", timeout), late)
	}
	p.step("none", kmsg.NewPtrCreatePartitionsRequest())
	count := metadataRequest(1, topic.name)
	if !await(p.t, func() bool { return len(askRaw[*kmsg.MetadataResponse](p.t, p.conn, count).Topics[0].Partitions) == 5 }) {
		p.t.Error("there do not come to be 5 partitions")
	}
	p.ask("how many there are", count)
}

func (p *parity) listConfigResources() {
	list := func(types []int8, accepted ...difference) {
		p.t.Helper()
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = p.version, types
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.ListConfigResourcesResponse); ok { // without the topics of others
			answer.ConfigResources = slices.DeleteFunc(answer.ConfigResources, func(told kmsg.ListConfigResourcesResponseConfigResource) bool {
				return told.Type == int8(topicConfig) && p.names[strconv.Quote(told.Name)] == ""
			})
		}
		p.note(fmt.Sprintf("types %v", types), req, resp, err, accepted...)
	}
	const broker, logger = "    ConfigResources Name=\"1\" Type=4\n", "    ConfigResources Name=\"1\" Type=8\n"
	list(nil, p.onlySince(1, difference{broker + logger, broker, otherResources})...)
	if p.version == 0 {
		return
	}
	for _, types := range [][]int8{{2}, {4}, {2, 4, 2}, {16}, {32}, {3}, {2, 0}} {
		list(types)
	}
}
