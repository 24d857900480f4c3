// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

type groupsPage struct {
	List   *listing
	Groups []groupRow
	States []stateChoice
	// Unknown says that it never could be learnt which there are.
	Unknown bool
}

// stateChoice is a state with how many groups are in it, and the link that shows only them.
type stateChoice struct {
	Name   string // empty: all
	Count  int
	Link   string
	Chosen bool
}

// maxLinked is the longest id of a group, in bytes, that has a page of its own: clients may make ids of 32 KiB, which no
// address can have.
const maxLinked = 1 << 10

// Link is the address of the group's own page, empty if it can have none.
func (g groupRow) Link() string {
	if len(g.ID) > maxLinked {
		return ""
	}
	return "/group?" + url.Values{"id": {g.ID}}.Encode()
}

// Name is the group's id, shortened, or what stands for it where it is empty, as Kafka allows.
func (g groupRow) Name() string { return cmp.Or(brief(g.ID), "(empty id)") }

func (groupsPage) template() string { return "groups" }
func (groupsPage) title() string    { return "Groups" }

func (p *Page) groups(q *request) (body, error) {
	if !q.access.MayUseGroups() {
		return nil, errForbidden
	}
	all := q.visibleGroups()
	state, counts := q.URL.Query().Get("state"), map[string]int{}
	var rows []groupRow
	for _, g := range all {
		counts[g.State]++
		if state == "" || g.State == state {
			rows = append(rows, g)
		}
	}
	out := groupsPage{Unknown: q.snap.GroupsStatus.AsOf.IsZero()}
	out.Groups, out.List = list(q, rows, func(g *groupRow, search string) bool { return strings.Contains(strings.ToLower(g.ID), search) },
		[]column[groupRow]{
			by("id", func(g *groupRow) string { return g.ID }),
			by("state", func(g *groupRow) string { return g.State }),
			by("members", func(g *groupRow) int { return len(g.Members) }),
			by("offsets", func(g *groupRow) int { return len(g.Offsets) }),
			by("lag", func(g *groupRow) int64 {
				if !g.LagKnown {
					return -1
				}
				return g.Lag
			}),
		})
	out.List.keep("state", state)
	out.States = []stateChoice{{"", len(all), out.List.link("state", ""), state == ""}}
	for _, c := range byCount(counts) {
		out.States = append(out.States, stateChoice{c.Name, c.Count, out.List.link("state", c.Name), state == c.Name})
	}
	return out, nil
}

type groupPage struct {
	Group   groupRow
	Members []memberRow
	// MoreMembers is how many there are beyond those.
	MoreMembers int
	List        *listing
	Offsets     []offsetRow
}

type memberRow struct {
	*overview.Member
	Assigned []assignedTopic
	// Unread says that what was assigned cannot be read, Elsewhere how many partitions of topics are assigned that the user may
	// not know of.
	Unread    bool
	Elsewhere int
	Count     int
}

type assignedTopic struct {
	Topic, Link string // Link is empty where there is no such topic
	Partitions  []int32
}

type offsetRow struct {
	overview.Offset
	Link  string // the topic's; empty where there is none
	Owner string // the client id of the member that has the partition; empty: none has
	Share int    // of the partition's offsets, how many lie behind the committed one: percent
}

func (groupPage) template() string { return "group" }
func (g groupPage) title() string  { return "Group " + g.Group.Name() }

func (p *Page) group(q *request) (body, error) {
	if !q.access.MayUseGroups() {
		return nil, errForbidden
	}
	id := q.URL.Query().Get("id")
	g, ok := q.snap.Group(id)
	if !ok {
		return nil, errNotFound
	}
	out := groupPage{Group: q.rowOf(g)}
	type place struct {
		topic     string
		partition int32
	}
	owners := map[place]string{}
	for i := range g.Members {
		m := q.member(&g.Members[i])
		for _, a := range m.Assigned {
			for _, partition := range a.Partitions {
				owners[place{a.Topic, partition}] = m.ClientID
			}
		}
		if i < maxRows {
			out.Members = append(out.Members, m)
		}
	}
	out.MoreMembers = len(g.Members) - len(out.Members)
	slices.SortStableFunc(out.Members, func(a, b memberRow) int { return strings.Compare(a.ClientID, b.ClientID) })

	rows := make([]offsetRow, len(out.Group.Offsets))
	for i, o := range out.Group.Offsets {
		rows[i] = offsetRow{Offset: o, Link: q.linkTo(o.Topic), Owner: owners[place{o.Topic, o.Partition}], Share: behind(o)}
	}
	out.Offsets, out.List = list(q, rows, func(o *offsetRow, search string) bool { return strings.Contains(strings.ToLower(o.Topic), search) },
		[]column[offsetRow]{
			{"topic", func(a, b *offsetRow) int { return compareOffsets(&a.Offset, &b.Offset) }},
			by("committed", func(o *offsetRow) int64 { return o.Committed }),
			by("end", func(o *offsetRow) int64 { return o.End }),
			by("lag", func(o *offsetRow) int64 { return o.Lag }),
			by("owner", func(o *offsetRow) string { return o.Owner }),
		})
	out.List.keep("id", id)
	return out, nil
}

func compareOffsets(a, b *overview.Offset) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return int(a.Partition) - int(b.Partition)
}

// Address is where a member is, without the slash that Java puts before it.
func (m memberRow) Address() string { return strings.TrimPrefix(m.Host, "/") }

// member is a member as the user may see it.
func (q *request) member(m *overview.Member) memberRow {
	row := memberRow{Member: m}
	assigned, ok := m.Assigned()
	row.Unread = !ok
	for _, a := range assigned {
		row.Count += len(a.Partitions)
		if q.seesOffsetsOf(a.Topic) {
			row.Assigned = append(row.Assigned, assignedTopic{a.Topic, q.linkTo(a.Topic), a.Partitions})
		} else {
			row.Elsewhere += len(a.Partitions)
		}
	}
	return row
}

// linkTo is the address of a topic's page, empty where there is none to see.
func (q *request) linkTo(topic string) string {
	if _, ok := q.visibleTopic(topic); ok {
		return topicLink(topic)
	}
	return ""
}

// behind is how much of a partition a group has yet to read, in percent; any at all is one at least.
func behind(o overview.Offset) int {
	if o.Lag <= 0 {
		return 0
	}
	kept := o.End - o.Start
	if kept <= 0 || o.Lag >= kept {
		return 100
	}
	return max(int(float64(o.Lag)/float64(kept)*100), 1)
}
