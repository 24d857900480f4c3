// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
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

// Every version creates; what came of it is told since v5, the topic id since v7; and the topic can be used at once.
func TestCreateTopicsVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(2); version <= 7; version++ {
		name := newName()
		resp := ask[*kmsg.CreateTopicsResponse](c, createRequest(version, newTopicSpec(name, 2, 1)))
		got := resp.Topics[0]
		if got.Topic != name || got.ErrorCode != 0 || got.ErrorMessage != nil {
			t.Errorf("v%d: %+v", version, got)
		}
		if version >= 5 && (got.NumPartitions != 2 || got.ReplicationFactor != 1 || len(got.Configs) != len(topicconfig.Keys())) {
			t.Errorf("v%d: %d partitions, %d replicas, %d configs", version, got.NumPartitions, got.ReplicationFactor, len(got.Configs))
		}
		id := ask[*kmsg.MetadataResponse](c, metadataRequest(12, name)).Topics[0].TopicID
		if version >= 7 && got.TopicID != id {
			t.Errorf("v%d: id %x, in metadata %x", version, got.TopicID, id)
		}
		c.produce(name, 1, batch("v"))
		list := ask[*kmsg.ListOffsetsResponse](c, listOffsetsRequest(6, part{topic: name, partition: 1, timestamp: -1}))
		if got := list.Topics[0].Partitions[0].Offset; got != 1 {
			t.Errorf("v%d: end %d", version, got)
		}
	}
}

// created is one topic's answer in short.
func created(resp *kmsg.CreateTopicsResponse, i int) string {
	got := resp.Topics[i]
	text := ""
	if got.ErrorMessage != nil {
		text = ": " + *got.ErrorMessage
	}
	return fmt.Sprintf("%d%s", got.ErrorCode, text)
}

// What cannot be created, with the texts of a broker.
func TestCreateTopicsRefusals(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	dotted := "dotted." + newName()
	gw.createTopic(t, dotted, 1)
	name := newName()
	long := strings.Repeat("x", 250)
	spec := func(partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
		return newTopicSpec(name, partitions, replicas)
	}
	manual := func(partitions ...int32) kmsg.CreateTopicsRequestTopic {
		return withAssignment(spec(-1, -1), partitions...)
	}
	for _, tc := range []struct {
		topic kmsg.CreateTopicsRequestTopic
		want  string
	}{
		{newTopicSpec("", 1, 1), "17: Topic name is invalid: the empty string is not allowed"},
		{newTopicSpec(".", 1, 1), "17: Topic name is invalid: '.' is not allowed"},
		{newTopicSpec("..", 1, 1), "17: Topic name is invalid: '..' is not allowed"},
		{newTopicSpec(long, 1, 1), "17: Topic name is invalid: the length of '" + long + "' is longer than the max allowed length 249"},
		{newTopicSpec("ä", 1, 1), "17: Topic name is invalid: 'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{newTopicSpec(strings.Replace(dotted, ".", "_", 1), 1, 1),
			"17: Topic '" + strings.Replace(dotted, ".", "_", 1) + "' collides with existing topic: " + dotted},
		{newTopicSpec(dotted, 1, 1), "36: Topic '" + dotted + "' already exists."},
		{spec(0, 1), "37: Number of partitions was set to an invalid non-positive value."},
		{spec(-2, 1), "37: Number of partitions was set to an invalid non-positive value."},
		{spec(1001, 1), "37: Number of partitions 1001 is above 1000, the most that a topic can have."},
		{spec(1, 0), "38: Replication factor must be larger than 0, or -1 to use the default value."},
		{spec(1, -2), "38: Replication factor must be larger than 0, or -1 to use the default value."},
		{withAssignment(spec(1, -1), 0), "42: A manual partition assignment was specified, but numPartitions was not set to -1."},
		{withAssignment(spec(-1, 1), 0), "42: A manual partition assignment was specified, but replication factor was not set to -1."},
		{manual(1), "39: partitions should be a consecutive 0-based integer sequence"},
		{manual(0, 2), "39: partitions should be a consecutive 0-based integer sequence"},
		{manual(0, -1), "39: partitions should be a consecutive 0-based integer sequence"},
		{manual(0, 0), "39: Found multiple manual partition assignments for partition 0"},
		{withNode(manual(0)), "39: The manual partition assignment includes an empty replica list."},
		{withNode(manual(0), 7), "39: The manual partition assignment includes broker 7, but no such broker is registered."},
		{withNode(manual(0), nodeID, nodeID), "39: The manual partition assignment includes the broker 1 more than once."},
		{withConfig(spec(1, 1), "no.such.key", kmsg.StringPtr("1")), "40: Unknown topic config name: no.such.key"},
		{withConfig(spec(1, 1), "retention.minutes", kmsg.StringPtr("1")), "40: Unknown topic config name: retention.minutes"},
		{withConfig(spec(1, 1), "retention.ms", kmsg.StringPtr("x")), "40: Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{withConfig(spec(1, 1), "retention.ms", nil), "40: Null value not supported for topic configs: retention.ms"},
	} {
		got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, tc.topic))
		if len(got.Topics) != 1 || created(got, 0) != tc.want {
			t.Errorf("got %s, want %s", created(got, 0), tc.want)
		}
		if topic := got.Topics[0]; topic.NumPartitions != -1 || topic.ReplicationFactor != -1 || len(topic.Configs) != 0 || topic.TopicID != [16]byte{} {
			t.Errorf("%s: %+v", tc.want, topic)
		}
	}
	if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(12, name))); got[0] != name+": 3" {
		t.Errorf("made all the same: %v", got)
	}
}

// -1 means the default; any replication factor from 1 up is taken and reported as 1.
func TestCreateTopicsCounts(t *testing.T) {
	gw := start(t, setup{tune: func(cfg *api.Config) { cfg.DefaultPartitions = 5 }})
	c := gw.dial(t)
	for _, tc := range []struct {
		version    int16
		topic      kmsg.CreateTopicsRequestTopic
		partitions int32
	}{
		{2, newTopicSpec(newName(), -1, -1), 5}, {4, newTopicSpec(newName(), -1, 1), 5}, {7, newTopicSpec(newName(), -1, -1), 5},
		{7, newTopicSpec(newName(), 3, 3), 3}, {7, newTopicSpec(newName(), 1000, 32767), 1000},
		{7, withAssignment(newTopicSpec(newName(), -1, -1), 2, 0, 1), 3},
	} {
		got := ask[*kmsg.CreateTopicsResponse](c, createRequest(tc.version, tc.topic)).Topics[0]
		if got.ErrorCode != 0 || tc.version >= 5 && (got.NumPartitions != tc.partitions || got.ReplicationFactor != 1) {
			t.Errorf("v%d, %d partitions: %+v", tc.version, tc.topic.NumPartitions, got)
		}
		if n := len(ask[*kmsg.MetadataResponse](c, metadataRequest(12, tc.topic.Topic)).Topics[0].Partitions); n != int(tc.partitions) {
			t.Errorf("v%d: %d partitions, want %d", tc.version, n, tc.partitions)
		}
	}
}

// Each topic of a request answers for itself; a repeated name is answered once and not made, and two names that
// collide with each other are one too many.
func TestCreateTopicsTogether(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	good, twice, dotted := newName(), newName(), newName()+".x"
	collides := strings.ReplaceAll(dotted, ".", "_")
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7,
		newTopicSpec(twice, 1, 1), newTopicSpec(good, 1, 1), newTopicSpec("a b", 1, 1), newTopicSpec(twice, 2, 1),
		newTopicSpec(dotted, 1, 1), newTopicSpec(collides, 1, 1), newTopicSpec(twice, 3, 1)))
	var short []string
	for i, topic := range got.Topics {
		short = append(short, topic.Topic+" "+strings.SplitN(created(got, i), ":", 2)[0])
	}
	want := []string{twice + " 42", good + " 0", "a b 17", dotted + " 0", collides + " 17"}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Error(diff)
	}
	if got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7)); len(got.Topics) != 0 {
		t.Errorf("no topics: %+v", got)
	}
}

// One request makes 10,000 partitions at most, as on a broker, and a name of 32 KiB is told of in part.
func TestCreateTopicsExcess(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	var many []kmsg.CreateTopicsRequestTopic
	for range 11 {
		many = append(many, newTopicSpec(newName(), 1000, 1))
	}
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, many...))
	for i := range many {
		if got := created(got, i); got != "44: Excessively large number of partitions per request." {
			t.Errorf("topic %d: %s", i, got)
		}
	}
	long := ask[*kmsg.CreateTopicsResponse](c, createRequest(4, newTopicSpec(strings.Repeat("x", 32_760), 1, 1)))
	if code := long.Topics[0].ErrorCode; code != 17 || len(*long.Topics[0].ErrorMessage) > 2000 {
		t.Errorf("long name: error %d, a text of %d bytes", code, len(*long.Topics[0].ErrorMessage))
	}
}

// validate_only checks all of it and changes nothing; the id that it tells is of no topic.
func TestCreateTopicsValidateOnly(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	for version := int16(2); version <= 7; version++ {
		req := createRequest(version, newTopicSpec(name, 4, 1), newTopicSpec("a b", 1, 1))
		req.ValidateOnly = true
		got := ask[*kmsg.CreateTopicsResponse](c, req)
		if got.Topics[0].ErrorCode != 0 || got.Topics[1].ErrorCode != codeInvalidTopic {
			t.Errorf("v%d: %s, %s", version, created(got, 0), created(got, 1))
		}
		if version >= 5 && (got.Topics[0].NumPartitions != 4 || len(got.Topics[0].Configs) == 0) {
			t.Errorf("v%d: %+v", version, got.Topics[0])
		}
		if version >= 7 && got.Topics[0].TopicID == [16]byte{} {
			t.Errorf("v%d: no id", version)
		}
	}
	if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(12, name))); got[0] != name+": 3" {
		t.Errorf("made: %v", got)
	}
}

// The settings of a new topic are told with what was set, and Iggy holds those it can.
func TestCreateTopicsConfigs(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	spec := newTopicSpec(name, 3, 1)
	for _, kv := range [][2]string{{"retention.ms", "60000"}, {"retention.bytes", "2147483648"}, {"cleanup.policy", "compact,delete"}, {"segment.bytes", " 2000000 "}} {
		spec = withConfig(spec, kv[0], kmsg.StringPtr(kv[1]))
	}
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, spec)).Topics[0]
	if got.ErrorCode != 0 {
		t.Fatalf("error %d", got.ErrorCode)
	}
	told := map[string]string{}
	var names []string
	for _, cfg := range got.Configs {
		names = append(names, cfg.Name)
		told[cfg.Name] = fmt.Sprintf("%s from %d", *cfg.Value, cfg.Source)
		if cfg.ReadOnly || cfg.IsSensitive {
			t.Errorf("%s: read-only %v, sensitive %v", cfg.Name, cfg.ReadOnly, cfg.IsSensitive)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("out of order: %v", names)
	}
	for name, want := range map[string]string{
		"retention.ms": "60000 from 1", "retention.bytes": "2147483648 from 1", "cleanup.policy": "compact,delete from 1",
		"max.message.bytes": "1048588 from 5", "retention.minutes": "",
	} {
		if told[name] != want {
			t.Errorf("%s: %q, want %q", name, told[name], want)
		}
	}
	topic := gw.topic(t, name)
	if topic.MessageExpiry != 60_000_000 || topic.MaxSize != 3*2147483648 {
		t.Errorf("iggy holds expiry %d µs and %d bytes", topic.MessageExpiry, topic.MaxSize)
	}
}

// Where nothing is to be deleted, nothing expires in Iggy, whatever else is set; that is kept to be read back.
func TestCreateTopicsWithoutDelete(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for policy, expires := range map[string]bool{"compact": false, "": false, "delete": true, "compact,delete": true} {
		name := newName()
		c.create(name, 1, "retention.ms", "60000", "retention.bytes", "2147483648", "cleanup.policy", policy)
		topic := gw.topic(t, name)
		if never := topic.MessageExpiry == iggywire.NeverExpire && topic.MaxSize == iggywire.UnlimitedSize; never == expires {
			t.Errorf("%q: iggy holds expiry %d µs and %d bytes", policy, topic.MessageExpiry, topic.MaxSize)
		}
		kept, _ := gw.state.Log.TopicSettings(topic.ID.String())
		if (kept["retention.ms"] == "60000") == expires || kept["cleanup.policy"] != policy {
			t.Errorf("%q: kept %v", policy, kept)
		}
	}
}

// Without retention and without limit is without in Iggy as well.
func TestCreateTopicsUnlimited(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	spec := withConfig(withConfig(newTopicSpec(name, 2, 1), "retention.ms", kmsg.StringPtr("-1")), "retention.bytes", kmsg.StringPtr("-1"))
	if got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, spec)); got.Topics[0].ErrorCode != 0 {
		t.Fatal(created(got, 0))
	}
	topic := gw.topic(t, name)
	if topic.MessageExpiry != iggywire.NeverExpire || topic.MaxSize != iggywire.UnlimitedSize {
		t.Errorf("iggy holds expiry %d µs and %d bytes", topic.MessageExpiry, topic.MaxSize)
	}
}

// topic looks a topic up behind the API's back.
func (gw *gateway) topic(t *testing.T, name string) *bridge.Topic {
	t.Helper()
	view, err := gw.bridge.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	topic, ok := view.ByName(name)
	if !ok {
		t.Fatalf("no topic %s", name)
	}
	return topic
}

// Clients that create one topic at a time: one of them does, the others learn that it is there; then all use it.
func TestCreateTopicsRace(t *testing.T) {
	gw := shared(t)
	name := newName()
	var clients []*client
	for range 20 {
		c := gw.dial(t)
		c.send(createRequest(7, newTopicSpec(name, 1, 1)))
		clients = append(clients, c)
	}
	count := map[string]int{}
	for _, c := range clients {
		count[created(next[*kmsg.CreateTopicsResponse](c), 0)]++
		c.produce(name, 0, batch("v"))
	}
	if want := map[string]int{"0": 1, "36: Topic '" + name + "' already exists.": 19}; cmp.Diff(want, count) != "" {
		t.Errorf("answers %v", count)
	}
}

// stuckOnce is an api.TopicStore whose first change takes its caller's whole time, as when Iggy does not answer.
type stuckOnce struct {
	api.TopicStore
	asked int
}

func (s *stuckOnce) SetTopicSettings(ctx context.Context, id, name string, settings map[string]string) error {
	if s.asked++; s.asked == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.TopicStore.SetTopicSettings(ctx, id, name, settings)
}

// A topic whose settings are not stored within the request's time is taken back, so that the next try finds no such topic.
func TestCreateTopicsTakenBack(t *testing.T) {
	t.Parallel()
	gw := start(t, setup{deps: func(deps *api.Deps) { deps.Topics = &stuckOnce{TopicStore: deps.Topics} }})
	c := gw.dial(t)
	req := createRequest(7, withConfig(newTopicSpec(newName(), 1, 1), "max.message.bytes", kmsg.StringPtr("1000")))
	req.TimeoutMillis = 3000 // enough to make the topic
	if got := ask[*kmsg.CreateTopicsResponse](c, req); got.Topics[0].ErrorCode != codeTimedOut {
		t.Fatal(created(got, 0))
	}
	if _, ok := view(t, gw).ByName(req.Topics[0].Topic); ok {
		t.Error("the topic is there, without its settings")
	}
	req.TimeoutMillis = 10_000
	got := ask[*kmsg.CreateTopicsResponse](c, req)
	if got.Topics[0].ErrorCode != 0 {
		t.Fatal("again: ", created(got, 0))
	}
	if _, ok := gw.state.Log.TopicSettings(bridge.TopicID(got.Topics[0].TopicID).String()); !ok {
		t.Error("the topic's settings are not kept")
	}
}

// A gateway that another one has replaced makes no topic whose settings it could not keep; others it makes.
func TestCreateTopicsFenced(t *testing.T) {
	store := &stuckOnce{}
	gw := start(t, setup{deps: func(deps *api.Deps) {
		fenced := make(chan struct{})
		close(fenced)
		deps.Fenced, deps.Topics = fenced, store
	}})
	c := gw.dial(t)
	plain := newTopicSpec(newName(), 1, 1)
	kept := withConfig(newTopicSpec(newName(), 1, 1), "max.message.bytes", kmsg.StringPtr("1000"))
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, plain, kept))
	if got.Topics[0].ErrorCode != 0 || got.Topics[1].ErrorCode != 41 {
		t.Error(created(got, 0), created(got, 1))
	}
	if store.asked != 0 {
		t.Error("a topic was made first")
	}
}
