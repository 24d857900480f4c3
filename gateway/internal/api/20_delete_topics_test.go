// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleted lists what DeleteTopics answered, as name: error and text.
func deleted(resp *kmsg.DeleteTopicsResponse) []string {
	var out []string
	for _, topic := range resp.Topics {
		name, text := "null", ""
		if topic.Topic != nil {
			name = *topic.Topic
		}
		if topic.ErrorMessage != nil {
			text = " " + *topic.ErrorMessage
		}
		out = append(out, fmt.Sprintf("%s: %d%s", name, topic.ErrorCode, text))
	}
	return out
}

// Every version deletes, with a text for errors since v5; a topic is gone when the answer is there.
func TestDeleteTopicsVersions(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(1); version <= 6; version++ {
		name := gw.newTopic(t, 1)
		got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(version, name, "missing"))
		missing := "missing: 3"
		if version >= 5 {
			missing += " This server does not host this topic-partition."
		}
		if diff := cmp.Diff([]string{name + ": 0", missing}, deleted(got)); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
		if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(12, name))); got[0] != name+": 3" {
			t.Errorf("v%d: afterwards %v", version, got)
		}
	}
}

// By id since v6, which is answered with the name; never by both, by neither, or twice.
func TestDeleteTopicsByID(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name, other := newName(), newName()
	topic, kept := gw.createTopic(t, name, 1), gw.createTopic(t, other, 1)
	byID := func(id [16]byte) kmsg.DeleteTopicsRequestTopic { return kmsg.DeleteTopicsRequestTopic{TopicID: id} }
	both := byID(kept.ID)
	both.Topic = &other
	got := ask[*kmsg.DeleteTopicsResponse](c, deleteByID(
		byID(topic.ID), byID([16]byte{1}), both, kmsg.DeleteTopicsRequestTopic{}, byID(kept.ID), byID(kept.ID)))
	want := []string{
		name + ": 0", "null: 100 This server does not host this topic ID.",
		other + ": 42 You may not specify both topic name and topic id.", "null: 42 Neither topic name nor id were specified.",
		"null: 42 Duplicate topic id.",
	}
	if diff := cmp.Diff(want, deleted(got)); diff != "" {
		t.Error(diff)
	}
	if got.Topics[0].TopicID != topic.ID || got.Topics[1].TopicID != [16]byte{1} {
		t.Errorf("ids %x and %x", got.Topics[0].TopicID, got.Topics[1].TopicID)
	}
	if got := topicsOf(ask[*kmsg.MetadataResponse](c, metadataRequest(12, name, other))); cmp.Diff([]string{name + ": 3", other + ": 0"}, got) != "" {
		t.Errorf("afterwards %v", got)
	}
}

// A topic that is named and given by its id in one request stays: KRaft's controller takes that for a mistake.
func TestDeleteTopicsNameAndID(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := newName()
	topic := gw.createTopic(t, name, 1)
	got := ask[*kmsg.DeleteTopicsResponse](c, deleteByID(
		kmsg.DeleteTopicsRequestTopic{Topic: &name}, kmsg.DeleteTopicsRequestTopic{TopicID: topic.ID}))
	if diff := cmp.Diff([]string{name + ": 42 The provided topic name maps to an ID that was already supplied."}, deleted(got)); diff != "" {
		t.Error(diff)
	}
	c.produce(name, 0, batch("v"))
}

// An empty name is one that is not there; without time nothing is done.
func TestDeleteTopicsOdd(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	if diff := cmp.Diff([]string{": 3 This server does not host this topic-partition."}, deleted(ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, "")))); diff != "" {
		t.Error(diff)
	}
	name := gw.newTopic(t, 1)
	late := deleteRequest(5, name)
	late.TimeoutMillis = 0
	if got := ask[*kmsg.DeleteTopicsResponse](c, late).Topics[0].ErrorCode; got != codeTimedOut {
		t.Errorf("without time: code %d", got)
	}
	c.produce(name, 0, batch("v"))
}

// A name twice is answered once, and the topic stays.
func TestDeleteTopicsTwice(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	name := gw.newTopic(t, 1)
	got := ask[*kmsg.DeleteTopicsResponse](c, deleteRequest(5, name, name))
	if diff := cmp.Diff([]string{name + ": 42 Duplicate topic name."}, deleted(got)); diff != "" {
		t.Error(diff)
	}
	c.produce(name, 0, batch("v"))
}
