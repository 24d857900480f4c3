// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

// permitted is a gateway that wants to know who its clients are, and a user, with a topic "here" and one "beside".
type permitted struct {
	*gateway
	root   *iggytest.Client
	user   string
	stream uint32
	here   uint32
}

func newPermitted(t *testing.T, server *iggytest.Server, p func(stream, topic uint32) *iggywire.Permissions, tune func(*setup)) *permitted {
	t.Helper()
	root, stream, user := server.Dial(t), server.Prefix+"stream", server.Prefix+"user"
	w := &permitted{root: root, user: user, stream: root.NewStream(stream).ID, here: root.NewTopic(stream, "here").ID}
	root.NewTopic(stream, "beside")
	root.NewUser(user, permissionPassword, p(w.stream, w.here))
	set := setup{authenticate: true, iggyAddr: server.Addr, bridge: func(cfg *bridge.Config) {
		cfg.Username, cfg.Password, cfg.Names = server.Username, server.Password, bridge.NewNames(stream)
	}}
	if tune != nil {
		tune(&set)
	}
	w.gateway = start(t, set)
	return w
}

func (w *permitted) login(tb testing.TB) *client {
	tb.Helper()
	c := w.dial(tb)
	c.login(w.user, permissionPassword)
	return c
}

// onStream are permissions in the stream, and onTopic those to the topic.
func onStream(s iggywire.StreamPermissions) func(uint32, uint32) *iggywire.Permissions {
	return func(stream, _ uint32) *iggywire.Permissions {
		s.Stream = stream
		return &iggywire.Permissions{Streams: []iggywire.StreamPermissions{s}}
	}
}

func onTopic(p iggywire.TopicPermissions) func(uint32, uint32) *iggywire.Permissions {
	return func(stream, topic uint32) *iggywire.Permissions {
		p.Topic = topic
		return &iggywire.Permissions{Streams: []iggywire.StreamPermissions{{Stream: stream, Topics: []iggywire.TopicPermissions{p}}}}
	}
}

// What is taken away shows within a second, also to a fetch that waits, and what is given as well.
func TestPermissionsChange(t *testing.T) {
	iggytest.Each(t, func(t *testing.T, server *iggytest.Server) {
		all := onStream(iggywire.StreamPermissions{ManageStream: true})
		w := newPermitted(t, server, all, nil)
		c, waiting := w.login(t), w.login(t)
		c.produce("here", 0, batch("v"))
		shows := func(what string, permissions *iggywire.Permissions, code int16) {
			t.Helper()
			w.root.Permit(w.user, permissions)
			changed := time.Now()
			until(t, what, func() bool { return c.fetchOne(part{topic: "here"}).ErrorCode == code })
			t.Logf("%s: seen after %v", what, time.Since(changed).Round(time.Millisecond))
		}
		request := fetchRequest(part{topic: "here", offset: 1})
		request.MaxWaitMillis, request.SessionEpoch = 15_000, 0
		began := time.Now()
		waiting.send(request)
		w.untilWaiting(t, 1)
		shows("permission to read taken away", nil, 29)
		told := next[*kmsg.FetchResponse](waiting)
		if got := onlyPartition(waiting, told); got.ErrorCode != 29 || got.HighWatermark != -1 || got.LogStartOffset != -1 {
			t.Errorf("waiting fetch: error %d, ends at %d", got.ErrorCode, got.HighWatermark)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("waiting fetch: told after %v", took)
		}
		again := fetchRequest()
		again.SessionID, again.SessionEpoch = told.SessionID, 1
		if got := onlyPartition(waiting, ask[*kmsg.FetchResponse](waiting, again)); told.SessionID == 0 || got.ErrorCode != 29 || got.HighWatermark != -1 {
			t.Errorf("next fetch of session %d: error %d, ends at %d", told.SessionID, got.ErrorCode, got.HighWatermark)
		}
		if got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: "here", records: batch("v")})); got.Topics[0].Partitions[0].ErrorCode != 29 {
			t.Errorf("produce: error %d", got.Topics[0].Partitions[0].ErrorCode)
		}
		shows("permission to read given", all(w.stream, w.here), 0)
	})
}

// Who may not send learns nothing from the lane: not that a batch was written before, nor that its producer is out of step.
func TestProduceWithoutPermissionSkipsTheLane(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{PollMessages: true}), nil)
	root := w.dial(t)
	root.login("iggy", "iggy")
	sequenced := func(first int32) []byte {
		return batchOf(batchForm{producer: &producer{id: 7, sequence: first}}, record{value: []byte("v")})
	}
	root.produce("here", 0, sequenced(0))
	c := w.login(t)
	for _, records := range [][]byte{sequenced(0), sequenced(5), wrongCRC(sequenced(1)), nil} {
		got := ask[*kmsg.ProduceResponse](c, produceRequest(part{topic: "here", records: records})).Topics[0].Partitions[0]
		if got.ErrorCode != 29 || got.BaseOffset != -1 || got.LogStartOffset != -1 {
			t.Errorf("error %d, offset %d, log start %d", got.ErrorCode, got.BaseOffset, got.LogStartOffset)
		}
	}
}

// With acks=0 a refusal closes the connection.
func TestUnacknowledgedProduceWithoutPermission(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{PollMessages: true}), nil)
	c := w.login(t)
	req := produceRequest(part{topic: "here", records: batch("v")})
	req.Acks = 0
	c.send(req)
	c.expectClosed()
}

// What a client may create by naming it is what it may create; the topic is its own user's doing.
func TestAutoCreationNeedsPermission(t *testing.T) {
	for _, tc := range []struct {
		name        string
		permissions func(uint32, uint32) *iggywire.Permissions
		code        int16
	}{
		{"manages the stream's topics", onStream(iggywire.StreamPermissions{ManageTopics: true}), 0},
		{"reads the stream's topics", onStream(iggywire.StreamPermissions{ReadTopics: true}), 29},
		{"sends to the stream", onStream(iggywire.StreamPermissions{SendMessages: true}), 29},
		{"manages another topic", onTopic(iggywire.TopicPermissions{ManageTopic: true}), 29},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newPermitted(t, iggytest.Start(t), tc.permissions, func(s *setup) { s.tune = func(cfg *api.Config) { cfg.AutoCreateTopics = true } })
			c := w.login(t)
			req := metadataRequest(9, "made-by-name")
			req.AllowAutoTopicCreation = true
			if got := ask[*kmsg.MetadataResponse](c, req).Topics[0].ErrorCode; got != tc.code {
				t.Errorf("error %d, want %d", got, tc.code)
			}
			ctx := t.Context()
			view, err := w.bridge.TopicsWithin(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, there := view.ByName("made-by-name"); there != (tc.code == 0) {
				t.Errorf("there: %v", there)
			}
		})
	}
}

// A topic that may not be deleted is named in the answer only to who may see it, however it was asked for.
func TestDeleteTopicsTellsNoNames(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{PollMessages: true}), nil)
	view, err := w.bridge.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	here, _ := view.ByName("here")
	beside, _ := view.ByName("beside")
	name := func(s string) *string { return &s }
	c := w.login(t)
	got := ask[*kmsg.DeleteTopicsResponse](c, deleteByID(
		kmsg.DeleteTopicsRequestTopic{TopicID: here.ID}, kmsg.DeleteTopicsRequestTopic{TopicID: beside.ID},
		kmsg.DeleteTopicsRequestTopic{Topic: name("beside")},
	))
	type told struct {
		Name string
		ID   bridge.TopicID
		Code int16
	}
	var all []told
	for _, topic := range got.Topics {
		n := "null"
		if topic.Topic != nil {
			n = *topic.Topic
		}
		all = append(all, told{n, topic.TopicID, topic.ErrorCode})
	}
	want := []told{{"here", here.ID, 29}, {"null", beside.ID, 29}, {"beside", bridge.TopicID{}, 29}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if view, err := w.bridge.TopicsWithin(t.Context(), 0); err != nil || !slices.ContainsFunc(view.Topics, func(t *bridge.Topic) bool { return t.Name == "here" }) {
		t.Error("it is gone all the same")
	}
}

// The operations that Metadata, DescribeCluster and DescribeGroups tell are the client's own (as bits, KIP-430).
func TestAuthorizedOperationsAreTheClients(t *testing.T) {
	const unset = -2147483648
	for _, tc := range []struct {
		name                         string
		permissions                  *iggywire.Permissions
		topic, missing, cluster, grp int32
	}{
		{"root", nil, 3576, 3576, 8096, 3400},
		{"nothing", &iggywire.Permissions{}, unset, unset, 0, unset},
		{"polls", &iggywire.Permissions{Global: iggywire.GlobalPermissions{PollMessages: true}}, 264, 264, 0, 1288},
		{"sends", &iggywire.Permissions{Global: iggywire.GlobalPermissions{SendMessages: true}}, 272, 272, 0, unset},
		{"reads topics and servers", &iggywire.Permissions{Global: iggywire.GlobalPermissions{ReadTopics: true, ReadServers: true}}, 1288, 1288, 1280, 1288},
		{"manages topics", &iggywire.Permissions{Global: iggywire.GlobalPermissions{ManageTopics: true}}, 3576, 3576, 0, 3400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newPermitted(t, iggytest.Start(t), func(uint32, uint32) *iggywire.Permissions { return tc.permissions }, nil)
			c := w.dial(t)
			if tc.permissions == nil {
				c.login("iggy", "iggy")
			} else {
				c.login(w.user, permissionPassword)
			}
			for version := int16(8); version <= 13; version++ {
				req := metadataRequest(version, "here", "missing")
				req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, version <= 10
				got := ask[*kmsg.MetadataResponse](c, req)
				cluster := tc.cluster
				if version > 10 {
					cluster = unset
				}
				if here, missing := got.Topics[0].AuthorizedOperations, got.Topics[1].AuthorizedOperations; here != tc.topic || missing != tc.missing || got.AuthorizedOperations != cluster {
					t.Errorf("metadata v%d: %d, %d, cluster %d", version, here, missing, got.AuthorizedOperations)
				}
			}
			cluster := kmsg.NewPtrDescribeClusterRequest()
			cluster.Version, cluster.EndpointType, cluster.IncludeClusterAuthorizedOperations = 2, 1, true
			if got := ask[*kmsg.DescribeClusterResponse](c, cluster).ClusterAuthorizedOperations; got != tc.cluster {
				t.Errorf("cluster: %d, want %d", got, tc.cluster)
			}
			groups := describeRequest(5, "group")
			groups.IncludeAuthorizedOperations = true
			if got := ask[*kmsg.DescribeGroupsResponse](c, groups).Groups[0].AuthorizedOperations; got != tc.grp {
				t.Errorf("group: %d, want %d", got, tc.grp)
			}
		})
	}
}

// A user that Iggy lets in no more is let go: its next request closes the connection, whatever it was to do.
func TestUserThatIsNoMore(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onStream(iggywire.StreamPermissions{ManageStream: true}), nil)
	c := w.login(t)
	c.produce("here", 0, batch("v"))
	w.root.Must(iggywire.UpdateUser{User: iggywire.NamedID(w.user), Status: iggywire.UserInactive})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c.send(heartbeatRequest("group", "member", 1))
		if closed(c) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still served")
		}
	}
	for deadline := time.Now().Add(patience); !w.logs.contains("cause=user_refused"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the log does not say why")
		}
	}
	if w.logs.contains("unavailable") {
		t.Error("the log says that Iggy is away")
	}
	other := w.dial(t)
	other.login("iggy", "iggy")
	if got := ask[*kmsg.MetadataResponse](other, metadataRequest(9, "here")).Topics[0].ErrorCode; got != 0 {
		t.Errorf("others: error %d", got)
	}
}

// closed says whether the connection was closed instead of an answer.
func closed(c *client) bool {
	c.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	var head [4]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return true
	}
	c.pending = c.pending[1:]
	_, err := io.CopyN(io.Discard, c.nc, int64(binary.BigEndian.Uint32(head[:])))
	return err != nil
}

// While Iggy is away nobody knows what a client may do: it is told to try again, by codes that are not final, and keeps its
// connection; when Iggy is back, it goes on.
func TestPermissionsWhileIggyIsAway(t *testing.T) {
	server := iggytest.Start(t)
	proxy, err := bridgetest.StartProxy(server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	w := newPermitted(t, server, onStream(iggywire.StreamPermissions{ManageStream: true}), func(s *setup) { s.iggyAddr = proxy.Addr() })
	c := w.login(t)
	c.produce("here", 0, batch("v"))
	u := &permissionUser{topics: map[string]string{"here": "here"}, group: "group"}
	codes := func() map[string]string {
		got := map[string]string{}
		for _, r := range []struct {
			key     kmsg.Key
			version int16
		}{
			{kmsg.Heartbeat, 4}, {kmsg.JoinGroup, 5}, {kmsg.SyncGroup, 3}, {kmsg.OffsetCommit, 8}, {kmsg.OffsetFetch, 8}, {kmsg.FindCoordinator, 3},
			{kmsg.Produce, 9}, {kmsg.Fetch, 11}, {kmsg.ListOffsets, 7}, {kmsg.Metadata, 9}, {kmsg.InitProducerID, 4},
		} {
			c.send(u.request(t, int16(r.key), "here", r.version))
			code, _, _ := strings.Cut(u.describe("here", c.receive()), "@")
			got[kmsg.NameForKey(int16(r.key))] = code
		}
		return got
	}
	proxy.Refuse(true)
	until(t, "permissions not known", func() bool {
		return ask[*kmsg.HeartbeatResponse](c, heartbeatRequest("group", "member", 1)).ErrorCode == 15
	})
	want := map[string]string{
		"Heartbeat": "15", "JoinGroup": "15", "SyncGroup": "15", "OffsetCommit": "15", "OffsetFetch": "15", "FindCoordinator": "15",
		"Produce": "6", "Fetch": "6", "ListOffsets": "6", "Metadata": "5", "InitProducerID": "14",
	}
	if diff := cmp.Diff(want, codes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	proxy.Refuse(false)
	until(t, "served again", func() bool { return c.fetchOne(part{topic: "here"}).ErrorCode == 0 })
}

// A name that collides with one of another stream, which the client may not see, is refused without saying with which.
func TestCollisionTellsNoNames(t *testing.T) {
	server := iggytest.Start(t)
	other := server.Prefix + "other"
	topicMap := fmt.Appendf(nil, "default_stream = %q\n[topics.\"se.cret\"]\nstream = %q\ntopic = \"secret\"\n", server.Prefix+"stream", other)
	names, err := bridge.ParseTopicMap(topicMap)
	if err != nil {
		t.Fatal(err)
	}
	root := server.Dial(t)
	root.NewStream(other)
	root.NewTopic(other, "secret")
	w := newPermitted(t, server, onStream(iggywire.StreamPermissions{ManageTopics: true}), func(s *setup) {
		s.bridge = func(cfg *bridge.Config) { cfg.Names = names }
	})
	c := w.login(t)
	got := ask[*kmsg.CreateTopicsResponse](c, createRequest(5, newTopicSpec("se_cret", 1, 1))).Topics[0]
	if got.ErrorCode != 17 || strings.Contains(*got.ErrorMessage, "se.cret") {
		t.Errorf("error %d, %q", got.ErrorCode, *got.ErrorMessage)
	}
}
