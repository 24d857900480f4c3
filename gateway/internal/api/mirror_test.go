// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// noted is an api.Mirror that keeps what it is told.
type noted struct {
	mu  sync.Mutex
	all []bridge.GroupOffset
}

func (n *noted) Committed(_ string, _ *bridge.Topic, partition int32, offset int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, bridge.GroupOffset{Partition: partition, Offset: uint64(offset)})
}

// The mirror is told of what was committed, and of nothing else.
func TestMirrorIsTold(t *testing.T) {
	var told noted
	gw := start(t, setup{deps: func(deps *api.Deps) { deps.Mirror = &told }})
	topic := gw.newTopic(t, 2)
	c := gw.dial(t)
	long := string(make([]byte, 5000))
	ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", "", -1,
		part{topic: topic, offset: 5}, part{topic: topic, partition: 7, offset: 6}, part{topic: topic, partition: 1, offset: 7, metadata: &long}))
	ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", "nobody", 3, part{topic: topic, offset: 8}))
	told.mu.Lock()
	defer told.mu.Unlock()
	if len(told.all) != 1 || told.all[0] != (bridge.GroupOffset{Partition: 0, Offset: 5}) {
		t.Errorf("told of %v", told.all)
	}
}

// Offsets of native groups: stored by joining for a moment, unless somebody else is a member.
func TestNativeGroups(t *testing.T) {
	gw := start(t, setup{})
	groups := gw.bridge.NativeGroups()
	defer groups.Close(t.Context())
	topic := gw.createTopic(t, newName(), 2)
	c := gw.dial(t)
	c.produce(topic.Name, 0, batch("a", "b", "c"))
	store := func(offsets ...bridge.GroupOffset) error {
		return groups.Store(t.Context(), topic, "kafka.cg.g", offsets)
	}
	stored := func(partition uint32) string {
		answer := gw.native(t, iggywire.GetOffset{
			Consumer: iggywire.Consumer{Kind: iggywire.ConsumerGroup, ID: iggywire.NamedID("kafka.cg.g")},
			Stream:   iggywire.NamedID("kafka"), Topic: iggywire.NamedID(topic.Name), HasPartition: true, Partition: partition,
		})
		o, found, err := iggywire.ParseConsumerOffset(answer)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			return "none"
		}
		return string('0' + rune(o.StoredOffset))
	}
	for _, offset := range []uint64{1, 2, 0} { // also backwards
		if err := store(bridge.GroupOffset{Offset: offset}); err != nil {
			t.Fatal(err)
		}
		if got := stored(0); got != string('0'+rune(offset)) {
			t.Errorf("stored %s, want %d", got, offset)
		}
	}
	// Past the end, or where nothing is: passed over, and the others are stored.
	if err := store(bridge.GroupOffset{Partition: 1}, bridge.GroupOffset{Offset: 3}, bridge.GroupOffset{Offset: 2}); err != nil {
		t.Error(err)
	}
	if got := stored(0) + stored(1); got != "2none" {
		t.Errorf("stored %s", got)
	}

	leave := gw.nativeMember(t, topic.Name, "kafka.cg.g")
	if err := store(bridge.GroupOffset{Offset: 1}); !errors.Is(err, bridge.ErrGroupInUse) {
		t.Errorf("with a member: %v", err)
	}
	if got := stored(0); got != "2" {
		t.Errorf("stored beside a member: %s", got)
	}
	leave()

	if err := gw.bridge.DeleteTopic(t.Context(), gw.bridge.Self(), topic); err != nil {
		t.Fatal(err)
	}
	gw.createTopic(t, topic.Name, 2)
	if err := store(bridge.GroupOffset{Offset: 1}); !errors.Is(err, bridge.ErrTopicNotFound) {
		t.Errorf("a topic made anew: %v", err)
	}
}
