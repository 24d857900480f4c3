// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"errors"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
)

// What a user sees follows the Kafka APIs: topics that he may describe (Metadata, ListOffsets), groups if he may use any and,
// of their offsets, those in topics that he may poll (OffsetFetch); connections and settings if he may read servers. Sizes are
// told to who may read servers (DescribeLogDirs) or the topic, as Iggy itself tells them then.

// visibleTopics are the topics that the user may know of.
func (q *request) visibleTopics() []overview.Topic {
	if q.access.RightsEverywhere().Any(permissions.Describe) {
		return q.snap.Topics
	}
	var visible []overview.Topic
	for _, t := range q.snap.Topics {
		if q.access.MayDescribe(t.Topic) {
			visible = append(visible, t)
		}
	}
	return visible
}

// hiddenTopics is how many topics of Iggy have names that Kafka does not allow, for who may know of all topics.
func (q *request) hiddenTopics() int {
	if q.access.RightsEverywhere().Any(permissions.Describe) {
		return q.snap.HiddenTopics
	}
	return 0
}

// seesSize says whether the user may know how large a topic is.
func (q *request) seesSize(t *overview.Topic) bool {
	return q.access.MayReadServers() || q.access.MayRead(t.Topic)
}

// visibleTopic finds a topic that the user may know of.
func (q *request) visibleTopic(name string) (*overview.Topic, bool) {
	t, ok := q.snap.Topic(name)
	return t, ok && q.access.MayDescribe(t.Topic)
}

// seesOffsetsOf says whether the user may know of offsets in a topic, be it there or not.
func (q *request) seesOffsetsOf(topic string) bool {
	if q.access.RightsEverywhere().Any(permissions.Poll) {
		return true
	}
	t, ok := q.snap.Topic(topic)
	return ok && q.access.MayPoll(t.Topic)
}

// groupRow is a group as a user sees it.
type groupRow struct {
	*overview.Group
	Offsets  []overview.Offset
	Hidden   int // offsets that he may not know of
	Lag      int64
	LagKnown bool
}

func (q *request) rowOf(g *overview.Group) groupRow {
	row := groupRow{Group: g, Offsets: g.Offsets, Lag: g.Lag, LagKnown: g.LagKnown}
	if q.access.RightsEverywhere().Any(permissions.Poll) {
		return row
	}
	row.Offsets, row.Lag, row.LagKnown = nil, 0, false
	for _, o := range g.Offsets {
		if !q.seesOffsetsOf(o.Topic) {
			row.Hidden++
			continue
		}
		row.Offsets = append(row.Offsets, o)
		if o.Lag >= 0 {
			row.Lag, row.LagKnown = row.Lag+o.Lag, true
		}
	}
	return row
}

// visibleGroups are all groups, or none.
func (q *request) visibleGroups() []groupRow {
	if !q.access.MayUseGroups() {
		return nil
	}
	groups := make([]groupRow, len(q.snap.Groups))
	for i := range q.snap.Groups {
		groups[i] = q.rowOf(&q.snap.Groups[i])
	}
	return groups
}

// check is how a part of the gateway is.
type check struct {
	Name, Is string
	Good     bool
	// AsOf is of when what is shown of the part is, if that is not now; zero: nothing is known.
	AsOf  time.Time
	Stale bool
}

// health says how the gateway is, as far as it shows in what is shown.
func (q *request) health() []check {
	iggy := check{Name: "Iggy", Is: "answers", Good: true}
	if q.page.cfg.Gateway.Iggy == "" {
		iggy.Is = "not connected, by its settings"
	}
	switch s := q.snap.TopicsStatus; {
	case errors.Is(s.Err, overview.ErrTooManyPartitions):
		iggy.Is = "has more partitions than are shown here"
	case s.Err != nil:
		iggy = check{Name: iggy.Name, Is: "does not answer", Stale: true, AsOf: s.AsOf}
	}
	groups := check{Name: "Groups", Is: "served", Good: true}
	if s := q.snap.GroupsStatus; s.Err != nil {
		groups = check{Name: groups.Name, Is: "not served", Stale: true, AsOf: s.AsOf}
		switch {
		case errors.Is(s.Err, coordinator.ErrLoadInProgress):
			groups.Is = "being loaded"
		case errors.Is(s.Err, coordinator.ErrNotCoordinator):
			groups.Is = "taken over by another gateway"
		}
	}
	all := []check{iggy, groups}
	select {
	case <-q.page.cfg.Stopping:
		all = append(all, check{Name: "Gateway", Is: "shutting down"})
	default:
	}
	return all
}
