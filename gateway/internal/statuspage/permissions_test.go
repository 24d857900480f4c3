// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// What users of Iggy see, for every single permission that Iggy has: two topics, "here" and "beside", with a group that has
// offsets in both and a member who was assigned both.
func TestPermissions(t *testing.T) {
	iggytest.Each(t, func(t *testing.T, iggy *iggytest.Server) {
		stream := iggy.Prefix + "stream"
		root := iggy.Dial(t)
		number := root.NewStream(stream).ID
		root.NewTopic(stream, "taken") // so that numbers of topics and of streams differ
		place := iggytest.Place{Stream: number, Topic: root.NewTopic(stream, "here").ID}
		root.NewTopic(stream, "beside")
		users := &directory{access: map[string]*permissions.Access{}}
		p := overIggy(t, iggy, stream, users)

		want := map[string]string{}
		for name, sees := range map[string]string{
			"nothing": "", "nothing-said": "", "manage-users": "", "read-users": "", "other-stream": "groups", "other-topic": "groups",
			"manage-servers": "clients settings", "read-servers": "clients settings",
			"manage-streams": "here here-size here-offsets beside beside-size beside-offsets groups", "read-streams": "here here-size here-offsets beside beside-size beside-offsets groups",
			"manage-topics": "here here-size here-offsets beside beside-size beside-offsets groups", "read-topics": "here here-size here-offsets beside beside-size beside-offsets groups",
			"poll": "here here-offsets beside beside-offsets groups", "send": "here beside",
			"stream.manage-stream": "here here-size here-offsets beside beside-size beside-offsets groups",
			"stream.read-stream":   "here here-size here-offsets beside beside-size beside-offsets groups",
			"stream.manage-topics": "here here-size here-offsets beside beside-size beside-offsets groups",
			"stream.read-topics":   "here here-size here-offsets beside beside-size beside-offsets groups",
			"stream.poll":          "here here-offsets beside beside-offsets groups", "stream.send": "here beside",
			"topic.manage": "here here-size here-offsets groups", "topic.read": "here here-size here-offsets groups",
			"topic.poll": "here here-offsets groups", "topic.send": "here",
		} {
			want[name] = sees
		}
		got := map[string]string{}
		for _, g := range iggytest.Grants(place) { // a user for each
			users.access[g.Name] = permissions.New(g.Permissions)
			got[g.Name] = sees(t, p, as(g.Name, g.Name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got, all := sees(t, p, as("root", "root")), want["read-topics"]+" clients settings"; got != all {
			t.Errorf("root sees %q, want %q", got, all)
		}
	})
}

// sees lists what a user is shown, and fails if pages do not agree.
func sees(t *testing.T, p *Page, login func(*http.Request)) string {
	t.Helper()
	var all []string
	note := func(what string, seen bool) {
		if seen {
			all = append(all, what)
		}
	}
	list := page(t, p, "/topics", login)
	for _, topic := range []string{"here", "beside"} {
		row := rowOf(list, topic)
		own := get(p, "/topic?name="+topic, login)
		if (own.Code == http.StatusOK) != (row != "") {
			t.Errorf("%s: listed as %q, and of its own %d", topic, row, own.Code)
		}
		note(topic, row != "")
		note(topic+"-size", strings.Contains(row, "0 B</td>"))
		group := get(p, "/group?id=readers", login).Body.String()
		offsets := rowOf(group, topic+" 0")
		note(topic+"-offsets", offsets != "")
		if named := strings.Contains(group, ">"+topic+"<"); named != (offsets != "") {
			t.Errorf("%s is named on the group's page, its offset is not", topic)
		}
		if readers := own.Code == http.StatusOK && strings.Contains(own.Body.String(), "/group?id=readers"); readers != (offsets != "") {
			t.Errorf("%s: its readers are shown: %v", topic, readers)
		}
	}
	if rowOf(list, "taken") == "" && rowOf(list, "beside") != "" {
		t.Error("not all topics of the stream are listed")
	}
	for path, what := range map[string]string{"/groups": "groups", "/group?id=readers": "", "/group?id=none": ""} {
		code := get(p, path, login).Code
		note(what, what != "" && code == http.StatusOK)
		if path == "/group?id=none" && code == http.StatusOK {
			t.Error("a group that there is not")
		}
	}
	for _, path := range []string{"/clients", "/settings"} {
		note(path[1:], get(p, path, login).Code == http.StatusOK)
	}
	front := page(t, p, "/", login)
	if strings.Contains(front, "a-client") || strings.Contains(front, ">Groups</a></dt>") != strings.Contains(strings.Join(all, " "), "groups") {
		t.Error("the first page does not agree with the others")
	}
	page(t, p, "/protocol", login)
	return strings.Join(all, " ")
}

// rowOf is the table row with that key, empty if there is none.
func rowOf(body, key string) string {
	_, row, found := strings.Cut(body, fmt.Sprintf("<tr data-key=%q>", key))
	if !found {
		return ""
	}
	row, _, _ = strings.Cut(row, "</tr>")
	return row
}

// overIggy is a page of the topics of an Iggy, for users of a directory.
func overIggy(t *testing.T, iggy *iggytest.Server, stream string, users *directory) *Page {
	t.Helper()
	b, err := bridge.Open(t.Context(), bridge.Config{Addr: iggy.Addr, Username: iggy.Username, Password: iggy.Password, Names: bridge.NewNames(stream)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b.Close(ctx)
	})
	w := newWorld(time.Now())
	w.groups = []madeUp{{"readers", coordinator.Description{
		State: coordinator.Stable, ProtocolType: "consumer", Members: []coordinator.MemberDescription{
			{MemberID: "m", ClientID: "a-client", Assignment: assignment(map[string][]int32{"here": {0}, "beside": {0}})},
		},
	}, []coordinator.OffsetResult{offset("beside", 0, 0), offset("here", 0, 0)}}}
	c := w.config(time.Now)
	c.Snapshot = overview.New(b, w).Snapshot
	t.Cleanup(users.guard(t, &c))
	return newPage(t, c)
}
