// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

// A member whose permission is taken away while it waits for the others is not told of them.
func TestJoinGroupWhilePermissionIsTakenAway(t *testing.T) {
	w := newPermitted(t, iggytest.Start(t), onTopic(iggywire.TopicPermissions{PollMessages: true}), func(s *setup) {
		s.groups = func(cfg *coordinator.Config) { cfg.InitialRebalanceDelay = 3 * time.Second }
	})
	c, root := w.login(t), w.dial(t)
	root.login("iggy", "iggy")
	join := joinRequest("group", "", "here")
	join.Version = 3
	c.send(join)
	time.Sleep(100 * time.Millisecond)
	other := joinRequest("group", "", "secret-topic-of-others")
	other.Version = 3
	root.send(other)
	w.root.Permit(w.user, nil)
	got := next[*kmsg.JoinGroupResponse](c)
	next[*kmsg.JoinGroupResponse](root)
	if got.ErrorCode != 30 {
		t.Errorf("join: error %d, %d members", got.ErrorCode, len(got.Members))
	}
}
