// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestTwoGateways starts a second gateway on the Iggy of one that serves groups, by mistake or as a rolling restart
// does. The older one must come to serve no groups and to write nothing more; what it has acknowledged is not lost.
func TestTwoGateways(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	build := builder(t)
	for _, kind := range harness.Kinds() {
		if kind.Name == "separate" || kind.Name == "iggy" {
			t.Run(kind.Name, func(t *testing.T) { testTwoGateways(t, kind, build) })
		}
	}
}

func testTwoGateways(t *testing.T, kind harness.Kind, build func() (harness.Binaries, error)) {
	const noDelay = "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0"
	older := start(t, kind, build, noDelay)
	topic := newTopic(t, clients.Franz{Addr: older.Kafka}, 1)
	old := requester{franz(t, older.Kafka)}
	old.awaitLoaded(t)
	member := old.join(t, "members", topic)
	commits := startCommits(t, old, "commits", topic)
	commits.awaitProgress(t)

	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	newer, err := harness.StartBeside(t.Context(), older, bin, t.TempDir(), noDelay)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, newer)
	acknowledged := commits.awaitRefusal(t)
	awaitReady(t, older, false)
	awaitReady(t, newer, true)
	t.Logf("%d commits were acknowledged before one was refused", acknowledged)

	young := requester{franz(t, newer.Kafka)}
	young.awaitLoaded(t)
	offset := func(when string) int64 {
		t.Helper()
		at := young.committed(t, "commits", topic)
		// The last one may have been stored though it was refused.
		if at != acknowledged && at != acknowledged+1 {
			t.Errorf("%s %d is committed, want %d, the last that was acknowledged, or the one after it", when, at, acknowledged)
		}
		return at
	}
	before := offset("after the newer gateway's start")
	testFenced(t, old, member, topic)
	testStateUnchanged(t, older, func() {
		for n := range int64(50) {
			if code := old.commit(t, "commits", topic, n); code != kerr.NotCoordinator.Code {
				t.Fatalf("the older gateway answers a commit with %d", code)
			}
		}
	})
	if after := offset("after commits to the older gateway"); after != before {
		t.Errorf("the offset went from %d to %d", before, after)
	}
	if err := young.heartbeat(t, "members", member); err != nil {
		t.Errorf("a member of the older gateway's group asks the newer one: %v", err)
	}
	if code := young.commit(t, "commits", topic, before+10); code != 0 {
		t.Errorf("the newer gateway answers a commit with %d", code)
	}
	newer.Gateway.Kill()
	startAgain(t, newer.Gateway)
	young.awaitLoaded(t)
	if at := young.committed(t, "commits", topic); at != before+10 {
		t.Errorf("after the newer gateway was killed %d is committed, want %d", at, before+10)
	}
	// Records are shared, it is the groups alone that have one owner.
	produce(t, clients.Franz{Addr: older.Kafka}, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, plainRecords(3), 0)
	produce(t, clients.Franz{Addr: newer.Kafka}, clients.Destination{Topic: topic, Codec: "none", Acks: clients.AcksAll}, plainRecords(3), 3)
}

// awaitReady waits until a gateway says that it is ready, or that it is not.
func awaitReady(t *testing.T, target *harness.Target, ready bool) {
	t.Helper()
	client := http.Client{Timeout: limit}
	var answer string
	if !await(t, func() bool {
		resp, err := client.Get("http://" + target.Admin + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		answer = fmt.Sprintf("%d %s", resp.StatusCode, text)
		return err == nil && (resp.StatusCode == http.StatusOK) == ready
	}) {
		t.Errorf("%s answers %q", target.Name, answer)
	}
}

// testFenced asks everything about groups: NOT_COORDINATOR, and COORDINATOR_NOT_AVAILABLE where clients ask for one.
func testFenced(t *testing.T, r requester, member groupMember, topic string) {
	t.Helper()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = "new", 6000, 6000, "consumer"
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = "members", member.id, member.generation
	sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Group, heartbeat.MemberID, heartbeat.Generation = "members", member.id, member.generation
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.Members = "members", []kmsg.LeaveGroupRequestMember{{MemberID: member.id}}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"members"}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "commits", MemberEpoch: -1}}
	remove := kmsg.NewPtrOffsetDeleteRequest()
	remove.Group, remove.Topics = "commits", []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
	removeGroup := kmsg.NewPtrDeleteGroupsRequest()
	removeGroup.Groups = []string{"commits"}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"commits"}
	for _, test := range []struct {
		name string
		code int16
		want *kerr.Error
	}{
		{"OffsetCommit", r.commit(t, "commits", topic, 1), kerr.NotCoordinator},
		{"JoinGroup", r.ask(t, join).(*kmsg.JoinGroupResponse).ErrorCode, kerr.NotCoordinator},
		{"SyncGroup", r.ask(t, sync).(*kmsg.SyncGroupResponse).ErrorCode, kerr.NotCoordinator},
		{"Heartbeat", r.ask(t, heartbeat).(*kmsg.HeartbeatResponse).ErrorCode, kerr.NotCoordinator},
		{"LeaveGroup", r.ask(t, leave).(*kmsg.LeaveGroupResponse).ErrorCode, kerr.NotCoordinator},
		{"DescribeGroups", r.ask(t, describe).(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode, kerr.NotCoordinator},
		{"OffsetFetch", r.ask(t, fetch).(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode, kerr.NotCoordinator},
		{"OffsetDelete", r.ask(t, remove).(*kmsg.OffsetDeleteResponse).ErrorCode, kerr.NotCoordinator},
		{"DeleteGroups", r.ask(t, removeGroup).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode, kerr.NotCoordinator},
		{"ListGroups", r.ask(t, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse).ErrorCode, kerr.NotCoordinator},
		{"FindCoordinator", r.ask(t, find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode, kerr.CoordinatorNotAvailable},
	} {
		if test.code != test.want.Code {
			t.Errorf("%s answers %d (%v), want %s", test.name, test.code, kerr.ErrorForCode(test.code), test.want.Message)
		}
	}
}

// testStateUnchanged expects that something adds nothing to the topic that the gateways keep their state in.
func testStateUnchanged(t *testing.T, target *harness.Target, do func()) {
	t.Helper()
	native := dialIggy(t, target)
	messages := func() uint64 {
		details, err := native.client.GetTopic(native.stream, identifier(t, "__iggy_kafka_state"))
		if err != nil {
			t.Fatal(err)
		}
		return details.MessagesCount
	}
	before := messages()
	do()
	if added := messages() - before; added != 0 {
		t.Errorf("%d messages were added to the state", added)
	}
}

// requester sends single requests to the gateway that its client was told of, and to no other, without trying again.
type requester struct{ client *kgo.Client }

func (r requester) ask(t *testing.T, req kmsg.Request) kmsg.Response {
	t.Helper()
	resp, err := r.client.SeedBrokers()[0].RetriableRequest(within(t, limit), req) // a connection may have been closed
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp
}

// awaitLoaded waits until the gateway has read its groups: it serves other things before that.
func (r requester) awaitLoaded(t *testing.T) {
	t.Helper()
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"any"}
	if !await(t, func() bool {
		return r.ask(t, describe).(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode != kerr.CoordinatorLoadInProgress.Code
	}) {
		t.Fatal("the groups are not loaded")
	}
}

// commit commits an offset of the topic's only partition, as one does who is no member, and returns the answer's code.
func (r requester) commit(t *testing.T, group, topic string, offset int64) int16 {
	t.Helper()
	return r.ask(t, commitRequest(group, topic, offset)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

func commitRequest(group, topic string, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = offset
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{partition}}}
	return req
}

// committed returns the offset that is committed of the topic's only partition.
func (r requester) committed(t *testing.T, group, topic string) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(r.client).FetchOffsets(within(t, limit), group)
	if err = errors.Join(err, offsets.Error()); err != nil {
		t.Fatal(err)
	}
	offset, _ := offsets.Lookup(topic, 0)
	return offset.At
}

// groupMember is a member that a request can name.
type groupMember struct {
	id         string
	generation int32
}

// join makes the only member of a group.
func (r requester) join(t *testing.T, group, topic string) groupMember {
	t.Helper()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = group, 30_000, 30_000, "consumer"
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = []string{topic}
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata.AppendTo(nil)}}
	joined := r.ask(t, join).(*kmsg.JoinGroupResponse)
	if joined.ErrorCode == kerr.MemberIDRequired.Code {
		join.MemberID = joined.MemberID
		joined = r.ask(t, join).(*kmsg.JoinGroupResponse)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = group, joined.MemberID, joined.Generation
	sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID}}
	synced := r.ask(t, sync).(*kmsg.SyncGroupResponse)
	if err := errors.Join(kerr.ErrorForCode(joined.ErrorCode), kerr.ErrorForCode(synced.ErrorCode)); err != nil {
		t.Fatal(err)
	}
	return groupMember{joined.MemberID, joined.Generation}
}

func (r requester) heartbeat(t *testing.T, group string, m groupMember) error {
	t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = group, m.id, m.generation
	return kerr.ErrorForCode(r.ask(t, req).(*kmsg.HeartbeatResponse).ErrorCode)
}

// commits are offsets that rise by one, committed one after the other until one is refused.
type commits struct {
	mu           sync.Mutex
	acknowledged int64
	refused      int16 // the code
	err          error
	over         bool
}

func startCommits(t *testing.T, r requester, group, topic string) *commits {
	c := &commits{}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() {
		for next := int64(1); !c.isOver() && ctx.Err() == nil; next++ {
			resp, err := r.client.SeedBrokers()[0].Request(ctx, commitRequest(group, topic, next))
			c.answered(next, resp, err)
		}
	})
	return c
}

func (c *commits) answered(offset int64, resp kmsg.Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err, c.over = err, true
		return
	}
	if code := resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		c.refused, c.over = code, true
		return
	}
	c.acknowledged = offset
}

func (c *commits) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

func (c *commits) awaitProgress(t *testing.T) {
	t.Helper()
	if !await(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.acknowledged >= 20 || c.over }) || c.isOver() {
		t.Fatalf("the commits end after %d with %d, %v", c.acknowledged, c.refused, c.err)
	}
}

// awaitRefusal returns the last offset that was acknowledged. The newer gateway is known to the older one within a
// second, the interval in which that reads on.
func (c *commits) awaitRefusal(t *testing.T) int64 {
	t.Helper()
	begin := time.Now()
	if !await(t, c.isOver) {
		t.Fatalf("the older gateway goes on to acknowledge commits")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("a commit was refused %v after the newer gateway served", time.Since(begin))
	if c.err != nil || c.refused != kerr.NotCoordinator.Code {
		t.Errorf("a commit is refused with %d (%v), want NOT_COORDINATOR", c.refused, c.err)
	}
	return c.acknowledged
}
