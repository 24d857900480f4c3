// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// What groups are, survives the gateway: members and generation, assignments, offsets; and producer ids go on.
func TestStateSurvivesRestart(t *testing.T) {
	iggy := startIggy(t).Addr().String()
	first, err := openGateway(setup{iggyAddr: iggy})
	if err != nil {
		t.Fatal(err)
	}
	topic := first.newTopic(t, 1)
	c := first.dial(t)
	member := c.member("g", topic)
	ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", member, 1, part{topic: topic, offset: 5, epoch: 1, metadata: kmsg.StringPtr("note")}))
	described := ask[*kmsg.DescribeGroupsResponse](c, describeRequest(5, "g"))
	id := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1)).ProducerID
	if err := first.close(); err != nil {
		t.Fatal(err)
	}

	c = start(t, setup{iggyAddr: iggy}).dial(t)
	if diff := diffResponse(described, ask[*kmsg.DescribeGroupsResponse](c, describeRequest(5, "g"))); diff != "" {
		t.Error(diff)
	}
	if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", member, 1)); got.ErrorCode != 0 {
		t.Errorf("heartbeat: error %d", got.ErrorCode)
	}
	if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g"))); got != "0 "+topic+"[0: 5 0 note 0]" {
		t.Errorf("committed: %s", got)
	}
	if got := commitCodes(ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", member, 1, part{topic: topic, offset: 6}))); got != "[0]" {
		t.Errorf("commit: %s", got)
	}
	if next := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1)).ProducerID; next <= id {
		t.Errorf("producer id %d after %d", next, id)
	}
}

// Producer ids do not repeat though the clock of the machine has been set back between two starts.
func TestProducerIDsAfterClockStep(t *testing.T) {
	iggy := startIggy(t).Addr().String()
	seen := map[int64]bool{}
	for _, clock := range []time.Time{time.UnixMilli(2_000_000_000_000), time.UnixMilli(1_000_000_000_000)} {
		gw, err := openGateway(setup{iggyAddr: iggy, now: func() time.Time { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		c := gw.dial(t)
		for range 3 {
			got := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1))
			if got.ErrorCode != 0 || seen[got.ProducerID] {
				t.Errorf("%+v", got)
			}
			seen[got.ProducerID] = true
		}
		if err := gw.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A second gateway on the same Iggy takes the groups over. The first one says so to whoever asks, and writes nothing more;
// who was waiting there is told as well; its topics are served on.
func TestTwoGateways(t *testing.T) {
	iggy := startIggy(t).Addr().String()
	older := start(t, setup{iggyAddr: iggy})
	topic := older.newTopic(t, 1)
	c := older.dial(t)
	member := c.member("g", topic)
	commit := func(c *client, offset int64) string {
		return commitCodes(ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", member, 1, part{topic: topic, offset: offset})))
	}
	if got := commit(c, 5); got != "[0]" {
		t.Fatalf("commit: %s", got)
	}
	parked := older.dial(t)
	waiting := joinRequest("g", "", topic)
	waiting.Version = 3
	parked.send(waiting) // waits for the member to join again
	c.await("g", "PreparingRebalance")

	newer := start(t, setup{iggyAddr: iggy})
	if got := commit(newer.dial(t), 6); got != "[0]" {
		t.Errorf("commit at the newer one: %s", got)
	}
	if got := commit(c, 4); got != "[16]" {
		t.Errorf("commit at the older one: %s", got)
	}
	if got := next[*kmsg.JoinGroupResponse](parked); got.ErrorCode != codeNotCoordinator {
		t.Errorf("who was waiting: error %d", got.ErrorCode)
	}
	for name, code := range map[string]int16{
		"heartbeat":    ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", member, 1)).ErrorCode,
		"join":         ask[*kmsg.JoinGroupResponse](c, joinRequest("g", member, topic)).ErrorCode,
		"sync":         ask[*kmsg.SyncGroupResponse](c, syncRequest("g", member, 1)).ErrorCode,
		"leave":        ask[*kmsg.LeaveGroupResponse](c, leaveRequest(leaveVersion, "g", member)).ErrorCode,
		"list":         ask[*kmsg.ListGroupsResponse](c, listRequest(5, nil, nil)).ErrorCode,
		"describe":     ask[*kmsg.DescribeGroupsResponse](c, describeRequest(6, "g")).Groups[0].ErrorCode,
		"delete":       ask[*kmsg.DeleteGroupsResponse](c, deleteGroupsRequest(2, "g")).Groups[0].ErrorCode,
		"offsets":      ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g")).ErrorCode,
		"many offsets": ask[*kmsg.OffsetFetchResponse](c, committedRequest(8, "g")).Groups[0].ErrorCode,
		"offsets v1":   ask[*kmsg.OffsetFetchResponse](c, committedRequest(1, "g", part{topic: topic})).Topics[0].Partitions[0].ErrorCode,
		"delete offsets": ask[*kmsg.OffsetDeleteResponse](c,
			offsetDeleteRequest("g", part{topic: topic})).ErrorCode,
	} {
		if code != codeNotCoordinator {
			t.Errorf("%s: error %d", name, code)
		}
	}
	for version := int16(0); version <= 6; version++ {
		got := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, 0, "g"))
		if version >= 4 {
			got.ErrorCode, got.NodeID = got.Coordinators[0].ErrorCode, got.Coordinators[0].NodeID
		}
		if got.ErrorCode != codeNotAvailable || got.NodeID != -1 {
			t.Errorf("find coordinator v%d: %+v", version, got)
		}
	}
	if got := ask[*kmsg.InitProducerIDResponse](c, initProducerID(4, nil, -1, -1)); got.ErrorCode != codeLoading || got.ProducerID != -1 {
		t.Errorf("producer id: %+v", got)
	}
	kept := createRequest(7, withConfig(newTopicSpec(newName(), 1, 1), "max.message.bytes", kmsg.StringPtr("1000")))
	if got := ask[*kmsg.CreateTopicsResponse](c, kept).Topics[0].ErrorCode; got != 41 {
		t.Errorf("a topic with settings to keep: error %d", got)
	}
	if _, ok := view(t, older).ByName(kept.Topics[0].Topic); ok {
		t.Error("the topic stayed, without its settings")
	}
	if !older.logs.contains("another gateway has taken over") {
		t.Error("nothing was logged")
	}
	c.produce(topic, 0, batch("v"))
	if got := c.fetchAll(topic, 0); len(got) != 1 {
		t.Errorf("%d records at the older one", len(got))
	}
	if got := committed(ask[*kmsg.OffsetFetchResponse](newer.dial(t), committedRequest(7, "g"))); got != "0 "+topic+"[0: 6 -1  0]" {
		t.Errorf("committed: %s", got)
	}
}

func view(tb testing.TB, gw *gateway) *bridge.TopicView {
	tb.Helper()
	v, err := gw.bridge.TopicsWithin(tb.Context(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// With Iggy away nothing is acknowledged, no offset reads as none, and the group goes on; when it is back all works again.
func TestGroupsWithoutTheStore(t *testing.T) {
	way := newFaulty(t, startIggy(t).Addr().String())
	gw := start(t, setup{iggyAddr: way.listener.Addr().String(), bridge: func(cfg *bridge.Config) {
		cfg.TopicViewAge, cfg.CallTimeout = time.Millisecond, time.Second
	}})
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	member := c.member("g", topic)
	commit := func(offset int64) string {
		return commitCodes(ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, "g", member, 1, part{topic: topic, offset: offset})))
	}
	if got := commit(5); got != "[0]" {
		t.Fatalf("commit: %s", got)
	}
	way.set(refusing)
	if got := commit(6); got != "[14]" && got != "[15]" {
		t.Errorf("commit without the store: %s", got)
	}
	for deadline := time.Now().Add(patience); ; { // a connection that still works answers, but never with none
		got := ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g", part{topic: topic}))
		if got.ErrorCode == codeNotAvailable && len(got.Topics) == 0 {
			break
		}
		if committed(got) != "0 "+topic+"[0: 5 -1  0]" || time.Now().After(deadline) {
			t.Fatalf("offsets without the store: %s", committed(got))
		}
	}
	if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", member, 1)); got.ErrorCode != 0 {
		t.Errorf("heartbeat without the store: error %d", got.ErrorCode)
	}
	way.set(noFault)
	until(t, "commits work again", func() bool { return commit(7) == "[0]" })
	if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g"))); got != "0 "+topic+"[0: 7 -1  0]" {
		t.Errorf("committed: %s", got)
	}
}

// Until the state is there, groups are loading, and members may take themselves for members.
func TestGroupsWhileLoading(t *testing.T) {
	driver, release := slowDriver(t)
	gw := start(t, setup{deps: func(deps *api.Deps) { deps.Groups = driver }})
	topic := gw.newTopic(t, 1)
	c := gw.dial(t)
	if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", "m", 1)); got.ErrorCode != 0 {
		t.Errorf("heartbeat: error %d", got.ErrorCode)
	}
	for name, code := range map[string]int16{
		"join":     ask[*kmsg.JoinGroupResponse](c, joinRequest("g", "", topic)).ErrorCode,
		"sync":     ask[*kmsg.SyncGroupResponse](c, syncRequest("g", "m", 1)).ErrorCode,
		"leave":    ask[*kmsg.LeaveGroupResponse](c, leaveRequest(leaveVersion, "g", "m")).ErrorCode,
		"leave v2": ask[*kmsg.LeaveGroupResponse](c, leaveRequest(2, "g", "m")).ErrorCode,
		"list":     ask[*kmsg.ListGroupsResponse](c, listRequest(5, nil, nil)).ErrorCode,
		"describe": ask[*kmsg.DescribeGroupsResponse](c, describeRequest(6, "g")).Groups[0].ErrorCode,
		"offsets":  ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, "g", part{topic: topic})).ErrorCode,
		"commit": ask[*kmsg.OffsetCommitResponse](c,
			commitRequest(commitVersion, "g", "m", 1, part{topic: topic})).Topics[0].Partitions[0].ErrorCode,
	} {
		if code != codeLoading {
			t.Errorf("%s: error %d", name, code)
		}
	}
	if got := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(4, 0, "g")).Coordinators[0]; got.ErrorCode != 0 || got.NodeID != nodeID {
		t.Errorf("find coordinator: %+v", got)
	}
	release()
	if got := ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("g", "m", 1)); got.ErrorCode != codeUnknownMember {
		t.Errorf("heartbeat once loaded: error %d", got.ErrorCode)
	}
}

// slowDriver is a coordinator that loads until release is called, which returns when it has.
func slowDriver(t *testing.T) (driver *coordinator.Driver, release func()) {
	t.Helper()
	store := &slowStore{coordinator.NewMemoryStore(), make(chan struct{})}
	driver, err := coordinator.NewDriver(coordinator.DriverConfig{Config: coordinator.DefaultConfig(), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- driver.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return driver, func() {
		close(store.release)
		<-driver.Loaded()
	}
}

// slowStore loads when it is told to.
type slowStore struct {
	*coordinator.MemoryStore
	release chan struct{}
}

func (s *slowStore) Load(ctx context.Context, fn func(string, coordinator.Change) error) error {
	select {
	case <-s.release:
		return s.MemoryStore.Load(ctx, fn)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A state log that cannot be read ends the start with the reason.
func TestUnreadableState(t *testing.T) {
	iggy := startIggy(t).Addr().String()
	gw, err := openGateway(setup{iggyAddr: iggy})
	if err != nil {
		t.Fatal(err)
	}
	storage, err := gw.bridge.OpenStateStorage(t.Context(), bridge.StateStorageConfig{Topic: stateTopic})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Append(t.Context(), 1, []statelog.Message{{Checkpoint: -1, Payload: []byte("not a record")}}); err != nil {
		t.Fatal(err)
	}
	_ = gw.close() // it may have met the message as well
	if _, err := openGateway(setup{iggyAddr: iggy}); !errors.Is(err, statelog.ErrUnknownRecord) && !errors.Is(err, statelog.ErrCorrupt) {
		t.Errorf("start: %v", err)
	}
}
