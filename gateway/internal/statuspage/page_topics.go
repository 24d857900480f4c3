// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"net/url"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
)

type topicsPage struct {
	List   *listing
	Topics []topicRow
	Hidden int
	// Unknown says that it never could be learnt which there are.
	Unknown bool
}

type topicRow struct {
	*overview.Topic
	SeesSize bool
}

func (topicsPage) template() string { return "topics" }
func (topicsPage) title() string    { return "Topics" }

// Link is the address of the topic's own page.
func (t topicRow) Link() string { return topicLink(t.Name) }

func topicLink(name string) string { return "/topic?" + url.Values{"name": {name}}.Encode() }

func (p *Page) topics(q *request) (body, error) {
	visible := q.visibleTopics()
	rows := make([]topicRow, len(visible))
	for i := range visible {
		rows[i] = topicRow{&visible[i], q.seesSize(&visible[i])}
	}
	out := topicsPage{Hidden: q.hiddenTopics(), Unknown: q.snap.TopicsStatus.AsOf.IsZero()}
	out.Topics, out.List = list(q, rows, func(t *topicRow, search string) bool { return strings.Contains(strings.ToLower(t.Name), search) },
		[]column[topicRow]{
			by("name", func(t *topicRow) string { return t.Name }),
			by("partitions", func(t *topicRow) int32 { return t.Topic.Topic.Partitions }),
			by("messages", func(t *topicRow) int64 { return t.Messages }),
			by("size", func(t *topicRow) int64 {
				if !t.SeesSize {
					return -1
				}
				return t.Size
			}),
			by("rate", func(t *topicRow) float64 { return t.Rate.Messages }),
		})
	return out, nil
}

type topicPage struct {
	Topic     topicRow
	Retention string
	Limit     string
	List      *listing
	Rows      []partitionRow
	// Readers are the groups that have committed offsets in the topic, and MoreReaders how many there are beyond those.
	Readers     []reader
	MoreReaders int
	SeesGroups  bool
}

type partitionRow struct {
	overview.Partition
	Number   int
	SeesSize bool
}

// reader is a group with what it has of a topic.
type reader struct {
	groupRow
	Partitions int
	TopicLag   int64
	Known      bool
}

func (topicPage) template() string { return "topic" }
func (t topicPage) title() string  { return "Topic " + t.Topic.Name }

func (p *Page) topic(q *request) (body, error) {
	name := q.URL.Query().Get("name")
	t, ok := q.visibleTopic(name)
	if !ok {
		return nil, errNotFound
	}
	out := topicPage{Topic: topicRow{t, q.seesSize(t)}, Retention: retention(t.MessageExpiry), Limit: limit(t.MaxSize), SeesGroups: q.access.MayUseGroups()}
	rows := make([]partitionRow, len(t.Partitions))
	for i := range rows {
		rows[i] = partitionRow{t.Partitions[i], i, out.Topic.SeesSize}
	}
	out.Rows, out.List = list(q, rows, nothing, []column[partitionRow]{
		by("partition", func(p *partitionRow) int { return p.Number }),
		by("start", func(p *partitionRow) int64 { return p.Start }),
		by("end", func(p *partitionRow) int64 { return p.End }),
		by("messages", func(p *partitionRow) int64 { return p.Messages() }),
		by("size", func(p *partitionRow) int64 {
			if !p.SeesSize {
				return -1
			}
			return p.Size
		}),
		by("rate", func(p *partitionRow) float64 { return p.Rate.Messages }),
	})
	out.List.keep("name", name)
	readers := q.readers(name)
	out.Readers = readers[:min(len(readers), maxRows)]
	out.MoreReaders = len(readers) - len(out.Readers)
	return out, nil
}

// nothing is the search of tables that cannot be searched.
func nothing[T any](*T, string) bool { return true }

// readers are the groups that have offsets in a topic, as far as the user may know.
func (q *request) readers(topic string) []reader {
	if !q.access.MayUseGroups() || !q.seesOffsetsOf(topic) {
		return nil
	}
	var readers []reader
	for i := range q.snap.Groups {
		g := &q.snap.Groups[i]
		r := reader{groupRow: groupRow{Group: g}}
		for _, o := range g.Offsets {
			if o.Topic != topic {
				continue
			}
			r.Partitions++
			if o.Lag >= 0 {
				r.TopicLag, r.Known = r.TopicLag+o.Lag, true
			}
		}
		if r.Partitions > 0 {
			readers = append(readers, r)
		}
	}
	return readers
}

// retention is for how long messages are kept, in words; micros is as Iggy says it.
func retention(micros uint64) string {
	switch micros {
	case iggywire.ServerDefault:
		return "as Iggy is set up"
	case iggywire.NeverExpire:
		return "for ever"
	}
	const longest = 1 << 53 // µs, some 285 years: beyond it a duration overflows
	return "for " + span(time.Duration(min(micros, longest))*time.Microsecond)
}

// limit is how large the topic may become, in words.
func limit(bytes uint64) string {
	switch bytes {
	case iggywire.ServerDefault:
		return "as Iggy is set up"
	case iggywire.UnlimitedSize:
		return "unlimited"
	}
	return bytesIn(float64(bytes))
}
