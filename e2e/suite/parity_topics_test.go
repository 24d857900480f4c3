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

// topicScripts are about topics, and the broker itself.
func topicScripts() []script {
	return []script{
		{
			key: kmsg.Metadata.Int16(), run: (*parity).metadata, also: []int16{1, 4, 10, 11, 12},
			asked: slices.Concat(always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException), since(12, kerr.UnknownTopicID, kerr.UnknownServerError)),
		},
		{
			key: kmsg.ApiVersions.Int16(), run: (*parity).apiVersions,
			asked: slices.Concat(always(nil), since(3, kerr.InvalidRequest)),
		},
		{
			key: kmsg.CreateTopics.Int16(), run: (*parity).createTopics,
			asked: always(nil, kerr.TopicAlreadyExists, kerr.InvalidTopicException, kerr.InvalidPartitions, kerr.InvalidReplicationFactor,
				kerr.InvalidReplicaAssignment, kerr.InvalidConfig, kerr.InvalidRequest, kerr.PolicyViolation, kerr.RequestTimedOut),
		},
		{
			key: kmsg.DeleteTopics.Int16(), run: (*parity).deleteTopics, also: []int16{5},
			asked: slices.Concat(always(nil, kerr.UnknownTopicOrPartition, kerr.InvalidRequest, kerr.RequestTimedOut), since(6, kerr.UnknownTopicID)),
		},
		{
			key: kmsg.DescribeCluster.Int16(), run: (*parity).describeCluster, also: []int16{1},
			asked: slices.Concat(always(nil), since(1, kerr.MismatchedEndpointType, kerr.UnsupportedEndpointType)),
		},
	}
}

func (p *parity) metadata() {
	ask := func(topics ...string) *kmsg.MetadataRequest {
		req := metadataRequest(p.version, topics...)
		req.AllowAutoTopicCreation = false
		return req
	}
	p.step("one topic", ask(p.topic.name))
	p.step("one that is not there, and one that is, twice", ask(p.missing.name, p.topic.name, p.missing.name, p.topic.name))
	for _, name := range []string{"a b", "", ".", "..", p.long(249), p.long(250)} {
		p.step(fmt.Sprintf("the name %q of %d bytes", name[:min(len(name), 4)], len(name)), ask(name))
	}
	all := ask()
	if all.Topics = nil; p.version == 0 {
		all.Topics = []kmsg.MetadataRequestTopic{}
	} else {
		p.step("no topics", ask())
	}
	resp, err := p.conn.Ask(within(p.t, limit), all)
	if answer, ok := resp.(*kmsg.MetadataResponse); ok { // without the topics of others
		answer.Topics = slices.DeleteFunc(answer.Topics, func(told kmsg.MetadataResponseTopic) bool {
			return told.Topic == nil || p.names[strconv.Quote(*told.Topic)] == ""
		})
	}
	p.note("all topics", all, resp, err)
	if p.version < 4 {
		return
	}
	create := ask(p.missing.name)
	create.AllowAutoTopicCreation = true
	p.step("one that is not there, to be created", create)
	allowed := ask(p.topic.name, p.missing.name, "a b")
	allowed.IncludeClusterAuthorizedOperations, allowed.IncludeTopicAuthorizedOperations = true, true
	p.step("what is allowed", allowed)
	if p.version < 10 {
		return
	}
	by := func(topics ...kmsg.MetadataRequestTopic) *kmsg.MetadataRequest {
		req := ask()
		req.Topics = topics
		return req
	}
	p.step("by id", by(kmsg.MetadataRequestTopic{TopicID: p.topic.id}, kmsg.MetadataRequestTopic{TopicID: p.missing.id}))
	allowed = by(kmsg.MetadataRequestTopic{TopicID: p.topic.id}, kmsg.MetadataRequestTopic{TopicID: p.missing.id})
	allowed.IncludeTopicAuthorizedOperations = true
	p.step("what is allowed, by id", allowed)
	p.step("by id twice", by(kmsg.MetadataRequestTopic{TopicID: p.topic.id}, kmsg.MetadataRequestTopic{TopicID: p.topic.id}))
	p.step("by id and by name", by(kmsg.MetadataRequestTopic{TopicID: p.topic.id, Topic: &p.topic.name}))
	p.step("one by id, another by name", by(kmsg.MetadataRequestTopic{TopicID: p.topic.id}, kmsg.MetadataRequestTopic{Topic: &p.topic.name}))
	p.step("by neither", by(kmsg.MetadataRequestTopic{}))
	p.step("by neither, and by name", by(kmsg.MetadataRequestTopic{}, kmsg.MetadataRequestTopic{Topic: &p.topic.name}))
}

func (p *parity) apiVersions() {
	// ask leaves out what the gateway does not advertise here: it is no part of the comparison.
	advertised := advertisedWithoutSASL(p.t)
	ask := func(step string, version int16, name, software string, accepted ...difference) {
		p.t.Helper()
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, name, software
		resp, err := p.conn.Ask(within(p.t, limit), req)
		if answer, ok := resp.(*kmsg.ApiVersionsResponse); ok {
			if answer.FinalizedFeaturesEpoch > 0 {
				answer.FinalizedFeaturesEpoch = 1 // it grows by itself
			}
			answer.ApiKeys = slices.DeleteFunc(answer.ApiKeys, func(told kmsg.ApiVersionsResponseApiKey) bool {
				return !slices.Contains(advertised, told.ApiKey)
			})
		}
		p.note(step, req, resp, err, accepted...)
	}
	const last, no = "    ApiKeys ApiKey=9 MinVersion=1 MaxVersion=9\n", "a client that saw `transaction.version` would skip the calls by whose absence transactions are refused"
	features := p.onlySince(3,
		difference{"ErrorCode=0 FinalizedFeaturesEpoch=1 ", "ErrorCode=0 ", no},
		difference{last + brokerFeatures(p.version), last, no})
	ask("what is there", p.version, "raw", "1.0", features...)
	if p.version >= 3 {
		ask("software of other signs", p.version, "r.a-w", "1-2.3", features...)
		for _, software := range [][2]string{{"", "1.0"}, {"raw", ""}, {"-raw", "1.0"}, {"raw", "1.0-"}, {"r_w", "1"}, {"ré", "1"}} {
			ask(fmt.Sprintf("software %q", software), p.version, software[0], software[1])
		}
	}
	if p.first {
		ask("too high a version", 5, "raw", "1.0")
	}
}

// brokerFeatures are those of a new cluster; version 3 has no place for one that can be off.
func brokerFeatures(version int16) string {
	var supported, finalized strings.Builder
	for _, f := range []struct {
		name                   string
		lowest, highest, level int
	}{
		{"eligible.leader.replicas.version", 0, 1, 1}, {"group.version", 0, 1, 1}, {"kraft.version", 0, 1, 1},
		{"metadata.version", 7, 27, 27}, {"share.version", 0, 1, 0}, {"transaction.version", 0, 2, 2},
	} {
		if version > 3 || f.lowest > 0 {
			fmt.Fprintf(&supported, "    SupportedFeatures Name=%q MinVersion=%d MaxVersion=%d\n", f.name, f.lowest, f.highest)
		}
		if f.level > 0 {
			fmt.Fprintf(&finalized, "    FinalizedFeatures Name=%q MaxVersionLevel=%d MinVersionLevel=%[2]d\n", f.name, f.level)
		}
	}
	return supported.String() + finalized.String()
}

func (p *parity) createTopics() {
	named := func(name string, change ...func(*kmsg.CreateTopicsRequestTopic)) kmsg.CreateTopicsRequestTopic {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
		for _, c := range change {
			c(&topic)
		}
		return topic
	}
	// create gives the ids that are told names.
	const replicas = `Name="min.insync.replicas" Value="1" ReadOnly=false Source=`
	create := func(step string, topics []kmsg.CreateTopicsRequestTopic, change ...func(*kmsg.CreateTopicsRequest)) {
		p.t.Helper()
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.Topics, req.TimeoutMillis = p.version, topics, 10_000
		for _, c := range change {
			c(req)
		}
		resp, err := p.conn.Ask(within(p.t, limit), req)
		var accepted []difference
		if answer, ok := resp.(*kmsg.CreateTopicsResponse); ok {
			for _, told := range answer.Topics {
				if told.TopicID != [16]byte{} {
					p.alias(topicRef{id: told.TopicID}, strings.Trim(p.names[strconv.Quote(told.Topic)], `"`))
				}
				if len(told.Configs) > 0 {
					accepted = []difference{{replicas + "3", replicas + "5", "there are no settings of the cluster"}}
				}
			}
		}
		p.note(step, req, resp, err, accepted...)
	}
	list := func(topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsRequestTopic { return topics }
	counts := func(partitions int32, factor int16) func(*kmsg.CreateTopicsRequestTopic) {
		return func(t *kmsg.CreateTopicsRequestTopic) { t.NumPartitions, t.ReplicationFactor = partitions, factor }
	}
	config := func(name string, value *string) func(*kmsg.CreateTopicsRequestTopic) {
		return func(t *kmsg.CreateTopicsRequestTopic) {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: name, Value: value})
		}
	}
	text := func(s string) *string { return &s }
	week := config("retention.ms", text("604800000"))
	assign := func(partition int32, brokers ...int32) func(*kmsg.CreateTopicsRequestTopic) {
		return func(t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: partition, Replicas: brokers})
		}
	}
	validate := func(r *kmsg.CreateTopicsRequest) { r.ValidateOnly = true }
	fresh := func() string { return p.group("fresh") }

	name := fresh()
	create("validated only", list(named(name, week)), validate)
	create("a topic", list(named(name, week)))
	create("it again", list(named(name, week)))
	create("it again, validated only", list(named(name)), validate)
	create("as the broker likes", list(named(fresh(), counts(-1, -1), week)))
	create("two and one that is there", list(named(fresh(), week), named(name), named(fresh(), week)))
	twice := fresh()
	create("one twice, another once", list(named(twice), named(fresh(), week), named(twice)))
	for _, bad := range []string{"a b", "", ".", "..", "é", p.long(250)} {
		create(fmt.Sprintf("the name %q of %d bytes", bad[:min(len(bad), 4)], len(bad)), list(named(bad)))
	}
	collides := p.group("fre.sh")
	p.names[strconv.Quote(strings.ReplaceAll(collides, "-", "_"))], p.names[strconv.Quote(strings.ReplaceAll(collides, "-", "."))] = `"fre_sh"`, `"fre.sh"`
	create("with _", list(named(strings.ReplaceAll(collides, "-", "_"), week)))
	create("with . in its place", list(named(strings.ReplaceAll(collides, "-", "."), week)))
	for _, n := range [][2]int32{{0, 1}, {-2, 1}, {1, 0}, {1, -2}, {-1, 1}, {1, -1}, {100_000, 1}} {
		create(fmt.Sprintf("%d partitions, %d replicas, validated only", n[0], n[1]), list(named(fresh(), counts(n[0], int16(n[1])), week)), validate)
	}
	beyond := kmsg.NewPtrCreateTopicsRequest()
	beyond.Version, beyond.Topics, beyond.TimeoutMillis, beyond.ValidateOnly = p.version, list(named(fresh(), counts(1, 3))), 10_000, true
	resp, err := p.conn.Ask(within(p.t, limit), beyond)
	if answer, ok := resp.(*kmsg.CreateTopicsResponse); ok {
		for i, told := range answer.Topics {
			p.alias(topicRef{id: told.TopicID}, "fresh")
			answer.Topics[i].Configs = answer.Topics[i].Configs[:0] // a broker has none to tell
		}
	}
	p.note("replicas beyond the brokers", beyond, resp, err, difference{
		` ErrorCode=38 ErrorMessage="Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered." ConfigErrorCode=0`,
		p.since(7, " TopicID=fresh-ID") + " ErrorCode=0 ConfigErrorCode=0" + p.since(5, " NumPartitions=1 ReplicationFactor=1"), "replication is Iggy's",
	})
	create("a bad value", list(named(fresh(), config("retention.ms", text("x")))))
	create("a value out of range", list(named(fresh(), config("retention.ms", text("-2")))))
	create("an unknown name", list(named(fresh(), config("retention.days", text("1")))))
	create("a null value", list(named(fresh(), config("retention.ms", nil))))
	create("an empty value", list(named(fresh(), config("retention.ms", text("")))))
	create("an empty name", list(named(fresh(), config("", text("1")))))
	create("a name twice", list(named(fresh(), config("retention.ms", text("1")), config("retention.ms", text("2")))), validate)
	create("two bad ones", list(named(fresh(), config("segment.bytes", text("x")), config("cleanup.policy", text("shrink")))))
	create("an assignment", list(named(fresh(), counts(-1, -1), assign(0, 1), assign(1, 1), week)))
	create("an assignment and counts", list(named(fresh(), counts(1, 1), assign(0, 1))))
	create("an assignment and a count of partitions", list(named(fresh(), counts(1, -1), assign(0, 1))))
	create("to an unknown broker", list(named(fresh(), counts(-1, -1), assign(0, 7))))
	create("with a hole", list(named(fresh(), counts(-1, -1), assign(0, 1), assign(2, 1))))
	create("to a broker twice", list(named(fresh(), counts(-1, -1), assign(0, 1, 1))))
	create("to nobody", list(named(fresh(), counts(-1, -1), assign(0))))
	create("a partition twice", list(named(fresh(), counts(-1, -1), assign(0, 1), assign(0, 1))))
	create("none", nil)
	for _, timeout := range []int32{0, -1} {
		late := fresh()
		create(fmt.Sprintf("a timeout of %d", timeout), list(named(late, week)), func(r *kmsg.CreateTopicsRequest) { r.TimeoutMillis = timeout })
		asked := metadataRequest(1, late)
		p.ask("whether it is there", asked)
	}
}

func (p *parity) deleteTopics() {
	remove := func(names ...string) *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = names, 10_000
		for _, name := range names {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
		return req
	}
	p.step("a topic", remove(p.create("doomed", 1).name))
	again := p.create("doomed", 1)
	p.step("one and one that is not there", remove(again.name, p.missing.name))
	p.step("it again", remove(again.name))
	again = p.create("doomed", 1)
	p.step("one twice", remove(again.name, again.name))
	p.step("bad names", remove("a b", "", ".."))
	p.step("none", remove())
	timeless := remove(p.missing.name)
	timeless.TimeoutMillis = 0
	p.step("a timeout of zero", timeless)
	if p.version < 6 {
		return
	}
	by := func(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
		req := remove()
		req.Topics = topics
		return req
	}
	p.step("by an unknown id, by neither, and by both", by(kmsg.DeleteTopicsRequestTopic{TopicID: p.missing.id}, kmsg.DeleteTopicsRequestTopic{},
		kmsg.DeleteTopicsRequestTopic{TopicID: again.id, Topic: &again.name}))
	p.step("an id twice", by(kmsg.DeleteTopicsRequestTopic{TopicID: again.id}, kmsg.DeleteTopicsRequestTopic{TopicID: again.id}))
	p.step("an id and its name", by(kmsg.DeleteTopicsRequestTopic{TopicID: again.id}, kmsg.DeleteTopicsRequestTopic{Topic: &again.name}))
	other := p.create("other", 1)
	p.step("by id", by(kmsg.DeleteTopicsRequestTopic{TopicID: other.id}))
	p.step("by the same id", by(kmsg.DeleteTopicsRequestTopic{TopicID: other.id}))
}

func (p *parity) describeCluster() {
	describe := func(step string, change func(*kmsg.DescribeClusterRequest)) {
		p.t.Helper()
		req := kmsg.NewPtrDescribeClusterRequest()
		change(req)
		p.step(step, req)
	}
	describe("the brokers", func(*kmsg.DescribeClusterRequest) {})
	describe("what is allowed", func(r *kmsg.DescribeClusterRequest) { r.IncludeClusterAuthorizedOperations = true })
	describe("fenced ones too", func(r *kmsg.DescribeClusterRequest) { r.IncludeFencedBrokers = true })
	for _, kind := range []int8{0, 2, 3, -1} {
		describe(fmt.Sprintf("endpoints of type %d", kind), func(r *kmsg.DescribeClusterRequest) { r.EndpointType = kind })
	}
}
