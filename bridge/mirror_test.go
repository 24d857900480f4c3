// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// groupScript answers commands about groups with the statuses that a test wants, and notes which came.
type groupScript struct {
	members  int // of the group; below 0 there is no such group
	statuses map[string]iggywire.Status
	asked    []string
}

func (g *groupScript) answer(code iggywire.Code, body []byte) (iggywire.Status, []byte) {
	var command string
	var found []byte
	switch code {
	case iggywire.CodeGetGroup:
		command = "get"
		if g.members >= 0 {
			found = iggywire.GroupDetails{Group: iggywire.Group{ID: 1, Members: uint32(g.members), Name: "g"}}.AppendTo(nil)
		}
	case iggywire.CodeCreateGroup:
		command = "create"
	case iggywire.CodeJoinGroup:
		command = "join"
	case iggywire.CodeLeaveGroup:
		command = "leave"
	case iggywire.CodeStoreOffset:
		req, err := iggywire.ParseStoreOffset(body)
		command = fmt.Sprintf("%d@%d", req.Offset, req.Partition)
		if err != nil || req.Consumer.Kind != iggywire.ConsumerGroup || !req.HasPartition {
			command = "a malformed store"
		}
	default:
		return iggywire.StatusOK, nil
	}
	g.asked = append(g.asked, command)
	if status, ok := g.statuses[command]; ok {
		return status, nil
	}
	return iggywire.StatusOK, found
}

// inGroups runs a test of native groups in synctest's time.
func inGroups(t *testing.T, script *groupScript, run func(t *testing.T, f *fakeIggy, b *Bridge, groups *NativeGroups)) {
	t.Helper()
	inBubble(t, nil, func(t *testing.T, f *fakeIggy, b *Bridge) {
		f.other = script.answer
		groups := b.NativeGroups()
		defer groups.Close(t.Context())
		run(t, f, b, groups)
	})
}

// What is asked of Iggy for three offsets of a group, and what the caller learns. Whoever has joined leaves, however it went.
func TestNativeGroupsStore(t *testing.T) {
	const whole = "join 5@0 6@1 7@2 leave"
	for _, tc := range []struct {
		name     string
		members  int
		statuses map[string]iggywire.Status
		asked    string
		want     error // of this package, or a status
	}{
		{"no such group", -1, nil, "get create " + whole, nil},
		{"made by somebody else meanwhile", -1, map[string]iggywire.Status{"create": iggywire.StatusGroupExists}, "get create " + whole, nil},
		{"group without members", 0, nil, "get " + whole, nil},
		{"group with a member", 1, nil, "get", ErrGroupInUse},
		{"past the last message", 0, map[string]iggywire.Status{"5@0": iggywire.StatusInvalidOffset}, "get " + whole, nil},
		{"somebody joins meanwhile", 0, map[string]iggywire.Status{"6@1": iggywire.StatusNotResolvedConsumer}, "get join 5@0 6@1 leave", ErrGroupInUse},
		{"get refused", 0, map[string]iggywire.Status{"get": iggywire.StatusUnauthorized}, "get", iggywire.StatusUnauthorized},
		{"create refused", -1, map[string]iggywire.Status{"create": iggywire.StatusUnauthorized}, "get create", iggywire.StatusUnauthorized},
		{"join refused", 0, map[string]iggywire.Status{"join": iggywire.StatusUnauthorized}, "get join", iggywire.StatusUnauthorized},
		{"store refused", 0, map[string]iggywire.Status{"6@1": iggywire.StatusPartitionNotFound}, "get join 5@0 6@1 leave", iggywire.StatusPartitionNotFound},
		{"leave refused", 0, map[string]iggywire.Status{"leave": iggywire.StatusGroupMemberNotFound}, "get " + whole, iggywire.StatusGroupMemberNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := &groupScript{members: tc.members, statuses: tc.statuses}
			inGroups(t, script, func(t *testing.T, _ *fakeIggy, b *Bridge, groups *NativeGroups) {
				err := groups.Store(t.Context(), topic(t, b, "orders", 3), "g", []GroupOffset{{0, 5}, {1, 6}, {2, 7}})
				status, refused := tc.want.(iggywire.Status)
				if refused && !hasStatus(err, status) || !refused && !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
				if asked := strings.Join(script.asked, " "); asked != tc.asked {
					t.Errorf("asked %s, want %s", asked, tc.asked)
				}
			})
		})
	}
}

// Offsets are the topic's that they were committed for: one that is gone, or was made anew, gets none.
func TestNativeGroupsOfAnotherTopic(t *testing.T) {
	for _, again := range []bool{false, true} {
		script := &groupScript{}
		inGroups(t, script, func(t *testing.T, _ *fakeIggy, b *Bridge, groups *NativeGroups) {
			old := topic(t, b, "orders", 1)
			if err := b.DeleteTopic(t.Context(), b.Self(), old); err != nil {
				t.Fatal(err)
			}
			if again {
				topic(t, b, "orders", 1)
			}
			if err := groups.Store(t.Context(), old, "g", []GroupOffset{{0, 5}}); !errors.Is(err, ErrTopicNotFound) {
				t.Errorf("made anew %v: %v", again, err)
			}
			if len(script.asked) != 0 {
				t.Errorf("made anew %v: asked %v", again, script.asked)
			}
		})
	}
}

// A store that gets no answer ends with its caller's time. The group is left all the same: on a new connection, or with the
// one that is silent and given up.
func TestNativeGroupsWithoutAnswer(t *testing.T) {
	for what, want := range map[fault]error{
		hang: context.DeadlineExceeded, dropBefore: ErrConnectionLost, dropAfter: ErrConnectionLost, garbage: ErrMalformed,
	} {
		script := &groupScript{}
		inGroups(t, script, func(t *testing.T, f *fakeIggy, b *Bridge, groups *NativeGroups) {
			orders := topic(t, b, "orders", 1)
			f.once(iggywire.CodeStoreOffset, what)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			err := groups.Store(ctx, orders, "g", []GroupOffset{{0, 5}})
			if took := time.Since(began); !errors.Is(err, want) || took > 3*time.Second+leaveTime {
				t.Errorf("fault %d: %v after %v", what, err, took)
			}
			if left := slices.Contains(script.asked, "leave"); left == (what == hang) {
				t.Errorf("fault %d: asked %v", what, script.asked)
			}
			if err := groups.Store(t.Context(), orders, "g", []GroupOffset{{0, 6}}); err != nil {
				t.Errorf("fault %d: the next store: %v", what, err)
			}
		})
	}
}
