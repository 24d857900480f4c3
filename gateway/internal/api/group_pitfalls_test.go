// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// Faults that were reported of other servers and proxies, each tried here.

// MEMBER_ID_REQUIRED: the id stays good when the connection that it was given on is gone, and is unknown once its session
// timeout is over.
func TestMemberIDRequired(t *testing.T) {
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MinSessionTimeout = time.Millisecond }})
	first := gw.dial(t)
	given := ask[*kmsg.JoinGroupResponse](first, joinRequest("g", "", "t"))
	if given.ErrorCode != codeMemberIDRequired || !strings.HasPrefix(given.MemberID, "test-") {
		t.Fatalf("%+v", given)
	}
	first.nc.Close()
	if got := ask[*kmsg.JoinGroupResponse](gw.dial(t), joinRequest("g", given.MemberID, "t")); got.ErrorCode != 0 || got.MemberID != given.MemberID {
		t.Errorf("with the id: %+v", got)
	}

	brief := joinRequest("brief", "", "t")
	brief.SessionTimeoutMillis = 1
	c := gw.dial(t)
	brief.MemberID = ask[*kmsg.JoinGroupResponse](c, brief).MemberID
	for given := time.Now(); time.Since(given) < 10*time.Millisecond; {
		ask[*kmsg.ApiVersionsResponse](c, apiVersions(3))
	}
	if got := ask[*kmsg.JoinGroupResponse](c, brief); got.ErrorCode != codeUnknownMember {
		t.Errorf("with an expired id: %+v", got)
	}
}

// fighter is a consumer as clients are: it joins until it has an assignment of the generation that all agree on.
type fighter struct {
	*client
	group, id string
}

const storyPartitions = 12

// settle joins and syncs until it succeeds; a leader deals the partitions out.
func (f *fighter) settle() (generation int32, mine []string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		joined := ask[*kmsg.JoinGroupResponse](f.client, joinRequest(f.group, f.id, "t"))
		switch joined.ErrorCode {
		case codeMemberIDRequired:
			f.id = joined.MemberID
			continue
		case codeUnknownMember:
			f.id = ""
			continue
		case 0:
		default:
			f.Errorf("join: error %d", joined.ErrorCode)
			return 0, nil
		}
		f.id = joined.MemberID
		var deal []string
		for i, m := range joined.Members {
			var part []string
			for p := i; p < storyPartitions; p += len(joined.Members) {
				part = append(part, strconv.Itoa(p))
			}
			deal = append(deal, m.MemberID, strings.Join(part, ","))
		}
		synced := ask[*kmsg.SyncGroupResponse](f.client, syncRequest(f.group, f.id, joined.Generation, deal...))
		switch synced.ErrorCode {
		case 0:
			return joined.Generation, strings.Split(string(synced.MemberAssignment), ",")
		case codeUnknownMember:
			f.id = ""
		case codeRebalance, 22: // others came: again
		default:
			f.Errorf("sync: error %d", synced.ErrorCode)
			return 0, nil
		}
	}
	f.Error("does not settle")
	return 0, nil
}

// Late joiners: of members that join one after another, each when it likes, all end in one generation, with every partition
// dealt out once.
func TestLateJoiners(t *testing.T) {
	gw := shared(t)
	for round := range 20 {
		group := newGroup()
		const members = 4
		type outcome struct {
			generation int32
			mine       []string
		}
		var mu sync.Mutex
		outcomes := map[int]outcome{}
		var all sync.WaitGroup
		fighters := make([]*fighter, members)
		for i := range fighters {
			fighters[i] = &fighter{client: gw.dial(t), group: group}
			all.Go(func() {
				for { // a member that is told to join again does so, until all have the same generation
					generation, mine := fighters[i].settle()
					mu.Lock()
					outcomes[i] = outcome{generation, mine}
					mu.Unlock()
					if generation == 0 {
						return
					}
					for done := false; !done; {
						got := ask[*kmsg.HeartbeatResponse](fighters[i].client, heartbeatRequest(group, fighters[i].id, generation))
						if got.ErrorCode != 0 {
							break
						}
						mu.Lock()
						done = len(outcomes) == members
						for _, o := range outcomes {
							done = done && o.generation == generation
						}
						mu.Unlock()
						if done {
							return
						}
					}
				}
			})
		}
		all.Wait()
		var dealt []string
		for _, o := range outcomes {
			dealt = append(dealt, o.mine...)
		}
		slices.SortFunc(dealt, func(a, b string) int { return len(a)*100 + strings.Compare(a, b) - len(b)*100 })
		if got := strings.Join(dealt, " "); got != "0 1 2 3 4 5 6 7 8 9 10 11" {
			t.Fatalf("round %d: %s of %v", round, got, outcomes)
		}
	}
}

// A leader that dies between its Join and its Sync holds the others up for the rebalance timeout, not for ever, and is
// unknown afterwards. A stale Sync is told that the generation is over.
func TestLeaderDiesBeforeSync(t *testing.T) {
	t.Parallel()
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MinSessionTimeout = time.Millisecond }})
	const group = "g"
	lead := gw.dial(t)
	join := joinRequest(group, "", "t")
	join.Version, join.RebalanceTimeoutMillis = 3, 200
	dead := ask[*kmsg.JoinGroupResponse](lead, join)
	lead.nc.Close()

	follower := &fighter{client: gw.dial(t), group: group}
	generation, mine := follower.settle()
	if generation < 2 || len(mine) != storyPartitions {
		t.Errorf("generation %d, %d partitions", generation, len(mine))
	}
	if got := ask[*kmsg.SyncGroupResponse](follower.client, syncRequest(group, dead.MemberID, 1)); got.ErrorCode != codeUnknownMember {
		t.Errorf("the dead leader's sync: error %d", got.ErrorCode)
	}
	if got := ask[*kmsg.SyncGroupResponse](follower.client, syncRequest(group, follower.id, generation-1)); got.ErrorCode != 22 {
		t.Errorf("a stale sync: error %d", got.ErrorCode)
	}
}

// A member that was killed does not hold a new one up for longer than its own session.
func TestExpiredMember(t *testing.T) {
	t.Parallel()
	gw := start(t, setup{groups: func(cfg *coordinator.Config) { cfg.MinSessionTimeout = time.Millisecond }})
	c := gw.dial(t)
	req := joinRequest("g", "", "t")
	req.Version, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 3, 300, 3_600_000
	killed := ask[*kmsg.JoinGroupResponse](c, req)
	ask[*kmsg.SyncGroupResponse](c, syncRequest("g", killed.MemberID, 1, killed.MemberID, "mine"))
	c.nc.Close()

	began := time.Now()
	joiner := &fighter{client: gw.dial(t), group: "g"}
	// The generation is 3 if the member was gone before the other one came.
	if generation, mine := joiner.settle(); generation < 2 || len(mine) != storyPartitions || time.Since(began) > patience/2 {
		t.Errorf("generation %d, %d partitions, after %v", generation, len(mine), time.Since(began))
	}
}

// Two that live with one instance id: the older one is fenced in whatever it does.
func TestTwoWithOneInstanceID(t *testing.T) {
	gw := shared(t)
	topic, group := gw.newTopic(t, 1), newGroup()
	instance := kmsg.StringPtr("i")
	join := func(c *client) string {
		req := joinRequest(group, "", topic)
		req.InstanceID = instance
		return ask[*kmsg.JoinGroupResponse](c, req).MemberID
	}
	older, newer := gw.dial(t), gw.dial(t)
	first := join(older)
	ask[*kmsg.SyncGroupResponse](older, syncRequest(group, first, 1, first, "mine"))
	second := join(newer)
	sync := syncRequest(group, second, 1)
	sync.InstanceID = instance
	if got := ask[*kmsg.SyncGroupResponse](newer, sync); got.ErrorCode != 0 || string(got.MemberAssignment) != "mine" {
		t.Errorf("the newer one: %+v", got)
	}
	heartbeat, commit := heartbeatRequest(group, first, 1), commitRequest(commitVersion, group, first, 1, part{topic: topic, offset: 1})
	sync = syncRequest(group, first, 1)
	heartbeat.InstanceID, commit.InstanceID, sync.InstanceID = instance, instance, instance
	if got := ask[*kmsg.HeartbeatResponse](older, heartbeat).ErrorCode; got != codeFencedInstance {
		t.Errorf("heartbeat: error %d", got)
	}
	if got := ask[*kmsg.SyncGroupResponse](older, sync).ErrorCode; got != codeFencedInstance {
		t.Errorf("sync: error %d", got)
	}
	if got := commitCodes(ask[*kmsg.OffsetCommitResponse](older, commit)); got != "[82]" {
		t.Errorf("commit: %s", got)
	}
}

// commitCodes lists the codes of a commit's partitions.
func commitCodes(resp *kmsg.OffsetCommitResponse) string {
	var codes []int16
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return fmt.Sprint(codes)
}

// Who commits without being a member, and which offsets: those of an empty partition, and its end, are good ones.
func TestCommitWithoutMembership(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic, group := gw.newTopic(t, 2), newGroup()
	c.produce(topic, 1, batch("a", "b", "c"))
	commit := func(member string, generation int32, parts ...part) string {
		return commitCodes(ask[*kmsg.OffsetCommitResponse](c, commitRequest(commitVersion, group, member, generation, parts...)))
	}
	if got := commit("", -1, part{topic: topic, offset: 0}, part{topic: topic, partition: 1, offset: 3}); got != "[0 0]" {
		t.Errorf("no group: %s", got)
	}
	if got := commit("", -1, part{topic: topic, offset: 0}); got != "[0]" {
		t.Errorf("an Empty group: %s", got)
	}
	if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, group))); got != "0 "+topic+"[0: 0 -1  0, 1: 3 -1  0]" {
		t.Errorf("committed: %s", got)
	}
	member := c.member(group, topic)
	if got := commit("", -1, part{topic: topic, offset: 1}); got != "[25]" {
		t.Errorf("a live group: %s", got)
	}
	if got := commit(member, 0, part{topic: topic, offset: 1}); got != "[22]" {
		t.Errorf("an old generation: %s", got)
	}
	// One partition that is not there does not keep the others from being committed.
	if got := commit(member, 1, part{topic: "missing"}, part{topic: topic, partition: 7}, part{topic: topic, offset: 9}); got != "[3 3 0]" {
		t.Errorf("some partitions: %s", got)
	}
}

// Metadata comes back byte by byte, null as empty, and what is too long is refused alone.
func TestCommitMetadata(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic, group := gw.newTopic(t, 4), newGroup()
	req := commitRequest(commitVersion, group, "", -1,
		part{topic: topic, partition: 0, offset: 1, metadata: kmsg.StringPtr("a\x00b")},
		part{topic: topic, partition: 1, offset: 1, metadata: kmsg.StringPtr("")},
		part{topic: topic, partition: 2, offset: 1, epoch: 1 + 7},
		part{topic: topic, partition: 3, offset: 1, metadata: kmsg.StringPtr(strings.Repeat("m", 5000))})
	if got := commitCodes(ask[*kmsg.OffsetCommitResponse](c, req)); got != "[0 0 0 12]" {
		t.Errorf("codes %s", got)
	}
	want := "0 " + topic + "[0: 1 -1 a\x00b 0, 1: 1 -1  0, 2: 1 7  0]"
	if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(7, group))); got != want {
		t.Errorf("got %q", got)
	}
}

// Every partition that is asked for is answered, also of a group that nobody knows and of a topic that is not there.
func TestOffsetFetchShapes(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	topic := gw.newTopic(t, 1)
	for version := int16(1); version <= 9; version++ {
		got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(version, newGroup(), part{topic: topic}, part{topic: "missing", partition: 4})))
		if want := "0 " + topic + "[0: -1 -1  0] missing[4: -1 -1  0]"; got != want {
			t.Errorf("v%d: %s", version, got)
		}
		if version < 2 {
			continue
		}
		if got := committed(ask[*kmsg.OffsetFetchResponse](c, committedRequest(version, newGroup()))); got != "0" {
			t.Errorf("v%d, all: %s", version, got)
		}
	}
	stable := committedRequest(7, newGroup(), part{topic: topic})
	stable.RequireStable = true
	if got := committed(ask[*kmsg.OffsetFetchResponse](c, stable)); got != "0 "+topic+"[0: -1 -1  0]" {
		t.Errorf("require_stable: %s", got)
	}
}
