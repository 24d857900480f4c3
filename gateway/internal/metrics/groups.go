// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

// maxGroupID is the longest id, in bytes, of a group that a scrape tells of: clients may make ids of 32 KiB, and each series has
// it again. Iggy has no name that is longer than 255.
const maxGroupID = 256

// MaxGroupSeries is how many series about groups, one for each group and one for each partition that it has committed an offset
// for, a scrape tells at most: clients make groups as they like. The groups that come first by name have theirs, whole or not at
// all, and not with an id of more than 256 bytes; what is left out is counted.
const MaxGroupSeries = 10_000

// groupStates are those that ListGroups knows of groups that exist.
func groupStates() []coordinator.State {
	return []coordinator.State{coordinator.Empty, coordinator.PreparingRebalance, coordinator.CompletingRebalance, coordinator.Stable}
}

// Groups tells of consumer groups, by a snapshot.
func Groups(look func(context.Context) (*overview.Snapshot, error)) Source {
	return func(ctx context.Context, e emitter, f *families) { collectGroups(ctx, e, f, look) }
}

func collectGroups(ctx context.Context, e emitter, f *families, look func(context.Context) (*overview.Snapshot, error)) {
	s, err := look(ctx)
	if err != nil || s.GroupsStatus.AsOf.IsZero() {
		return // nothing is known
	}
	asOf := s.GroupsStatus.AsOf
	if s.TopicsStatus.AsOf.Before(asOf) {
		asOf = s.TopicsStatus.AsOf
	}
	if !asOf.IsZero() {
		e.put(f.snapshotAge, time.Since(asOf).Seconds())
	}
	states := map[string]int{}
	told, omitted := 0, 0
	for i := range s.Groups {
		g := &s.Groups[i]
		states[g.State]++
		n := 1 + len(g.Offsets)
		if told+n > MaxGroupSeries || len(g.ID) > maxGroupID || !utf8.ValidString(g.ID) { // the library takes no other text
			omitted += n
			continue
		}
		told += n
		e.put(f.members, float64(len(g.Members)), g.ID, g.State)
		for _, o := range g.Offsets {
			if o.Lag >= 0 && utf8.ValidString(o.Topic) {
				e.put(f.lag, float64(o.Lag), g.ID, o.Topic, strconv.Itoa(int(o.Partition)))
			}
		}
	}
	e.put(f.omitted, float64(omitted))
	for _, state := range groupStates() {
		e.put(f.groups, float64(states[state.String()]), state.String())
	}
}
