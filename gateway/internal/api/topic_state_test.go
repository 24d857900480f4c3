// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// A topic that was deleted takes its offsets with it, and one made anew under its name starts with none, whoever deleted it.
func TestOffsetsOfRecreatedTopic(t *testing.T) {
	gw := start(t, setup{bridge: func(cfg *bridge.Config) { cfg.TopicViewAge = time.Millisecond }})
	c := gw.dial(t)
	for name, remove := range map[string]func(topic *bridge.Topic){
		"by us": func(topic *bridge.Topic) {
			if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, topic.Name)).Topics[0]; got.ErrorCode != 0 {
				t.Fatalf("delete: %+v", got)
			}
		},
		"by others": func(topic *bridge.Topic) {
			if err := gw.bridge.DeleteTopic(t.Context(), gw.bridge.Self(), topic); err != nil {
				t.Fatal(err)
			}
		},
	} {
		topic, group := gw.createTopic(t, newName(), 1), newGroup()
		ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, group, "", -1, part{topic: topic.Name, offset: 5}))
		remove(topic)
		for _, made := range []bool{false, true} {
			if made {
				gw.createTopic(t, topic.Name, 1)
			}
			if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, group, part{topic: topic.Name}))); got != "0 "+topic.Name+"[0: -1 -1  0]" {
				t.Errorf("%s, made anew: %v: %s", name, made, got)
			}
			if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, group))); got != "0" {
				t.Errorf("%s, made anew: %v, all: %s", name, made, got)
			}
		}
		if name == "by us" { // nobody waits for the removal to be written: this commit does, as it comes behind it
			other := gw.newTopic(t, 1)
			ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, group, "", -1, part{topic: other, offset: 1}))
			left, err := gw.state.Groups.Offsets(t.Context(), group, nil)
			if err != nil || len(left) != 1 || left[0].Topic != other {
				t.Errorf("kept: %v, %v", left, err)
			}
		}
	}
}

// The topic view may be older than a deletion by others. A commit of that time is one of the topic that was deleted: whoever
// sends it has read nothing else. It is answered, and never shown as an offset of the new topic; the next one is.
func TestCommitRightAfterRecreation(t *testing.T) {
	gw := startBlind(t)
	topic := gw.createTopic(t, newName(), 1)
	view(t, gw)
	others, err := bridge.Open(t.Context(), bridge.Config{
		Addr: gw.iggy.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer others.Close(t.Context())
	if err := others.DeleteTopic(t.Context(), others.Self(), topic); err != nil {
		t.Fatal(err)
	}
	if _, err := others.CreateTopic(t.Context(), others.Self(), bridge.TopicSpec{Name: topic.Name, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	c := gw.dial(t)
	for _, want := range []string{"-1", "7"} {
		if got := commitCodes(ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", "", -1, part{topic: topic.Name, offset: 7}))); got != "[0]" {
			t.Errorf("commit: %s", got)
		}
		view(t, gw)
		if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g", part{topic: topic.Name}))); got != "0 "+topic.Name+"[0: "+want+" -1  0]" {
			t.Errorf("committed: %s, want %s", got, want)
		}
	}
}

// Settings that Iggy has no place for are kept under the topic's id, and go with it.
func TestTopicSettingsAreKept(t *testing.T) {
	gw := start(t, setup{})
	c := gw.dial(t)
	spec := withConfig(withConfig(newTopicSpec(newName(), 1, 1), "cleanup.policy", kmsg.StringPtr("compact,delete")), "retention.ms", kmsg.StringPtr("60000"))
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(7, spec)).Topics[0]
	if got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	for _, config := range got.Configs {
		if config.Name == "cleanup.policy" && (*config.Value != "compact,delete" || config.Source != 1) {
			t.Errorf("answered: %+v", config)
		}
	}
	id := bridge.TopicID(got.TopicID).String()
	if kept, ok := gw.state.Log.TopicSettings(id); !ok || fmt.Sprint(kept) != "map[cleanup.policy:compact,delete]" {
		t.Errorf("kept: %v", kept)
	}
	if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, spec.Topic)).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	if kept, ok := gw.state.Log.TopicSettings(id); ok {
		t.Errorf("kept with the topic gone: %v", kept)
	}
	validated := createRequest(7, spec)
	validated.ValidateOnly = true
	ask[*kmsg.CreateTopicsResponse](c, validated)
	if ids := gw.state.Log.Topics(); len(ids) != 0 {
		t.Errorf("kept of a topic that was only checked: %v", ids)
	}
}

// The state topic is shown as internal, can be read, and cannot be written or deleted.
func TestStateTopicIsInternal(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	c.member(newGroup(), "t")
	if got := ask[*kmsg.MetadataResponse](c, metadataRequest(9, stateTopic)).Topics[0]; got.ErrorCode != 0 || !got.IsInternal {
		t.Errorf("metadata: %+v", got)
	}
	if got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: stateTopic, records: batch("v")})).Topics[0].Partitions[0]; got.ErrorCode != codeInvalidTopic {
		t.Errorf("produce: error %d", got.ErrorCode)
	}
	if got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, stateTopic)).Topics[0]; got.ErrorCode != codeInvalidTopic {
		t.Errorf("delete: error %d", got.ErrorCode)
	}
	records := 0
	for partition := range int32(2) {
		got := c.fetchOne(part{topic: stateTopic, partition: partition})
		if got.ErrorCode != 0 {
			t.Errorf("fetch: error %d", got.ErrorCode)
		}
		records += len(got.RecordBatches)
	}
	if records == 0 {
		t.Error("nothing to read")
	}
}
