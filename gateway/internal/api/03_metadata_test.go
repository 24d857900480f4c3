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

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

const notAsked = -2147483648 // of authorized operations

// Every version describes a topic, with the fields that it has.
func TestMetadataVersions(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	topic := gw.createTopic(t, "orders", 3)
	for version := int16(0); version <= 13; version++ {
		got := ask[*kmsg.MetadataResponse](c, metadataRequest(version, "orders"))

		want := kmsg.NewPtrMetadataResponse()
		want.Version = version
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = nodeID, advertised, gw.port
		want.Brokers = append(want.Brokers, broker)
		want.ClusterID = kmsg.StringPtr(gw.bridge.ClusterID())
		want.ControllerID = nodeID
		wt := kmsg.NewMetadataResponseTopic()
		wt.Topic, wt.TopicID = kmsg.StringPtr("orders"), topic.ID
		for i := range int32(3) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = i, nodeID, 0, []int32{nodeID}, []int32{nodeID}
			wt.Partitions = append(wt.Partitions, p)
		}
		want.Topics = append(want.Topics, wt)
		if diff := diffResponse(want, got); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// topicsOf lists the topics of an answer, as name: error.
func topicsOf(resp *kmsg.MetadataResponse) []string {
	var out []string
	for _, topic := range resp.Topics {
		name := "null"
		if topic.Topic != nil {
			name = *topic.Topic
		}
		out = append(out, fmt.Sprintf("%s: %d", name, topic.ErrorCode))
	}
	return out
}

// Null asks for all topics, an empty list for none; v0 has no null, and its empty list asks for all.
func TestMetadataAllOrNone(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	gw.createTopic(t, "b", 1)
	gw.createTopic(t, "a", 1)
	gw.createTopic(t, "_c", 1)
	all := []string{stateTopic + ": 0", "_c: 0", "a: 0", "b: 0"}
	for version := int16(0); version <= 13; version++ {
		empty := metadataRequest(version)
		want := []string(nil)
		if version == 0 {
			want = all
		}
		got := ask[*kmsg.MetadataResponse](c, empty)
		if diff := cmp.Diff(want, topicsOf(got)); diff != "" || len(got.Brokers) != 1 {
			t.Errorf("v%d, empty: %s", version, diff)
		}
		if version == 0 {
			continue
		}
		null := metadataRequest(version)
		null.Topics = nil
		if diff := cmp.Diff(all, topicsOf(ask[*kmsg.MetadataResponse](c, null))); diff != "" {
			t.Errorf("v%d, null: %s", version, diff)
		}
	}
}

// Named topics are answered in the order of the request, each once: those there, those missing, those of bad names.
func TestMetadataNamed(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	one, two := gw.newTopic(t, 1), gw.newTopic(t, 2)
	long := strings.Repeat("x", 250)
	for _, version := range []int16{0, 1, 9, 12, 13} {
		got := ask[*kmsg.MetadataResponse](c, metadataRequest(version, two, "missing", one, "a b", two, "", ".", "missing", long))
		want := []string{two + ": 0", "missing: 3", one + ": 0", "a b: 17", ": 17", ".: 17", long + ": 17"}
		if diff := cmp.Diff(want, topicsOf(got)); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// A topic is found by its id since v12; an id or a null name before that fails the whole request, without brokers.
func TestMetadataByID(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	topic := gw.createTopic(t, name, 1)
	missing := [16]byte{9}
	for _, version := range []int16{12, 13} {
		got := ask[*kmsg.MetadataResponse](c, metadataByID(version, topic.ID, missing, topic.ID))
		if diff := cmp.Diff([]string{name + ": 0", "null: 100"}, topicsOf(got)); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
		if got.Topics[0].TopicID != topic.ID || got.Topics[1].TopicID != missing {
			t.Errorf("v%d: ids %v and %v", version, got.Topics[0].TopicID, got.Topics[1].TopicID)
		}
	}
	for _, version := range []int16{10, 11} {
		nullName := kmsg.NewMetadataRequestTopic()
		for what, topics := range map[string][]kmsg.MetadataRequestTopic{
			"an id":     metadataByID(version, topic.ID).Topics,
			"no name":   {nullName},
			"a mixture": append(metadataRequest(version, name).Topics, nullName),
		} {
			req := metadataRequest(version)
			req.Topics = topics
			got := ask[*kmsg.MetadataResponse](c, req)
			if len(got.Brokers) != 0 || got.ControllerID != -1 || len(got.Topics) != len(topics) {
				t.Errorf("v%d, %s: %+v", version, what, got)
			}
			for _, topic := range got.Topics {
				if topic.ErrorCode != codeInvalidRequest || len(topic.Partitions) != 0 {
					t.Errorf("v%d, %s: %+v", version, what, topic)
				}
			}
		}
	}
}

// Missing topics are made when gateway and client both want it: not for "all", not for a bad name, not twice, and
// before v4 clients cannot say no.
func TestMetadataAutoCreate(t *testing.T) {
	on := start(t, setup{tune: func(cfg *api.Config) { cfg.AutoCreateTopics, cfg.DefaultPartitions = true, 3 }})
	off := start(t, setup{})
	for _, tc := range []struct {
		name    string
		gw      *gateway
		version int16
		allow   bool
		created bool
	}{
		{"on, v0", on, 0, false, true}, {"on, v3", on, 3, false, true}, {"on, v4, refused", on, 4, false, false},
		{"on, v4", on, 4, true, true}, {"on, v13", on, 13, true, true}, {"off, v3", off, 3, false, false}, {"off, v13", off, 13, true, false},
	} {
		c := tc.gw.dial(t)
		name := newName()
		req := metadataRequest(tc.version, name, name, "a b")
		req.AllowAutoTopicCreation = tc.allow
		got := ask[*kmsg.MetadataResponse](c, req)
		if len(got.Topics) != 2 || got.Topics[1].ErrorCode != codeInvalidTopic {
			t.Errorf("%s: %v", tc.name, topicsOf(got))
		}
		want := map[bool]int16{true: 0, false: codeUnknownTopic}[tc.created]
		if code := got.Topics[0].ErrorCode; code != want && !(tc.created && code == 5) {
			t.Errorf("%s: error %d, want %d", tc.name, code, want)
		}
		ask := ask[*kmsg.MetadataResponse](c, metadataRequest(9, name)).Topics[0]
		if ask.ErrorCode != want || tc.created && len(ask.Partitions) != 3 {
			t.Errorf("%s: afterwards error %d, %d partitions", tc.name, ask.ErrorCode, len(ask.Partitions))
		}
		if tc.created {
			c.produce(name, 2, batch("v"))
		}
	}
	c := on.dial(t)
	on.createTopic(t, "x.y", 1)
	before := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(0)))
	for what, req := range map[string]*kmsg.MetadataRequest{
		"an id": metadataByID(13, [16]byte{1}), "an internal topic": metadataRequest(13, internalTopic),
		"a name that collides": metadataRequest(13, "x_y"), "all": {Version: 13},
	} {
		req.AllowAutoTopicCreation = true
		for _, topic := range ask[*kmsg.MetadataResponse](c, req).Topics {
			if what != "all" && topic.ErrorCode == 0 {
				t.Errorf("%s: made", what)
			}
		}
	}
	if diff := cmp.Diff(before, topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(0)))); diff != "" {
		t.Errorf("made: %s", diff)
	}
}

// Many clients that ask for one missing topic at a time all get it.
func TestMetadataAutoCreateTogether(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.AutoCreateTopics = true }})
	name := newName()
	var clients []*client
	for range 20 {
		c := gw.dial(t)
		c.send(metadataRequest(3, name))
		clients = append(clients, c)
	}
	for _, c := range clients {
		if got := topicsOf(next[*kmsg.MetadataResponse](c)); !slices.Equal(got, []string{name + ": 0"}) && !slices.Equal(got, []string{name + ": 5"}) {
			t.Errorf("got %v", got)
		}
		c.produce(name, 0, batch("v"))
	}
}

// Naming topics makes them only so many at a time, and none that collides with another of the same request.
func TestMetadataAutoCreateBounds(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.AutoCreateTopics = true }})
	c := gw.dial(t)
	dotted := newName() + ".x"
	collides := strings.ReplaceAll(dotted, ".", "_")
	got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(3, dotted, collides)))
	if !slices.Equal(got, []string{dotted + ": 0", collides + ": 3"}) {
		t.Errorf("colliding names: %v", got)
	}
	var names []string
	for range 300 {
		names = append(names, newName())
	}
	made := 0
	for _, topic := range ask[*kmsg.MetadataResponse](c, metadataRequest(3, names...)).Topics {
		if topic.ErrorCode == 0 {
			made++
		}
	}
	if made != 256 {
		t.Errorf("%d of 300 topics made by one request", made)
	}
}

// What a client may do is told when it asks, since v8; of the cluster until v10.
func TestMetadataAuthorizedOperations(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for version := int16(8); version <= 13; version++ {
		for _, asked := range []bool{false, true} {
			req := metadataRequest(version, topic, "missing")
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = asked, asked
			got := ask[*kmsg.MetadataResponse](c, req)
			ofTopic, ofCluster := int32(notAsked), int32(notAsked)
			if asked {
				ofTopic = 3576
			}
			if asked && version <= 10 {
				ofCluster = 8096
			}
			if got.Topics[0].AuthorizedOperations != ofTopic || got.Topics[1].AuthorizedOperations != ofTopic {
				t.Errorf("v%d, asked %v: topics %d and %d", version, asked, got.Topics[0].AuthorizedOperations, got.Topics[1].AuthorizedOperations)
			}
			if got.AuthorizedOperations != ofCluster {
				t.Errorf("v%d, asked %v: cluster %d", version, asked, got.AuthorizedOperations)
			}
		}
	}
}

// An internal topic is marked as such; it can be read and not written or deleted.
func TestMetadataInternalTopic(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	gw.createTopic(t, internalTopic, 1)
	ordinary := gw.newTopic(t, 1)
	for version := int16(1); version <= 13; version++ {
		got := ask[*kmsg.MetadataResponse](c, metadataRequest(version, internalTopic, ordinary))
		if !got.Topics[0].IsInternal || got.Topics[1].IsInternal {
			t.Errorf("v%d: %v and %v", version, got.Topics[0].IsInternal, got.Topics[1].IsInternal)
		}
	}
	gw.sendNative(t, internalTopic, "state")
	if got := values(c.fetchAll(internalTopic, 0)); len(got) != 1 {
		t.Errorf("read %q", got)
	}
	if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, internalTopic)).Topics[0]; got.ErrorCode != codeInvalidTopic {
		t.Errorf("delete: error %d", got.ErrorCode)
	}
	if got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, newTopicSpec(internalTopic, 1, 1))).Topics[0]; got.ErrorCode != codeInvalidTopic {
		t.Errorf("create: error %d", got.ErrorCode)
	}
}

// Topics of native producers are there as well, but for names that Kafka does not allow.
func TestMetadataNativeNames(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	gw.createTopic(t, "allowed", 1)
	gw.createTopic(t, "not allowed", 1)
	if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(0))); !slices.Equal(got, []string{stateTopic + ": 0", "allowed: 0"}) {
		t.Errorf("got %v", got)
	}
}

// The same topic keeps its id, one made again has another.
func TestMetadataTopicIDs(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	id := func() [16]byte { return ask[*kmsg.MetadataResponse](c, metadataRequest(12, topic)).Topics[0].TopicID }
	first := id()
	if first == [16]byte{} || first != id() {
		t.Errorf("ids %x and %x", first, id())
	}
	ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic))
	gw.createTopic(t, topic, 1)
	if second := id(); second == first || second == [16]byte{} {
		t.Errorf("made again: %x, before %x", second, first)
	}
	if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataByID(12, first))); !slices.Equal(got, []string{"null: 100"}) {
		t.Errorf("the old id: %v", got)
	}
}
