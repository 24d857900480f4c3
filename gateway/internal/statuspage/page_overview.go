// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"cmp"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

// leaders is how many topics and groups stand out on the first page.
const leaders = 5

type overviewPage struct {
	// Topics and what follows are without the internal ones.
	Topics, Partitions int
	Internal           int
	Messages, Size     int64
	SeesSizes          bool
	Rate               overview.Rate
	HiddenTopics       int
	// TopicsUnknown and GroupsUnknown say that it never could be learnt which there are.
	TopicsUnknown, GroupsUnknown bool

	Groups, Members int
	States          []counted
	Lag             int64
	LagKnown        bool

	Clients  int
	Software inventory

	Busiest []topicRow // by messages a second
	Lagging []groupRow // by lag
}

// counted is something with how many there are of it.
type counted struct {
	Name  string
	Count int
}

func (overviewPage) template() string { return "overview" }
func (overviewPage) title() string    { return "Overview" }

func (p *Page) overview(q *request) (body, error) {
	out := overviewPage{
		SeesSizes: true, HiddenTopics: q.hiddenTopics(),
		TopicsUnknown: q.snap.TopicsStatus.AsOf.IsZero(), GroupsUnknown: q.snap.GroupsStatus.AsOf.IsZero(),
	}
	var topics []topicRow
	visible := q.visibleTopics()
	for i := range visible {
		t := &visible[i]
		if t.Internal {
			out.Internal++
			continue
		}
		row := topicRow{t, q.seesSize(t)}
		topics = append(topics, row)
		out.Partitions += int(t.Topic.Partitions)
		out.Messages += t.Messages
		out.SeesSizes = out.SeesSizes && row.SeesSize
		out.Size += t.Size
		out.Rate.Known = out.Rate.Known || t.Rate.Known
		out.Rate.Messages += t.Rate.Messages
		out.Rate.Bytes += t.Rate.Bytes
	}
	out.Topics = len(topics)
	out.Busiest = leading(topics, func(t *topicRow) float64 { return t.Rate.Messages })

	groups := q.visibleGroups()
	out.Groups = len(groups)
	states := map[string]int{}
	for i := range groups {
		g := &groups[i]
		states[g.State]++
		out.Members += len(g.Members)
		out.Lag += g.Lag
		out.LagKnown = out.LagKnown || g.LagKnown
	}
	out.States = byCount(states)
	out.Lagging = leading(groups, func(g *groupRow) int64 { return g.Lag })

	if q.access.MayReadServers() {
		conns := p.cfg.Connections()
		out.Clients = len(conns)
		out.Software = software(conns)
	}
	return out, nil
}

// leading are the largest of those that are larger than nothing.
func leading[T any, K int64 | float64](all []T, size func(*T) K) []T {
	var chosen []T
	for i := range all {
		if size(&all[i]) > 0 {
			chosen = append(chosen, all[i])
		}
	}
	slices.SortStableFunc(chosen, func(a, b T) int { return cmp.Compare(size(&b), size(&a)) })
	return chosen[:min(len(chosen), leaders)]
}

// byCount lists what was counted, the most frequent first.
func byCount(counts map[string]int) []counted {
	all := make([]counted, 0, len(counts))
	for name, n := range counts {
		all = append(all, counted{name, n})
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return all
}
