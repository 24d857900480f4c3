// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// A survey says of all groups what Describe and Offsets say of each, over several turns, none of which looks at much.
func TestDriverSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 250 // groups, members and offsets in a turn
		d, _ := startDriver(t, coordinator.DriverConfig{})
		ctx := t.Context()
		commit := func(group string, offsets int) {
			c := coordinator.Commit{Generation: -1}
			for p := range offsets {
				c.Offsets = append(c.Offsets, coordinator.OffsetCommit{
					TopicPartition: coordinator.TopicPartition{Topic: fmt.Sprint("t", p%3), Partition: int32(p)}, TopicID: "id", Offset: int64(p), LeaderEpoch: 4, Metadata: "m",
				})
			}
			must[coordinator.CommitResult](t)(d.Commit(ctx, group, c))
		}
		var ids []string
		for g := range 100 {
			ids = append(ids, fmt.Sprintf("g%02d", g))
			commit(ids[g], g%20+1)
		}
		commit("large", 3*most)
		a := must[coordinator.JoinResult](t)(d.Join(ctx, "members", joinAs("a")))
		must[coordinator.SyncResult](t)(d.Sync(ctx, "members", coordinator.Sync{
			MemberID: a.MemberID, Generation: 1, Assignments: []coordinator.Assignment{{MemberID: a.MemberID, Data: []byte("all")}},
		}))
		ids = append(ids, "large", "members")

		var want, got []coordinator.Surveyed
		for _, id := range ids {
			want = append(want, coordinator.Surveyed{
				ID: id, Type: coordinator.TypeClassic,
				Description: must[coordinator.Description](t)(d.Describe(ctx, id)), Offsets: must[[]coordinator.OffsetResult](t)(d.Offsets(ctx, id, nil)),
			})
		}
		for rest := append([]string{"gone"}, ids...); len(rest) > 0; {
			some, left, err := d.Survey(ctx, rest)
			if err != nil || len(left) >= len(rest) {
				t.Fatalf("%d of %d groups are left: %v", len(left), len(rest), err)
			}
			size := 0
			for _, s := range some {
				size += 1 + len(s.Members) + len(s.Offsets)
			}
			if size > most && len(some) > 1 {
				t.Errorf("a turn looked at %d groups, members and offsets", size)
			}
			got, rest = append(got, some...), left
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Groups that are not there are looked at, too: also a turn over many of those is bounded. While the state loads nothing is said.
func TestDriverSurveyOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := startDriver(t, coordinator.DriverConfig{})
		gone := make([]string, 100_000)
		some, rest, err := d.Survey(t.Context(), gone)
		if some != nil || err != nil || len(rest) == 0 || len(rest) == len(gone) {
			t.Errorf("%v, %d left, %v", some, len(rest), err)
		}
		loading, _ := startDriver(t, coordinator.DriverConfig{Store: newSlowStore()})
		some, rest, err = loading.Survey(t.Context(), gone[:3])
		wantErr(t, "while it loads", err, coordinator.ErrLoadInProgress)
		if some != nil || len(rest) != 3 {
			t.Errorf("%v, %d left", some, len(rest))
		}
	})
}

// A group that has been deleted while a commit was still being written is known until that is written, and not there: for who
// lists, describes or surveys it.
func TestDriverSurveyOfDeadGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		store.loading <- nil
		d, _ := startDriver(t, coordinator.DriverConfig{Store: store})
		ctx := t.Context()
		commit := func() func() (coordinator.CommitResult, error) {
			return await(func() (coordinator.CommitResult, error) {
				return d.Commit(ctx, "g", coordinator.Commit{Generation: -1, Offsets: offsetOf(0, 1)})
			})
		}
		first := commit()
		(<-store.writes)(nil)
		must[coordinator.CommitResult](t)(first())
		if some, _, err := d.Survey(ctx, []string{"g"}); len(some) != 1 || err != nil {
			t.Errorf("before: %v, %v", some, err)
		}
		deleted := await(func() (struct{}, error) { return struct{}{}, d.Delete(ctx, "g") })
		deletion := <-store.writes
		second := commit()
		commitment := <-store.writes
		deletion(nil)
		must[struct{}](t)(deleted())
		some, rest, err := d.Survey(ctx, []string{"g"})
		if len(some) != 0 || len(rest) != 0 || err != nil {
			t.Errorf("surveyed: %v, %v, %v", some, rest, err)
		}
		if list := must[[]coordinator.Listing](t)(d.List(ctx, coordinator.Filter{})); len(list) != 0 {
			t.Errorf("listed: %v", list)
		}
		_, err = d.Describe(ctx, "g")
		wantErr(t, "describe", err, coordinator.ErrGroupIDNotFound)
		commitment(nil)
		must[coordinator.CommitResult](t)(second())
	})
}

// Groups are listed in the order of their ids, in whichever they came.
func TestDriverListIsSorted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := startDriver(t, coordinator.DriverConfig{})
		const groups = 100
		for g := range groups {
			id := fmt.Sprintf("g%02d", (37*g)%groups)
			must[coordinator.CommitResult](t)(d.Commit(t.Context(), id, coordinator.Commit{Generation: -1, Offsets: offsetOf(0, 1)}))
		}
		list := must[[]coordinator.Listing](t)(d.List(t.Context(), coordinator.Filter{}))
		byID := func(a, b coordinator.Listing) int { return strings.Compare(a.ID, b.ID) }
		if len(list) != groups || !slices.IsSortedFunc(list, byID) {
			t.Errorf("%d groups: %v", len(list), list)
		}
	})
}
