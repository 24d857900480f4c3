// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testMetadataPitfalls is about topics, their ids and epochs, and addresses.
func testMetadataPitfalls(t *testing.T, target *harness.Target) {
	each(t, target, []scenario{
		{"PB-21-topic-lists", testTopicLists},
		{"PB-22-named-without-auto-create", testNamedWithoutAutoCreate},
		{"PB-23-read-your-writes", testReadYourWrites},
		{"PB-24-topic-ids", testTopicIDs},
		{"PB-24-advertised-with-topic-ids", testAdvertisedWithTopicIDs},
		{"PB-25-leader-epochs", testLeaderEpochs},
		{"PB-26-addresses-agree", testAddressesAgree},
	})
}

// each runs scenarios at the same time.
func each(t *testing.T, target *harness.Target, scenarios []scenario) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, target)
		})
	}
}

// testTopicLists: no list of topics means all of them, an empty one none, but in version 0, which has no null.
func testTopicLists(t *testing.T, target *harness.Target) {
	conn := dialRaw(t, target)
	topic := createTopic(t, conn, topicName(t), 1)
	for _, test := range []struct {
		name    string
		version int16
		null    bool
		all     bool
	}{
		{"v0 empty", 0, false, true},
		{"v1 null", 1, true, true},
		{"v1 empty", 1, false, false},
		{"v9 null", 9, true, true},
		{"v9 empty", 9, false, false},
		{"v13 null", 13, true, true},
		{"v13 empty", 13, false, false},
	} {
		req := metadataRequest(test.version)
		if test.null {
			req.Topics = nil
		}
		answer := askRaw[*kmsg.MetadataResponse](t, conn, req)
		has := slices.ContainsFunc(answer.Topics, func(told kmsg.MetadataResponseTopic) bool { return *told.Topic == topic.name })
		if has != test.all || !test.all && len(answer.Topics) > 0 || len(answer.Brokers) != 1 {
			t.Errorf("%s: %d topics, the test's own among them: %t, and %d brokers; want all topics: %t, and one broker",
				test.name, len(answer.Topics), has, len(answer.Brokers), test.all)
		}
	}
	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		if out := (kcat{target.Kafka}).run(t, "", "-L"); !strings.Contains(out, strconv.Quote(topic.name)) {
			t.Errorf("%s is not among the topics:\n%s", topic.name, out)
		}
	})
}

// testNamedWithoutAutoCreate names topics where naming creates none.
func testNamedWithoutAutoCreate(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	missing := topicRef{name: topicName(t), id: [16]byte{1, 2, 3}}
	s.alias(missing, "missing")
	topic := s.create("topic", 2)
	for _, version := range []int16{1, 4, 9, 12, 13} {
		s.ask("a missing topic and one that is there, each twice", metadataRequest(version, missing.name, topic.name, missing.name, topic.name))
	}
	s.ask("a bad name", metadataRequest(9, "a b"))
	forbidden := metadataRequest(9, missing.name)
	forbidden.AllowAutoTopicCreation = false
	s.ask("a missing topic, not to be created", forbidden)
	s.ask("it is still not there", metadataRequest(9, missing.name))
	s.compare("named-without-auto-create")
}

// createSomehow creates a topic, or names it: to have come too late is no failure.
func createSomehow(ctx context.Context, conn *clients.Raw, topic string, byName bool) error {
	if byName {
		req := metadataRequest(9, topic)
		req.AllowAutoTopicCreation = true
		resp, err := conn.Ask(ctx, req)
		if err != nil {
			return err
		}
		switch code := resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode; code {
		case 0, kerr.LeaderNotAvailable.Code, kerr.UnknownTopicOrPartition.Code:
			return nil
		default:
			return kerr.ErrorForCode(code)
		}
	}
	asked := kmsg.NewCreateTopicsRequestTopic()
	asked.Topic, asked.NumPartitions, asked.ReplicationFactor = topic, 1, 1
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics, req.TimeoutMillis = 7, []kmsg.CreateTopicsRequestTopic{asked}, 10_000
	resp, err := conn.Ask(ctx, req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 && code != kerr.TopicAlreadyExists.Code {
		return kerr.ErrorForCode(code)
	}
	return nil
}

// useAtOnce asks for a topic that was just created, writes to it and asks for its end. A broker takes a moment to know it.
func useAtOnce(t *testing.T, target *harness.Target, conn *clients.Raw, topic string) {
	write := produceRequest(9, topicRef{name: topic}, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(1)...)))
	steps := []struct {
		req  kmsg.Request
		code func(kmsg.Response) int16
	}{
		{metadataRequest(9, topic), func(r kmsg.Response) int16 { return r.(*kmsg.MetadataResponse).Topics[0].ErrorCode }},
		{write, func(r kmsg.Response) int16 { return r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode }},
		{listOffsetsRequest(7, topic, -1, 0, -1), func(r kmsg.Response) int16 { return r.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode }},
	}
	for _, step := range steps {
		var code int16
		await(t, func() bool {
			resp, err := conn.Ask(t.Context(), step.req)
			if err != nil {
				t.Error(err)
				return true
			}
			code = step.code(resp)
			return code == 0 || target.Iggy != nil
		})
		if code != 0 {
			t.Errorf("%s of a topic that is just created: code %d", kmsg.NameForKey(step.req.Key()), code)
		}
	}
}

// testReadYourWrites has twenty clients create a topic each and use it at once.
func testReadYourWrites(t *testing.T, target *harness.Target) {
	var all sync.WaitGroup
	for range 20 {
		conn, topic := dialRaw(t, target), topicName(t)
		all.Go(func() {
			if err := createSomehow(t.Context(), conn, topic, false); err != nil {
				t.Error(err)
				return
			}
			useAtOnce(t, target, conn, topic)
		})
	}
	all.Wait()
}

// testTopicIDs: a topic that is created again has another id, and the old one is unknown to all who ask with it (KIP-516).
func testTopicIDs(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	batch := clients.AppendBatch(nil, clients.NewBatch(clients.Record{Timestamp: firstTimestamp, Value: []byte("old")}))
	deleteBy := func(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.Topics, req.TimeoutMillis = 6, topics, 10_000
		return req
	}
	byID := func(version int16, id [16]byte) *kmsg.MetadataRequest {
		req := metadataRequest(version)
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: id})
		return req
	}
	unknown := topicRef{id: [16]byte{1, 2, 3}}
	s.alias(unknown, "unknown")

	old := s.create("old", 1)
	s.ask("the topic by its id", byID(12, old.id))
	s.ask("an unknown id", byID(13, unknown.id))
	s.ask("by id before v12", byID(11, old.id))
	s.ask("write by id", produceRequest(13, old, 0, batch))
	s.ask("write to an unknown id", produceRequest(13, unknown, 0, batch))
	s.ask("write to a partition that is not there, by id", produceRequest(13, old, 9, batch))
	s.ask("read by id", fetchRequest(13, fetchFrom{old, 0, 0}))
	s.ask("read by id, v18", fetchRequest(18, fetchFrom{old, 0, 0}))
	s.ask("read an unknown id", fetchRequest(13, fetchFrom{unknown, 0, 0}))
	s.ask("read a partition that is not there, by id", fetchRequest(13, fetchFrom{old, 9, 0}))
	s.ask("read a zero id", fetchRequest(13, fetchFrom{}))

	both := kmsg.DeleteTopicsRequestTopic{Topic: &old.name, TopicID: old.id}
	s.ask("delete by both, and by neither", deleteBy(both, kmsg.DeleteTopicsRequestTopic{}))
	s.ask("delete an unknown id", deleteBy(kmsg.DeleteTopicsRequestTopic{TopicID: unknown.id}))
	s.ask("delete by id", deleteBy(kmsg.DeleteTopicsRequestTopic{TopicID: old.id}))
	fresh := s.recreate(old.name, "fresh", 2)
	if fresh.id == old.id || fresh.id == [16]byte{} {
		t.Errorf("the id of the new topic is %x, the old one's %x", fresh.id, old.id)
	}
	s.ask("metadata of the old id", byID(12, old.id))
	s.ask("metadata of the new id", byID(12, fresh.id))
	s.ask("write to the old id", produceRequest(13, old, 0, batch))
	s.ask("read the old id at its old end", fetchRequest(13, fetchFrom{old, 0, 1}))
	s.ask("write to the new id", produceRequest(13, fresh, 0, batch))
	s.ask("read the new id, and the old one", fetchRequest(13, fetchFrom{fresh, 0, 0}, fetchFrom{old, 0, 0}))
	s.ask("read by name", fetchRequest(12, fetchFrom{fresh, 0, 0}))
	s.ask("delete the old id", deleteBy(kmsg.DeleteTopicsRequestTopic{TopicID: old.id}))
	s.compare("topic-ids")
}

// testAdvertisedWithTopicIDs: who advertises Produce and Fetch by id, and commits by it, must tell the ids.
func testAdvertisedWithTopicIDs(t *testing.T, target *harness.Target) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "raw", "1"
	highest := map[int16]int16{}
	for _, api := range askRaw[*kmsg.ApiVersionsResponse](t, dialRaw(t, target), req).ApiKeys {
		highest[api.ApiKey] = api.MaxVersion
	}
	byID := highest[kmsg.Produce.Int16()] >= 13 || highest[kmsg.Fetch.Int16()] >= 13 || highest[kmsg.OffsetCommit.Int16()] >= 10
	if byID && highest[kmsg.Metadata.Int16()] < 12 {
		t.Errorf("advertises topic ids, but Metadata up to %d", highest[kmsg.Metadata.Int16()])
	}
	if (highest[kmsg.Produce.Int16()] >= 13) != (highest[kmsg.Fetch.Int16()] >= 13) {
		t.Error("topics have ids for those who write or for those who read alone")
	}
}

// testLeaderEpochs: one epoch in everything that tells one, and who names a newer one is refused (KIP-320).
func testLeaderEpochs(t *testing.T, target *harness.Target) {
	s := newTranscript(t, target)
	topic := s.create("topic", 2)
	s.ask("write", produceRequest(9, topic, 0, clients.AppendBatch(nil, clients.NewBatch(plainRecords(3)...))))
	s.ask("metadata", metadataRequest(7, topic.name))
	for _, epoch := range []int32{-1, 0, 1, 5} {
		s.ask(fmt.Sprintf("read at epoch %d", epoch), fetchAtEpoch(12, topic, epoch))
		s.ask(fmt.Sprintf("latest at epoch %d", epoch), listOffsetsRequest(4, topic.name, -1, 0, epoch))
		s.ask(fmt.Sprintf("earliest at epoch %d", epoch), listOffsetsRequest(7, topic.name, -2, 0, epoch))
		s.ask(fmt.Sprintf("end of epoch 0 at epoch %d", epoch), leaderEpochRequest(4, topic.name, 0, epoch, 0))
	}
	s.ask("read at epoch 0, v9", fetchAtEpoch(9, topic, 0))
	s.ask("read at epoch 7, v9", fetchAtEpoch(9, topic, 7))
	for _, epoch := range []int32{0, 1, 7, -1} {
		for _, version := range []int16{2, 4} {
			s.ask(fmt.Sprintf("end of epoch %d", epoch), leaderEpochRequest(version, topic.name, 0, -1, epoch))
		}
	}
	s.ask("end of epoch 0 of an empty partition", leaderEpochRequest(4, topic.name, 1, -1, 0))
	s.ask("end of epoch 0 of a partition that is not there", leaderEpochRequest(4, topic.name, 9, -1, 0))
	s.ask("end of epoch 0 of a topic that is not there", leaderEpochRequest(4, "missing", 0, -1, 0))

	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.Generation = 8, topic.name, -1
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic.name, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 2, LeaderEpoch: 0}, {Partition: 1, Offset: 0, LeaderEpoch: 7}}}}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group = 7, topic.name
	fetch.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic.name, Partitions: []int32{0, 1}}}
	awaitCoordinator(t, s.conn, topic.name)
	s.ask("commit with epochs 0 and 7", commit)
	s.ask("both come back", fetch)
	s.compare("leader-epochs")
}

// awaitCoordinator waits until a group's coordinator is there: a broker makes its topic of offsets first.
func awaitCoordinator(t *testing.T, conn *clients.Raw, group string) {
	t.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 3, group
	offsets := kmsg.NewPtrOffsetFetchRequest()
	offsets.Version, offsets.Group = 7, group
	if !await(t, func() bool {
		return askRaw[*kmsg.FindCoordinatorResponse](t, conn, find).ErrorCode == 0 && askRaw[*kmsg.OffsetFetchResponse](t, conn, offsets).ErrorCode == 0
	}) {
		t.Fatal("no coordinator comes up")
	}
}

// testAddressesAgree: clients are told the address that they know, whatever they ask.
func testAddressesAgree(t *testing.T, target *harness.Target) {
	for who, addr := range toldAddresses(t, target) {
		if addr != target.Kafka {
			t.Errorf("%s tells %s, asked at %s", who, addr, target.Kafka)
		}
	}
}

// toldAddresses asks for all that tells where the broker is.
func toldAddresses(t *testing.T, target *harness.Target) map[string]string {
	t.Helper()
	conn := dialRaw(t, target)
	awaitCoordinator(t, conn, topicName(t))
	told := map[string]string{}
	tell := func(req kmsg.Request, host string, port int32) {
		told[fmt.Sprintf("%s %d", kmsg.NameForKey(req.Key()), req.GetVersion())] = net.JoinHostPort(host, fmt.Sprint(port))
	}
	for _, version := range []int16{0, 1, 9, 13} {
		req := metadataRequest(version, "missing")
		req.AllowAutoTopicCreation = false
		for _, b := range askRaw[*kmsg.MetadataResponse](t, conn, req).Brokers {
			tell(req, b.Host, b.Port)
		}
	}
	for _, version := range []int16{0, 3, 4, 6} {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey, req.CoordinatorKeys = version, "group", []string{"group"}
		answer := askRaw[*kmsg.FindCoordinatorResponse](t, conn, req)
		host, port := answer.Host, answer.Port
		if version >= 4 {
			host, port = answer.Coordinators[0].Host, answer.Coordinators[0].Port
		}
		tell(req, host, port)
	}
	for _, version := range []int16{0, 2} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType = version, 1
		for _, b := range askRaw[*kmsg.DescribeClusterResponse](t, conn, req).Brokers {
			tell(req, b.Host, b.Port)
		}
	}
	if len(told) != 10 {
		t.Errorf("addresses in %d of 10 answers", len(told))
	}
	return told
}

// TestAdvertisedAddress (PB-26): clients are told the address that is set; one that says where to listen alone, and that no
// client can connect to, is refused.
func TestAdvertisedAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build, kind := builder(t), harness.Kinds()[0]
	for _, host := range []string{"0.0.0.0", "::"} {
		t.Run(host, func(t *testing.T) {
			bin, err := build()
			if err != nil {
				t.Fatal(err)
			}
			target, err := kind.Start(t.Context(), bin, t.TempDir(), "IGGY_KAFKA_BIND_ADDR="+net.JoinHostPort(host, "0"))
			if err == nil {
				closeAtEnd(t, target)
			}
			if err == nil || !strings.Contains(err.Error(), "IGGY_KAFKA_ADVERTISED_HOST") {
				t.Errorf("the gateway starts: %v", err)
			}
		})
	}
	t.Run("set", func(t *testing.T) {
		target := start(t, kind, build, "IGGY_KAFKA_ADVERTISED_HOST=2001:db8::1", "IGGY_KAFKA_ADVERTISED_PORT=19092")
		for who, addr := range toldAddresses(t, target) {
			if addr != "[2001:db8::1]:19092" {
				t.Errorf("%s tells %s", who, addr)
			}
		}
	})
}
