// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// testLateCommit: a member's commit counts when it arrives, whatever its connection has come to. A network that holds the
// bytes of a lost connection back puts the group back to it, though newer commits were made and confirmed meanwhile.
func testLateCommit(t *testing.T, target *harness.Target) {
	p := &parity{transcript: newTranscript(t, target), version: 8}
	topic := p.create("topic", 1)
	awaitCoordinator(t, p.conn, topic.name)
	m := p.stable("group", topic.name)
	lost := dialRaw(t, target)
	commit := func(offset int64) *kmsg.OffsetCommitRequest {
		req := p.commit(m.group, topic.name, offset)
		req.MemberID, req.Generation = m.id, m.generation
		return req
	}
	committed := func() int64 {
		t.Helper()
		answer := askRaw[*kmsg.OffsetFetchResponse](t, p.conn, p.committed(m.group, topic.name, 0))
		return answer.Groups[0].Topics[0].Partitions[0].Offset
	}
	if code := askRaw[*kmsg.OffsetCommitResponse](t, p.conn, commit(7)).Topics[0].Partitions[0].ErrorCode; code != 0 || committed() != 7 {
		t.Fatalf("the newer commit: code %d, then %d is committed", code, committed())
	}
	if err := lost.Send(within(t, limit), commit(3)); err != nil {
		t.Fatal(err)
	}
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	if !await(t, func() bool { return committed() == 3 }) {
		t.Errorf("%d is committed, want the 3 that came last", committed())
	}
}
