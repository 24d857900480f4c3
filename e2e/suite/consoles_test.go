// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// consolePage is what a console made with franz-go asks for one of its pages, or at its start; the client chooses versions
// and brokers. The consoles in Java, AKHQ and Kafbat UI, have a program of their own, Consoles.java.
type consolePage struct {
	name     string
	requests []kmsg.Request
	accepted []error // that the console shows as something that there is not
	optional bool    // the page says that the cluster cannot do it where an API is not advertised
}

// testConsoles replays what Redpanda Console and kminion ask, as their sources have it (redpanda-data/console,
// backend/pkg/console; redpanda-data/kminion, minion, prometheus and e2e): nothing may fail.
func testConsoles(t *testing.T, target *harness.Target) {
	defer func() {
		version := (&application{Application: clients.Franz{}, t: t}).version()
		report(t, target, "Redpanda Console and kminion, their requests", "franz-go "+version, "start, overview, brokers, topics, settings, groups, quotas, users, log directories, changes", !t.Failed())
	}()
	client, admin := franz(t, target.Kafka), kadm.NewClient(franz(t, target.Kafka))
	topic := newTopic(t, clients.Franz{Addr: target.Kafka}, 2)
	produce(t, clients.Franz{Addr: target.Kafka}, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, plainRecords(5), 0)
	group := topic + "-group"
	toolGroups{target.Kafka, topic}.commit(t, group, map[int32]int64{0: 3, 1: 0})
	meta, err := admin.BrokerMetadata(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range slices.Concat(redpandaConsole(topic, group, meta.Controller), kminion(topic, group, meta.Controller)) {
		t.Run(page.name, func(t *testing.T) {
			for _, req := range page.requests {
				name := kmsg.NameForKey(req.Key())
				for _, shard := range client.RequestSharded(within(t, limit), req) {
					switch {
					case shard.Err != nil && page.optional && !serves(t, target, kmsg.Key(req.Key())):
						t.Logf("%s: %v", name, shard.Err)
					case shard.Err != nil:
						t.Errorf("%s: %v", name, shard.Err)
					default:
						for _, failure := range failures(reflect.ValueOf(shard.Resp)) {
							if !slices.Contains(page.accepted, failure) {
								t.Errorf("%s: %v", name, failure)
							}
						}
					}
				}
			}
		})
	}
	t.Run("what they see", func(t *testing.T) { testConsolesView(t, target, admin, topic, group) })
}

// failures are what an answer says has failed. A text is one without a code, too: kminion looks at the text alone.
func failures(v reflect.Value) (failed []error) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			failed = failures(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			failed = append(failed, failures(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			failed = append(failed, failures(v.Field(i))...)
		}
		code, text := v.FieldByName("ErrorCode"), v.FieldByName("ErrorMessage")
		switch {
		case code.IsValid() && code.Int() != 0:
			failed = append(failed, kerr.ErrorForCode(int16(code.Int())))
		case text.IsValid() && !text.IsNil() && text.Elem().Len() > 0:
			failed = append(failed, errors.New("a text without an error: "+text.Elem().String()))
		}
	}
	return failed
}

func redpandaConsole(topic, group string, node int32) []consolePage {
	broker := fmt.Sprint(node)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{newTopicRequest(topic+"-console", 1, map[string]string{"cleanup.policy": "compact"})}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic + "-console", Count: 3}}
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = topicConfig, topic
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Op: kmsg.IncrementalAlterConfigOpSet, Value: named("3600000")}}
	set.Resources = append(set.Resources, resource)
	truncate := deleteRecordsRequest(2, topic, 0, 1)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TopicNames = []string{topic + "-console"}
	remove.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: named(topic + "-console")}}
	edit := kmsg.NewPtrOffsetCommitRequest()
	edit.Group = group
	edit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 4, LeaderEpoch: -1, Metadata: named("")}}}}
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = group
	forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 1}}}}
	return []consolePage{
		{name: "Redpanda Console/start", requests: []kmsg.Request{allMetadata(), kmsg.NewPtrApiVersionsRequest()}},
		{name: "Redpanda Console/overview", requests: []kmsg.Request{allMetadata(), kmsg.NewPtrApiVersionsRequest(), allConfigs(brokerConfig, broker)}},
		{name: "Redpanda Console/acls", requests: []kmsg.Request{allACLs()}, accepted: []error{kerr.SecurityDisabled}, optional: true},
		{name: "Redpanda Console/brokers", requests: []kmsg.Request{
			allMetadata(), allLogDirs(), allConfigs(brokerConfig, broker), kmsg.NewPtrListPartitionReassignmentsRequest(),
		}},
		{name: "Redpanda Console/topics", requests: []kmsg.Request{
			allMetadata(), describeConfigsRequest(topicConfig, topic, "cleanup.policy"), allLogDirs(),
		}},
		{name: "Redpanda Console/topic", requests: []kmsg.Request{
			allConfigs(topicConfig, topic), watermarks(topic, -2), watermarks(topic, -1), watermarks(topic, firstTimestamp), allLogDirs(),
			kmsg.NewPtrListGroupsRequest(), describeGroup(group), fetchOffsets(group),
		}},
		{name: "Redpanda Console/changes to topics", requests: []kmsg.Request{create, grow, set, truncate, remove}},
		{name: "Redpanda Console/groups", requests: []kmsg.Request{
			kmsg.NewPtrListGroupsRequest(), describeGroup(group), fetchOffsets(group), edit, forget,
		}},
		{name: "Redpanda Console/quotas", requests: []kmsg.Request{kmsg.NewPtrDescribeClientQuotasRequest()}},
		{name: "Redpanda Console/users", requests: []kmsg.Request{kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()}, optional: true},
		{name: "Redpanda Console/transactions and producers", requests: []kmsg.Request{
			kmsg.NewPtrListTransactionsRequest(), describeProducersRequest(topic, 0, 1),
		}, optional: true},
	}
}

func kminion(topic, group string, node int32) []consolePage {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{newTopicRequest(topic+"-end-to-end", 1, map[string]string{
		"cleanup.policy": "delete", "segment.ms": "43200000", "retention.ms": "86400000", "min.insync.replicas": "1",
	})}
	grow := kmsg.NewPtrCreatePartitionsRequest() // once for each broker
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{
		Topic: topic + "-end-to-end", Count: 2, Assignment: []kmsg.CreatePartitionsRequestTopicAssignment{{Replicas: []int32{node}}},
	}}
	return []consolePage{
		{name: "kminion/start", requests: []kmsg.Request{kmsg.NewPtrApiVersionsRequest(), allMetadata()}},
		{name: "kminion/scrape", requests: []kmsg.Request{
			allMetadata(), allLogDirs(), describeConfigsRequest(topicConfig, topic), watermarks(topic, -2), watermarks(topic, -1), watermarks(topic, -3),
			kmsg.NewPtrListGroupsRequest(), describeGroup(group), fetchOffsets(group),
		}},
		{name: "kminion/acls", requests: []kmsg.Request{allACLs()}, accepted: []error{kerr.SecurityDisabled}, optional: true},
		{name: "kminion/end to end", requests: []kmsg.Request{create, grow, describeConfigsRequest(topicConfig, topic+"-end-to-end", "cleanup.policy")}},
		{name: "kminion/end to end, brokers changed", requests: []kmsg.Request{kmsg.NewPtrAlterPartitionAssignmentsRequest()}, optional: true},
	}
}

func allMetadata() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil
	return req
}

// allConfigs asks for all there is to know about all settings of a resource.
func allConfigs(kind kmsg.ConfigResourceType, name string) *kmsg.DescribeConfigsRequest {
	req := describeConfigsRequest(kind, name)
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	return req
}

func allLogDirs() *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = nil
	return req
}

func allACLs() *kmsg.DescribeACLsRequest {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	return req
}

func watermarks(topic string, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	asked := kmsg.ListOffsetsRequestTopic{Topic: topic}
	for p := range int32(2) {
		asked.Partitions = append(asked.Partitions, kmsg.ListOffsetsRequestTopicPartition{Partition: p, CurrentLeaderEpoch: -1, Timestamp: timestamp, MaxNumOffsets: 1})
	}
	req.Topics = append(req.Topics, asked)
	return req
}

func describeGroup(group string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{group}, true
	return req
}

// fetchOffsets asks for all of a group's.
func fetchOffsets(group string) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, MemberEpoch: -1}}
	return req
}

func describeProducersRequest(topic string, partitions ...int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: partitions}}
	return req
}

func newTopicRequest(name string, partitions int32, settings map[string]string) kmsg.CreateTopicsRequestTopic {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	for key, value := range settings {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	return topic
}

// testConsolesView: what they show of a cluster is made of what they were answered.
func testConsolesView(t *testing.T, target *harness.Target, admin *kadm.Client, topic, group string) {
	meta, err := admin.Metadata(within(t, limit))
	if err != nil {
		t.Fatal(err)
	}
	if meta.Cluster == "" || strings.HasPrefix(meta.Cluster, "redpanda.") || !slices.Contains(meta.Brokers.NodeIDs(), meta.Controller) {
		t.Errorf("the cluster is %q, its controller %d of %v", meta.Cluster, meta.Controller, meta.Brokers.NodeIDs())
	}
	for _, p := range meta.Topics[topic].Partitions {
		if p.Err != nil || p.Leader < 0 || len(p.Replicas) != 1 || !slices.Equal(p.ISR, p.Replicas) || len(p.OfflineReplicas) > 0 {
			t.Errorf("a partition that is not healthy: %+v", p)
		}
	}
	// Both guess a version by the APIs; Redpanda Console offers the pages whose APIs are there.
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(within(t, limit), franz(t, target.Kafka))
	if err != nil {
		t.Fatal(err)
	}
	versions := kversion.FromApiVersionsResponse(resp)
	t.Logf("they take it for Kafka %s", versions.VersionGuess())
	for _, key := range []kmsg.Key{
		kmsg.DescribeConfigs, kmsg.DescribeGroups, kmsg.ListGroups, kmsg.DeleteRecords, kmsg.OffsetCommit, kmsg.DeleteGroups, kmsg.OffsetDelete,
		kmsg.ListPartitionReassignments, kmsg.DescribeClientQuotas, kmsg.DescribeUserSCRAMCredentials, kmsg.DescribeLogDirs,
	} {
		if !versions.HasKey(key.Int16()) {
			t.Errorf("%s is not there", key.Name())
		}
	}
	lags, err := admin.Lag(within(t, limit), group)
	if err != nil || lags.Error() != nil {
		t.Fatal(err, lags.Error())
	}
	if lag := lags[group].Lag[topic][0]; lag.Lag != 1 || lag.End.Offset != 5 || lag.Start.Offset != 1 {
		t.Errorf("the group's lag is %+v, want 1, of records 1 to 4", lag)
	}
	sizes, err := admin.DescribeAllLogDirs(within(t, limit), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sizes[meta.Controller].LookupPartition(topic, 0); !ok {
		t.Errorf("the log directories do not have %s", topic)
	}
}
