// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// What the gateway decides without Iggy, by each single permission.
func TestWhatOnlyTheGatewayDecides(t *testing.T) {
	const (
		groups  = "groups"
		sends   = "sends"
		manages = "manages-the-stream"
	)
	want := map[string]string{
		"nothing": "", "nothing-said": "",
		"manage-servers": "reads-servers manages-servers", "read-servers": "reads-servers",
		"manage-users": "reads-users", "read-users": "reads-users",
		"manage-streams": "groups sends manages-the-stream", "read-streams": groups,
		"manage-topics": "groups sends manages-the-stream", "read-topics": groups,
		"poll": groups, "send": sends,
		"stream.manage-stream": "groups sends manages-the-stream", "stream.read-stream": groups,
		"stream.manage-topics": "groups sends manages-the-stream", "stream.read-topics": groups,
		"stream.poll": groups, "stream.send": sends,
		"topic.manage": "groups sends", "topic.read": groups, "topic.poll": groups, "topic.send": sends,
		"other-stream": "groups sends", "other-topic": "groups sends",
	}
	at := iggytest.Place{Stream: 3, Topic: 5}
	got := map[string]string{}
	for _, g := range iggytest.Grants(at) {
		a := permissions.New(g.Permissions)
		var may []string
		for _, m := range []struct {
			name string
			may  bool
		}{
			{groups, a.MayUseGroups()}, {sends, a.MaySendAnywhere()}, {manages, a.MayManageTopics(at.Stream)},
			{"reads-servers", a.MayReadServers()}, {"manages-servers", a.MayManageServers()}, {"reads-users", a.MayReadUsers()},
		} {
			if m.may {
				may = append(may, m.name)
			}
		}
		got[g.Name] = strings.Join(may, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The sets of operations that Kafka calls authorized (AclEntry.supportedOperations), whole and in parts.
func TestAuthorizedOperations(t *testing.T) {
	everything := permissions.Everything()
	if got := everything.RightsEverywhere().Operations(); got != 3576 {
		t.Errorf("topic: %d", got)
	}
	if got := everything.ClusterOperations(); got != 8096 {
		t.Errorf("cluster: %d", got)
	}
	if got := everything.GroupOperations(true); got != 3400 {
		t.Errorf("group: %d", got)
	}
	const read, write, create, remove, alter, describe, action, describeConfigs, alterConfigs = 8, 16, 32, 64, 128, 256, 512, 1024, 2048
	for rights, want := range map[permissions.Rights]permissions.Operations{
		0:                                   0,
		permissions.Send:                    write | describe,
		permissions.Poll:                    read | describe,
		permissions.Poll | permissions.Read: read | describe | describeConfigs,
		permissions.Poll | permissions.Send: read | write | describe,
		permissions.Describe:                read | write | create | remove | alter | describe | describeConfigs | alterConfigs,
	} {
		if got := rights.Operations(); got != want {
			t.Errorf("rights %b: %d, want %d", rights, got, want)
		}
	}
	for _, g := range iggytest.Grants(iggytest.Place{Stream: 1, Topic: 1}) {
		cluster, group := permissions.Operations(0), permissions.Operations(0)
		switch g.Name {
		case "manage-servers":
			cluster = describe | describeConfigs | alter | alterConfigs | action
		case "read-servers":
			cluster = describe | describeConfigs
		}
		a := permissions.New(g.Permissions)
		if a.MayUseGroups() {
			group = read | describe | describeConfigs
		}
		if got := a.ClusterOperations(); got != cluster {
			t.Errorf("%s: cluster %d, want %d", g.Name, got, cluster)
		}
		if got := a.GroupOperations(false); got != group {
			t.Errorf("%s: group %d, want %d", g.Name, got, group)
		}
	}
}

// Every grant in Kafka's words, for topics in the stream and beside it.
func TestGrants(t *testing.T) {
	w := newSmallWorld(t)
	const manager = "CREATE DELETE ALTER DESCRIBE"
	want := map[string][]string{
		"nothing": nil, "nothing-said": nil, "manage-users": nil, "read-users": nil, "other-stream": {"GROUP * READ"}, "other-topic": {"GROUP * READ"},
		"manage-servers":       {"CLUSTER kafka-cluster DESCRIBE"},
		"read-servers":         {"CLUSTER kafka-cluster DESCRIBE"},
		"manage-streams":       {"TOPIC * READ WRITE " + manager, "GROUP * READ"},
		"manage-topics":        {"TOPIC * READ WRITE " + manager, "GROUP * READ"},
		"read-streams":         {"TOPIC * READ DESCRIBE", "GROUP * READ"},
		"read-topics":          {"TOPIC * READ DESCRIBE", "GROUP * READ"},
		"poll":                 {"TOPIC * READ", "GROUP * READ"},
		"send":                 {"TOPIC * WRITE"},
		"stream.manage-stream": {"TOPIC beside READ WRITE " + manager, "TOPIC here READ WRITE " + manager, "GROUP * READ"},
		"stream.manage-topics": {"TOPIC beside READ WRITE " + manager, "TOPIC here READ WRITE " + manager, "GROUP * READ"},
		"stream.read-stream":   {"TOPIC beside READ DESCRIBE", "TOPIC here READ DESCRIBE", "GROUP * READ"},
		"stream.read-topics":   {"TOPIC beside READ DESCRIBE", "TOPIC here READ DESCRIBE", "GROUP * READ"},
		"stream.poll":          {"TOPIC beside READ", "TOPIC here READ", "GROUP * READ"},
		"stream.send":          {"TOPIC beside WRITE", "TOPIC here WRITE"},
		"topic.manage":         {"TOPIC here READ WRITE " + manager, "GROUP * READ"},
		"topic.read":           {"TOPIC here READ DESCRIBE", "GROUP * READ"},
		"topic.poll":           {"TOPIC here READ", "GROUP * READ"},
		"topic.send":           {"TOPIC here WRITE"},
	}
	got := map[string][]string{}
	for _, g := range iggytest.Grants(w.topics["here"].place) {
		got[g.Name] = inWords(permissions.New(g.Permissions).Grants(w.seen()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func inWords(grants []permissions.Grant) []string {
	types := map[permissions.ResourceType]string{
		permissions.TopicResource: "TOPIC", permissions.GroupResource: "GROUP", permissions.ClusterResource: "CLUSTER",
	}
	operations := []string{3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE"}
	var out []string
	for _, g := range grants {
		words := []string{types[g.Type], g.Name}
		for op := range g.Operations.All {
			words = append(words, operations[op])
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// Filters match as those of a broker with a StandardAuthorizer were seen to (4.1.1).
func TestFilters(t *testing.T) {
	const (
		onAny, onTopic, onGroup, onUser      = 1, 2, 3, 7
		anyPattern, match, literal, prefixed = 1, 2, 3, 4
		anyOp, all, read, write              = 1, 2, 3, 4
		anyPermission, deny, allow           = 1, 2, 3
	)
	name := func(s string) *string { return &s }
	grants := []permissions.Grant{
		{Type: permissions.TopicResource, Name: "*", Operations: 1<<read | 1<<write},
		{Type: permissions.TopicResource, Name: "a", Operations: 1 << read},
		{Type: permissions.TopicResource, Name: "b", Operations: 1 << write},
		{Type: permissions.GroupResource, Name: "*", Operations: 1 << read},
	}
	whole := []string{"TOPIC * READ WRITE", "TOPIC a READ", "TOPIC b WRITE", "GROUP * READ"}
	type filter = permissions.Filter
	for i, tc := range []struct {
		filter filter
		want   []string
	}{
		{filter{onAny, nil, anyPattern, nil, anyOp, anyPermission}, whole},
		{filter{onAny, nil, match, nil, anyOp, allow}, whole},
		{filter{onAny, nil, literal, name("*"), anyOp, anyPermission}, whole},
		{filter{onTopic, nil, literal, nil, anyOp, anyPermission}, whole[:3]},
		{filter{onGroup, nil, literal, nil, anyOp, anyPermission}, whole[3:]},
		{filter{onUser, nil, literal, nil, anyOp, anyPermission}, nil},
		{filter{9, nil, literal, nil, anyOp, anyPermission}, nil},
		{filter{onTopic, name("a"), match, nil, anyOp, anyPermission}, whole[:2]},
		{filter{onAny, name("a"), match, nil, anyOp, anyPermission}, []string{whole[0], whole[1], whole[3]}},
		{filter{onTopic, name("*"), match, nil, anyOp, anyPermission}, whole[:1]},
		{filter{onTopic, name("a"), literal, nil, anyOp, anyPermission}, whole[1:2]},
		{filter{onTopic, name("a"), anyPattern, nil, anyOp, anyPermission}, whole[1:2]},
		{filter{onTopic, name("*"), anyPattern, nil, anyOp, anyPermission}, whole[:1]},
		{filter{onTopic, name("a"), prefixed, nil, anyOp, anyPermission}, nil},
		{filter{onTopic, nil, prefixed, nil, anyOp, anyPermission}, nil},
		{filter{onTopic, nil, 99, nil, anyOp, anyPermission}, nil},
		{filter{onTopic, name(""), match, nil, anyOp, anyPermission}, whole[:1]},
		{filter{onTopic, name(""), literal, nil, anyOp, anyPermission}, nil},
		{filter{onAny, nil, literal, nil, read, anyPermission}, []string{"TOPIC * READ", "TOPIC a READ", "GROUP * READ"}},
		{filter{onAny, nil, literal, nil, all, anyPermission}, nil},
		{filter{onAny, nil, literal, nil, 99, anyPermission}, nil},
		{filter{onAny, nil, literal, nil, -1, anyPermission}, nil},
		{filter{onAny, nil, literal, nil, anyOp, deny}, nil},
		{filter{onAny, nil, literal, nil, anyOp, 99}, nil},
		{filter{onAny, nil, literal, name("127.0.0.1"), anyOp, anyPermission}, nil},
	} {
		if diff := cmp.Diff(tc.want, inWords(tc.filter.Apply(grants))); diff != "" {
			t.Errorf("%d (-want +got):\n%s", i, diff)
		}
		if tc.filter.Unknown() {
			t.Errorf("%d: unknown", i)
		}
	}
	for _, f := range []filter{
		{0, nil, literal, nil, anyOp, anyPermission}, {onAny, nil, 0, nil, anyOp, anyPermission},
		{onAny, nil, literal, nil, 0, anyPermission}, {onAny, nil, literal, nil, anyOp, 0},
	} {
		if !f.Unknown() {
			t.Errorf("%+v: known", f)
		}
	}
}

// Permissions come from outside, and may name a stream or a topic twice, in any order.
func TestRepeatedEntries(t *testing.T) {
	w := newSmallWorld(t)
	here := w.topics["here"].place
	a := permissions.New(repeated(here))
	if got := a.Rights(w.topics["here"].seen); got != permissions.Poll|permissions.Send {
		t.Errorf("rights %b", got)
	}
	if diff := cmp.Diff([]string{"TOPIC here READ WRITE", "GROUP * READ"}, inWords(a.Grants(w.seen()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Handlers ask for every topic of every request.
func TestRightsAllocateNothing(t *testing.T) {
	w := newSmallWorld(t)
	at := w.topics["here"]
	for _, g := range iggytest.Grants(at.place) {
		a := permissions.New(g.Permissions)
		if n := testing.AllocsPerRun(100, func() { a.Rights(at.seen) }); n != 0 {
			t.Errorf("%s: %v allocations", g.Name, n)
		}
	}
}
