// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

// Groups may be those of before, with a topic that was made anew meanwhile and has fewer partitions.
func TestGroupsOlderThanTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Now())
		p := newPage(t, w.config(time.Now))
		for i := range w.groups {
			w.groups[i].offsets = append(w.groups[i].offsets, offset("orders", 1, 150))
		}
		before := rowOf(page(t, p, "/group?id=nightly"), "orders 1")
		w.coordinator = coordinator.ErrNotCoordinator
		w.topic("orders", 0, 5).ID[15]++
		time.Sleep(time.Minute)
		if after := rowOf(page(t, p, "/group?id=nightly"), "orders 1"); after != before || after == "" {
			t.Errorf("%s\nwas\n%s", after, before)
		}
	})
}

func TestBehind(t *testing.T) {
	for want, o := range map[int]overview.Offset{
		0: {Start: 0, End: 100, Lag: 0}, 1: {Start: 0, End: 1000, Lag: 1}, 50: {Start: 100, End: 200, Lag: 50}, 100: {Start: 100, End: 200, Lag: 150},
	} {
		if got := behind(o); got != want {
			t.Errorf("%+v: %d, want %d", o, got, want)
		}
	}
	if got := behind(overview.Offset{Start: -1, End: -1, Lag: -1}); got != 0 {
		t.Errorf("not known: %d", got)
	}
}

// What clients call themselves, and how many of them do, does not make a page large.
func TestManyKindsOfSoftware(t *testing.T) {
	w := newWorld(time.Now())
	w.conns = nil
	for i := range 1024 {
		w.conns = append(w.conns, server.ConnectionInfo{ID: uint64(i), SoftwareName: fmt.Sprint(i, strings.Repeat("x", 60<<10)), SoftwareVersion: "1"})
	}
	body := page(t, newPage(t, w.config(time.Now)), "/")
	if len(body) > 64<<10 {
		t.Errorf("%d bytes", len(body))
	}
	for _, want := range []string{"1,024 kinds of software", `<span class="quiet">others</span> <b>1,004</b>`} {
		if !strings.Contains(body, want) {
			t.Errorf("does not say %q", want)
		}
	}
}

// Ids of 32 KiB are shown by how they begin, and pages stay small.
func TestLongIDs(t *testing.T) {
	w := newWorld(time.Now())
	w.groups = nil
	for _, name := range numbered("group", maxRows) {
		id := name + strings.Repeat("é", 15<<10)
		w.groups = append(w.groups, madeUp{id, coordinator.Description{State: coordinator.Empty}, []coordinator.OffsetResult{offset("orders", 0, 1)}})
	}
	var members []coordinator.MemberDescription
	for _, name := range numbered("member", 50) {
		long := name + strings.Repeat("x", 30<<10)
		members = append(members, coordinator.MemberDescription{MemberID: long, InstanceID: long, ClientID: long, ClientHost: "/::1"})
	}
	w.groups = append(w.groups, madeUp{"members", coordinator.Description{State: coordinator.Stable, ProtocolType: "consumer", Members: members}, nil})
	p := newPage(t, w.config(time.Now))
	for _, path := range []string{"/groups?rows=1000", "/topic?name=orders", "/group?id=members", "/"} {
		body := page(t, p, path)
		if len(body) > 1<<20 {
			t.Errorf("%s: %d bytes", path, len(body))
		}
		if path != "/group?id=members" && !strings.Contains(body, "… (30.0 KiB)") {
			t.Errorf("%s: does not say how long an id is", path)
		}
	}
}

// A page that would be too large all the same is not sent.
func TestTooLarge(t *testing.T) {
	w := newWorld(time.Now())
	w.groups = nil
	var members []coordinator.MemberDescription
	for _, name := range numbered("member", 100) {
		topics := map[string][]int32{}
		for _, topic := range numbered("topic", 2000) {
			topics[topic] = []int32{0}
		}
		members = append(members, coordinator.MemberDescription{MemberID: name, Assignment: assignment(topics)})
	}
	w.groups = []madeUp{{"many", coordinator.Description{State: coordinator.Stable, ProtocolType: "consumer", Members: members}, nil}}
	body := wantStatus(t, newPage(t, w.config(time.Now)), http.StatusInternalServerError, "/group?id=many").Body.String()
	if !strings.Contains(body, "<h1>Too large</h1>") {
		t.Errorf("%d bytes", len(body))
	}
}

// One page too many is refused; what pages are made of is there for all.
func TestTooManyPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		c := newWorld(time.Now()).config(time.Now)
		look := c.Snapshot
		c.Snapshot = func(ctx context.Context) (*overview.Snapshot, error) {
			<-end
			return look(ctx)
		}
		p := newPage(t, c)
		for range maxPages {
			go get(p, "/")
		}
		synctest.Wait()
		if w := wantStatus(t, p, http.StatusServiceUnavailable, "/"); w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "Too many readers") {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
		page(t, p, p.assets.Style)
		close(end)
		synctest.Wait()
		page(t, p, "/")
	})
}

// What never could be learnt is not taken for nothing.
func TestNothingKnown(t *testing.T) {
	w := newWorld(time.Now())
	w.iggy, w.coordinator = errors.New("refused"), coordinator.ErrLoadInProgress
	p := newPage(t, w.config(time.Now))
	for path, want := range map[string]string{
		"/":       "<dd>–</dd><dd>not known yet</dd>",
		"/topics": "It is not known which topics there are.",
		"/groups": "It is not known which groups there are.",
	} {
		body := page(t, p, path)
		if !strings.Contains(body, want) || strings.Contains(body, "There are no") {
			t.Errorf("%s: does not say %q", path, want)
		}
		if !strings.Contains(body, "<b>Iggy</b> does not answer") || !strings.Contains(body, "<b>Consumer groups</b> loading") || !strings.Contains(body, "Nothing is known of them yet") {
			t.Errorf("%s: does not say why", path)
		}
	}
}

// Bytes a second tell how large a topic is, and so only who may know that sees them.
func TestBytesPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Now())
		c := w.config(time.Now)
		poll, read := &iggywire.Permissions{}, &iggywire.Permissions{}
		poll.Global.PollMessages, read.Global.ReadTopics = true, true
		users := &directory{access: map[string]*permissions.Access{"polls": permissions.New(poll), "reads": permissions.New(read)}}
		defer users.guard(t, &c)()
		p := newPage(t, c)
		page(t, p, "/", as("reads", "reads"))
		time.Sleep(10 * time.Second)
		w.topic("orders", 0, 1_205_551, 200, 1_100_005, 0, 0)
		for _, path := range []string{"/", "/topics", "/topic?name=orders"} {
			for user, want := range map[string]bool{"polls": false, "reads": true} {
				if got := strings.Contains(page(t, p, path, as(user, user)), "B/s<"); got != want {
					t.Errorf("%s of who %s: bytes a second are shown: %v", path, user, got)
				}
			}
		}
	})
}

func TestRoutine(t *testing.T) {
	for want, codes := range map[bool][]*kerr.Error{
		true:  {kerr.MemberIDRequired, kerr.RebalanceInProgress, kerr.FetchSessionIDNotFound},
		false: {kerr.UnknownServerError, kerr.NotLeaderForPartition, kerr.TopicAuthorizationFailed},
	} {
		for _, e := range codes {
			if routine(e.Code) != want {
				t.Errorf("%s: %v", e.Message, !want)
			}
		}
	}
}
