// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
)

// PB-72: AlterConfigs returns what it does not name to the default, IncrementalAlterConfigs leaves it.
func TestAlterConfigsResetsIncrementalDoesNot(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(0); version <= 2; version++ {
		topic := newName()
		c.create(topic, 1)
		c.set(topic, "max.message.bytes=1000", "segment.ms=5")
		inc := incremental(ofTopic, topic, "segment.ms=7")
		inc.Version = min(version, 1)
		if got := c.altered(inc); got != "0" {
			t.Error(got)
		}
		if diff := cmp.Diff(map[string]string{"max.message.bytes": "1000", "segment.ms": "7"}, c.ownConfigs(topic)); diff != "" {
			t.Errorf("incremental: %s", diff)
		}
		all := replacing(ofTopic, topic, "segment.ms=9")
		all.Version = version
		if got := c.altered(all); got != "0" {
			t.Error(got)
		}
		if diff := cmp.Diff(map[string]string{"segment.ms": "9"}, c.ownConfigs(topic)); diff != "" {
			t.Errorf("replaced: %s", diff)
		}
		if got := c.altered(replacing(ofTopic, topic)); got != "0" {
			t.Error(got)
		}
		if own := c.ownConfigs(topic); len(own) != 0 {
			t.Errorf("replaced by none: %v", own)
		}
		if kept, ok := gw.state.Log.TopicSettings(gw.topic(t, topic).ID.String()); ok {
			t.Errorf("kept: %v", kept)
		}
	}
}

// What is refused, with the texts of a broker, and changes nothing, not even what is right of it.
func TestAlterConfigsRefusals(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1, "segment.ms", "5")
	null := incremental(ofTopic, topic, "retention.ms", "segment.ms=6")
	null.Resources[0].Configs[0].Op = kmsg.IncrementalAlterConfigOpSet
	odd := incremental(ofTopic, topic, "retention.ms=1")
	odd.Resources[0].Configs[0].Op = 9
	oddBroker := incremental(ofBroker, "1", "log.dirs=/x")
	oddBroker.Resources[0].Configs[0].Op = 9
	long := strings.Repeat("1:1,", 20_000)
	for _, tc := range []struct {
		req  kmsg.Request
		want string
	}{
		{incremental(ofTopic, topic, "retention.ms=x", "segment.ms=6"), "40: Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{incremental(ofTopic, topic, "no.such.key=x", "segment.ms=6"), "40: Unknown topic config name: no.such.key"},
		{incremental(ofTopic, topic, "retention.minutes=1"), "40: Unknown topic config name: retention.minutes"},
		{incremental(ofTopic, topic, "retention.ms+=1", "segment.ms=6"), "40: Can't APPEND to key retention.ms because its type is not LIST."},
		{incremental(ofTopic, topic, "segment.ms=6", "segment.ms"), "42: Error due to duplicate config keys"},
		{null, "42: Null value not supported for : retention.ms"},
		{odd, "-1"},
		{incremental(ofTopic, topic, "min.compaction.lag.ms=9", "max.compaction.lag.ms=8"), "40: conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"},
		{incremental(ofTopic, topic, "remote.storage.enable=true"), "40: Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{incremental(ofTopic, topic, "leader.replication.throttled.replicas="+long), "44: The settings of a topic take 80048 bytes, of which at most 65536 are kept."},
		{incremental(ofTopic, "no-such-topic", "segment.ms=6"), "3: The topic 'no-such-topic' does not exist."},
		{incremental(ofTopic, "no-such-topic", "segment.ms=x"), "40: Invalid value x for configuration segment.ms: Not a number of type LONG"},
		{incremental(ofTopic, "", "segment.ms=6"), "42: Default topic resources are not allowed."},
		{incremental(ofTopic, "a b", "segment.ms=6"), "17: Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{incremental(ofTopic, stateTopic, "segment.ms=6"), "17: Topic '__iggy_kafka_state' is internal."},
		{incremental(3, topic, "segment.ms=6"), "42: Unknown resource type 3"},
		{incremental(32, topic, "segment.ms=6"), "42: Unknown resource type 32"},
		{replacing(ofTopic, topic, "retention.ms"), "42: Null value not supported for : retention.ms"},
		{replacing(ofTopic, topic, "retention.ms=x"), "40: Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{replacing(8, "1", "x=y"), "42: Unknown resource type 8"},
		{incremental(ofBroker, "1", "num.partitions=3", "log.dirs=/x"), "42: Cannot update these configs dynamically: Set(log.dirs, num.partitions)"},
		{incremental(ofBroker, "", "num.partitions=3"), "42: Cannot update these configs dynamically: Set(num.partitions)"},
		{replacing(ofBroker, "1", "num.partitions=3"), "42: Cannot update these configs dynamically: Set(num.partitions)"},
		{incremental(ofBroker, "7", "num.partitions=3"), "42: Unexpected broker id, expected 1, but received 7"},
		{incremental(ofBroker, "x", "num.partitions=3"), "42: Node id must be an integer, but it is: x"},
		{incremental(ofBroker, "1", "log.dirs+=/x"), "40: Config value append is not allowed for config key: log.dirs"},
		{oddBroker, "42: Unknown operations type 9"},
		{incremental(ofBroker, "1", "num.partitions"), "0"},
		{incremental(ofTopic, topic, "retention.ms", "no.such.key"), "0"},
		{incremental(ofTopic, topic), "0"},
	} {
		if got := c.altered(tc.req); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
	if diff := cmp.Diff(map[string]string{"segment.ms": "5"}, c.ownConfigs(topic)); diff != "" {
		t.Errorf("changed: %s", diff)
	}
}

// Each resource of a request answers for itself, but one that is named twice is refused each time.
func TestAlterConfigsTogether(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	good, twice, bad := newName(), newName(), newName()
	for _, topic := range []string{good, twice, bad} {
		c.create(topic, 1)
	}
	req := incremental(ofTopic, twice, "segment.ms=5")
	for _, r := range [][]string{{good, "segment.ms=6"}, {bad, "segment.ms=x"}, {twice, "segment.ms=7"}} {
		req.Resources = append(req.Resources, incremental(ofTopic, r[0], r[1]).Resources...)
	}
	const once = "42: Each resource must appear at most once."
	if got, want := c.altered(req), once+"; 0; 40: Invalid value x for configuration segment.ms: Not a number of type LONG; "+once; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for topic, want := range map[string]string{good: "map[segment.ms:6]", twice: "map[]", bad: "map[]"} {
		if got := fmt.Sprint(c.ownConfigs(topic)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What is only to be checked is checked, and not done.
func TestAlterConfigsValidateOnly(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1, "retention.ms", "60000")
	for value, want := range map[string]string{"70000": "0", "x": "40: Invalid value x for configuration retention.ms: Not a number of type LONG"} {
		inc, all := incremental(ofTopic, topic, "retention.ms="+value), replacing(ofTopic, topic, "retention.ms="+value)
		inc.ValidateOnly, all.ValidateOnly = true, true
		if got := c.altered(inc); got != want {
			t.Errorf("incremental: %s", got)
		}
		if got := c.altered(all); got != want {
			t.Errorf("replacing: %s", got)
		}
	}
	if diff := cmp.Diff(map[string]string{"retention.ms": "60000"}, c.ownConfigs(topic)); diff != "" {
		t.Error(diff)
	}
}

// What is changed counts for the next request.
func TestAlteredSettingsCount(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := newName()
	c.create(topic, 1)
	write := func(b []byte) int16 {
		t.Helper()
		return ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: b})).Topics[0].Partitions[0].ErrorCode
	}
	hourAgo := func() []byte { return stamped(time.Now().Add(-time.Hour).UnixMilli()) }
	for _, tc := range []struct {
		change  string
		records []byte
		want    int16
	}{
		{"max.message.bytes=200", large(300), codeTooLarge},
		{"max.message.bytes", large(300), 0},
		{"message.timestamp.before.max.ms=1000", hourAgo(), codeInvalidTimestamp},
		{"message.timestamp.before.max.ms", hourAgo(), 0},
		{"cleanup.policy=compact", batch("no key"), codeInvalidRecord},
		{"cleanup.policy", batch("no key"), 0},
	} {
		c.set(topic, tc.change)
		if got := write(tc.records); got != tc.want {
			t.Errorf("%s: error %d, want %d", tc.change, got, tc.want)
		}
	}
	c.set(topic, "compression.type=gzip")
	h, err := recordcodec.ParseHeader(c.fetchOne(part{topic: topic}).RecordBatches)
	if err != nil {
		t.Fatal(err)
	}
	if codec, err := h.Codec(); codec != recordcodec.CodecGzip || err != nil {
		t.Errorf("served as %v, %v", codec, err)
	}
	c.set(topic, "message.timestamp.type=LogAppendTime")
	got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: topic, records: batch("v")})).Topics[0].Partitions[0]
	if got.ErrorCode != 0 || got.LogAppendTime < time.Now().Add(-time.Hour).UnixMilli() {
		t.Errorf("log append time: %+v", got)
	}
}

// Whatever clients change at the same time is all changed.
func TestAlterConfigsAtOnce(t *testing.T) {
	gw := shared(t)
	topic := newName()
	gw.createTopic(t, topic, 1)
	keys := []string{"segment.ms", "segment.bytes", "max.message.bytes", "retention.ms", "retention.bytes", "flush.ms", "index.interval.bytes", "delete.retention.ms"}
	var all sync.WaitGroup
	for _, key := range keys {
		c := gw.dial(t)
		all.Go(func() {
			for n := range 5 {
				c.send(incremental(ofTopic, topic, fmt.Sprintf("%s=%d", key, 2<<30-1-n)))
			}
			for range 5 {
				if resp, ok := c.receive().(*kmsg.IncrementalAlterConfigsResponse); !ok || resp.Resources[0].ErrorCode != 0 {
					t.Errorf("%s: %+v", key, resp)
				}
			}
		})
	}
	all.Wait()
	own := gw.dial(t).ownConfigs(topic)
	if len(own) != len(keys) {
		t.Errorf("set: %v", own)
	}
	for key, value := range own {
		if value != "2147483643" {
			t.Errorf("%s: %s", key, value)
		}
	}
}

// failingStore does not store settings while err is set.
type failingStore struct {
	api.TopicStore
	err error
}

func (s *failingStore) SetTopicSettings(ctx context.Context, id, name string, settings map[string]string) error {
	if s.err != nil {
		return s.err
	}
	return s.TopicStore.SetTopicSettings(ctx, id, name, settings)
}

// What cannot be stored beside Iggy is not left changed in Iggy.
func TestAlterConfigsTakenBack(t *testing.T) {
	store := &failingStore{}
	gw := start(t, setup{deps: func(deps *api.Deps) {
		store.TopicStore = deps.Topics
		deps.Topics = store
	}})
	c := gw.dial(t)
	c.create("t", 2, "retention.ms", "60000")
	for err, want := range map[error]string{
		coordinator.ErrNotCoordinator: "41: This is not the correct controller for this cluster.",
		coordinator.ErrNotAvailable:   "7: The request timed out.",
	} {
		store.err = err
		if got := c.altered(incremental(ofTopic, "t", "retention.ms=5", "retention.bytes=5", "segment.ms=7")); got != want {
			t.Errorf("%v: %s", err, got)
		}
		if now := gw.topic(t, "t"); now.MessageExpiry != 60_000_000 || now.MaxSize != iggywire.UnlimitedSize {
			t.Errorf("%v: iggy holds expiry %d µs and %d bytes", err, now.MessageExpiry, now.MaxSize)
		}
	}
	store.err = nil
	if diff := cmp.Diff(map[string]string{"retention.ms": "60000"}, c.ownConfigs("t")); diff != "" {
		t.Error(diff)
	}
}

// A gateway that another one has replaced changes nothing that it could not remember.
func TestAlterConfigsFenced(t *testing.T) {
	gw := start(t, setup{deps: func(deps *api.Deps) {
		fenced := make(chan struct{})
		close(fenced)
		deps.Fenced = fenced
	}})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	const want = "41: This is not the correct controller for this cluster."
	if got := c.altered(incremental(ofTopic, topic, "retention.ms=5")); got != want {
		t.Error(got)
	}
	if got := c.altered(partitionsRequest(3, topic, 2)); got != want {
		t.Error(got)
	}
	if now := gw.topic(t, topic); now.MessageExpiry != iggywire.NeverExpire || now.Partitions != 1 {
		t.Errorf("changed: %+v", now)
	}
}

// Until the state log is loaded nobody knows what a topic's settings are: who asks waits, and is told to ask again.
func TestConfigsBeforeTheSettingsAreKnown(t *testing.T) {
	late := &lateStore{loaded: make(chan struct{})}
	gw := start(t, setup{deps: func(deps *api.Deps) {
		late.TopicStore = deps.Topics
		deps.Topics = late
	}})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	c.send(describeConfigs(4, ofTopic, topic, "segment.ms"), incremental(ofTopic, topic, "segment.ms=5"), describeConfigs(4, ofTopic, topic, "segment.ms"))
	close(late.loaded)
	if got := next[*kmsg.DescribeConfigsResponse](c).Resources[0]; got.ErrorCode != 0 || *got.Configs[0].Value != "604800000" {
		t.Errorf("before: %+v", got)
	}
	if got := next[*kmsg.IncrementalAlterConfigsResponse](c).Resources[0]; got.ErrorCode != 0 {
		t.Errorf("changed: %+v", got)
	}
	if got := next[*kmsg.DescribeConfigsResponse](c).Resources[0]; got.ErrorCode != 0 || *got.Configs[0].Value != "5" {
		t.Errorf("afterwards: %+v", got)
	}
}

// Without Iggy there are no topics to describe or change, and the gateway is described all the same.
func TestConfigsDetached(t *testing.T) {
	c := start(t, setup{detached: true}).dial(t)
	const want = "41: This is not the correct controller for this cluster."
	for _, req := range []kmsg.Request{
		incremental(ofTopic, "t", "segment.ms=5"), replacing(ofTopic, "t", "segment.ms=5"), partitionsRequest(3, "t", 2),
	} {
		if got := c.altered(req); got != want {
			t.Errorf("%T: %s", req, got)
		}
	}
	if got := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, ofTopic, "t")).Resources[0]; got.ErrorCode != 41 {
		t.Errorf("a topic: %+v", got)
	}
	if got := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, ofBroker, "1")).Resources[0]; got.ErrorCode != 0 || len(got.Configs) == 0 {
		t.Errorf("the broker: %+v", got)
	}
	list := kmsg.NewPtrListConfigResourcesRequest()
	list.Version = 1
	if got := ask[*kmsg.ListConfigResourcesResponse](c, list); got.ErrorCode != 0 || len(got.ConfigResources) != 1 {
		t.Errorf("list: %+v", got)
	}
}
