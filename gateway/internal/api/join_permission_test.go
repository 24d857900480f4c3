// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

// A member whose permission is taken away while it waits for the others is not told of them.
func TestJoinGroupWhilePermissionIsTakenAway(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{PollMessages: true}), nil)
	c, other, root := w.login(t), w.login(t), w.dial(t)
	root.login("iggy", "iggy")
	member := root.member("group", "secret-topic-of-others")
	join := joinRequest("group", "", "here")
	join.Version = 3
	c.send(join)
	root.await("group", "PreparingRebalance")
	w.root.Permit(w.user, nil)
	until(t, "permission taken away", func() bool { return other.fetchOne(part{topic: "here"}).ErrorCode == 29 })
	again := joinRequest("group", member, "secret-topic-of-others")
	again.Version = 3
	root.send(again)
	got := next[*kmsg.JoinGroupResponse](c)
	next[*kmsg.JoinGroupResponse](root)
	if got.ErrorCode != 30 {
		t.Errorf("join: error %d, %d members", got.ErrorCode, len(got.Members))
	}
}
