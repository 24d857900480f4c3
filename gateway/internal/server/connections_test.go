// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

// named is a principal.
type named string

func (n named) Name() string { return string(n) }
func (named) Release()       {}

func TestConnections(t *testing.T) {
	refuses := func(_ context.Context, conn *Conn, req *wire.Request) Pending {
		conn.SetClientSoftware("software", "1.2")
		conn.SetPrincipal(named("alice"))
		resp := req.Body.ResponseKind()
		if list, ok := resp.(*kmsg.ListGroupsResponse); ok {
			list.ErrorCode = 30
		}
		return now(NewReply(resp))
	}
	inBubble(t, testConfig(), refuses, func(f *fixture) {
		begin := time.Now()
		first := f.dial()
		defer first.Close()
		time.Sleep(time.Minute)
		second := f.dial()
		defer second.Close()
		time.Sleep(time.Minute)
		ask := func(req kmsg.Request) {
			first.send(frame(1, req))
			first.expect(1)
			synctest.Wait()
			time.Sleep(time.Minute)
		}
		ask(kmsg.NewPtrListGroupsRequest())
		ask(kmsg.NewPtrHeartbeatRequest())
		want := []ConnectionInfo{
			{
				ID: 1, Remote: f.Connections()[0].Remote, User: "alice", Since: begin, ClientID: "test", SoftwareName: "software", SoftwareVersion: "1.2", Requests: 2,
				Last: Event{Key: 12, At: begin.Add(3 * time.Minute)}, LastError: Event{Key: 16, Code: 30, At: begin.Add(2 * time.Minute)},
			},
			{ID: 2, Remote: f.Connections()[1].Remote, Since: begin.Add(time.Minute)},
		}
		if diff := cmp.Diff(want, f.Connections()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		first.Close()
		synctest.Wait()
		if got := f.Connections(); len(got) != 1 || got[0].ID != 2 {
			t.Errorf("after one has gone: %+v", got)
		}
	})
}
