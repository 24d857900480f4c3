// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"errors"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
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

// check is how a part of the gateway is, as /readyz says.
type check struct {
	Name, Is string
	Good     bool
}

func health(r admin.Report) []check {
	var all []check
	for _, o := range r.Outcomes {
		c := check{strings.ToUpper(o.Name[:1]) + o.Name[1:], "ok", true}
		if o.Err != nil {
			c.Is, c.Good = o.Err.Error(), false
		}
		all = append(all, c)
	}
	if r.Stopping {
		all = append(all, check{Name: "Gateway", Is: "shutting down"})
	}
	return all
}

// notice is what the reader has to know of a part of what is shown.
type notice struct {
	Of, Is string
	// Old says that the part is not of now, but of AsOf; a zero one: nothing is known of it.
	Old  bool
	AsOf time.Time
}

func notices(s *overview.Snapshot) []notice {
	var all []notice
	switch t := s.TopicsStatus; {
	case t.Err == overview.ErrTooManyPartitions:
		all = append(all, notice{Of: "Topics", Is: "there are more partitions than are shown here"})
	case t.Err != nil:
		all = append(all, notice{"Topics", "Iggy does not tell of them", true, t.AsOf})
	}
	if g := s.GroupsStatus; g.Err != nil {
		n := notice{"Groups", "not served", true, g.AsOf}
		switch {
		case errors.Is(g.Err, coordinator.ErrLoadInProgress):
			n.Is = "being loaded"
		case errors.Is(g.Err, coordinator.ErrNotCoordinator):
			n.Is = "taken over by another gateway"
		}
		all = append(all, n)
	}
	return all
}
