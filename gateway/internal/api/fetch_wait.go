// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

const (
	// quietAge is how long a partition without news may go unasked while others are read.
	quietAge = 100 * time.Millisecond

	// askTimeout is the least time that a fetch gives Iggy to say where partitions end, however short its wait.
	askTimeout = 2 * time.Second
	// askTogether is how many topics one request asks about at a time.
	askTogether = 8

	// recheckEvery is how often a fetch that waits looks whether its client may still read: with the age that permissions
	// may have, what is taken away shows within a second.
	recheckEvery = 200 * time.Millisecond
)

// await returns when there is enough to answer, the client's patience is over, or the connection is.
func (f *fetchRun) await(ctx context.Context) error {
	if f.enough() {
		return ctx.Err()
	}
	// The watch begins before the question: what is written in between is noticed.
	watch := f.api.Bridge.Watch(f.watched())
	defer watch.Close()
	patience := time.NewTimer(time.Until(f.deadline))
	defer patience.Stop()
	recheck, stop := f.rechecks()
	defer stop()
	f.ask(ctx)
	begun := time.Now()
	defer func() { f.parked += time.Since(begun) }()
	for !f.enough() {
		if f.ask(ctx) { // somebody's records are gone since
			continue
		}
		select {
		case <-watch.News():
			f.notice(watch)
		case <-recheck:
			if err := f.recheck(ctx); err != nil {
				return err
			}
		case <-patience.C:
			f.enough() // what is known of sizes may have become better without any news
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// rechecks ticks for clients whose permissions may change.
func (f *fetchRun) rechecks() (tick <-chan time.Time, stop func()) {
	if p, _ := f.api.principal(f.conn); p == nil {
		return nil, func() {}
	}
	ticker := time.NewTicker(recheckEvery)
	return ticker.C, ticker.Stop
}

// notice answers for topics that were deleted while the fetch waits, as a broker does: by then it knows them by name.
func (f *fetchRun) notice(watch *bridge.Watch) {
	var topic *bridge.Topic
	gone := false
	for _, it := range f.live {
		if it.topic == nil || it.code != none {
			continue
		}
		if it.topic != topic {
			topic, gone = it.topic, watch.Gone(it.topic)
		}
		if gone {
			it.code = unknownTopicOrPartition
		}
	}
}

// enough takes in what is known of the partitions, and says whether it makes an answer: an error, min_bytes, or nothing
// that more could come of.
func (f *fetchRun) enough() bool {
	f.look(f.live)
	var bytes int64
	for _, it := range f.live {
		switch {
		case it.code != none:
			return true
		case it.available() > 0:
			bytes += min(it.availableBytes(), int64(max(it.MaxBytes, 0)))
			bytes = max(bytes, 1)
		}
	}
	return f.failed || len(f.live) == 0 || bytes >= int64(f.req.MinBytes) && (bytes > 0 || f.req.MinBytes <= 0)
}

// look takes in what is known of partitions, and answers for those whose offset is not where it can be.
func (f *fetchRun) look(items []*fetchItem) {
	for len(items) > 0 {
		topic, n := items[0].topic, 1
		for n < len(items) && items[n].topic == topic {
			n++
		}
		if topic != nil {
			f.api.Bridge.LookAtBounds(topic, func(known func(int32) (bridge.Bounds, bool)) {
				for _, it := range items[:n] {
					it.learn(known(it.Partition))
				}
			})
		}
		for _, it := range items[:n] {
			if topic != nil && it.code == none && (it.Offset < 0 || it.asked && it.misplaced()) {
				it.code = offsetOutOfRange
			}
		}
		items = items[n:]
	}
}

// learn takes in what is known of the partition; ok is false if that is not enough.
func (it *fetchItem) learn(bounds bridge.Bounds, ok bool) {
	if !ok || it.code != none {
		return
	}
	if !it.known {
		it.first = bounds
	}
	it.bounds, it.known = bounds, true
}

// available is how many records there are from the offset on.
func (it *fetchItem) available() int64 {
	if !it.known || it.Offset < it.bounds.Start {
		return 0
	}
	return max(it.bounds.Next-it.Offset, 0)
}

// availableBytes is how many bytes those records have, nearly: by the average what there was at first, and what came
// since, which need not resemble it.
func (it *fetchItem) availableBytes() int64 {
	before := max(it.first.Next-it.Offset, 0) * max(it.first.MessageSize, 1)
	return max(before+it.bounds.Bytes-it.first.Bytes, it.available())
}

// watched lists the topics that may have records, each once.
func (f *fetchRun) watched() []*bridge.Topic {
	var topics []*bridge.Topic
	for _, items := range byTopic(f.live, func(it *fetchItem) bool { return it.topic != nil }) {
		topics = append(topics, items[0].topic)
	}
	return topics
}

// byTopic sorts the items that are wanted by their topics.
func byTopic(items []*fetchItem, wanted func(*fetchItem) bool) [][]*fetchItem {
	var groups [][]*fetchItem
	places := map[*bridge.Topic]int{}
	for _, it := range items {
		if !wanted(it) {
			continue
		}
		place, ok := places[it.topic]
		if !ok {
			place = len(groups)
			places[it.topic] = place
			groups = append(groups, nil)
		}
		groups[place] = append(groups[place], it)
	}
	return groups
}

func (f *fetchRun) askContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(time.Until(f.deadline), askTimeout))
}

// ask lets Iggy say where the partitions begin and end that have nothing to read, or nothing any more, as far as is
// known. It reports whether there was one that it had not been asked about.
func (f *fetchRun) ask(ctx context.Context) bool {
	quiet := f.quiet(0)
	if len(quiet) == 0 {
		return false
	}
	ctx, cancel := f.askContext(ctx)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(askTogether)
	for _, items := range quiet {
		group.Go(func() error {
			f.askAbout(ctx, items)
			return nil
		})
	}
	_ = group.Wait() // every item has its own error
	f.dropGone()
	return true
}

// quiet lists, topic by topic, the partitions that have nothing to read as far as is known, and of which Iggy was not
// asked during this request. It leaves out topics that anybody asked about within age, unless an offset is not where it
// can be.
func (f *fetchRun) quiet(age time.Duration) [][]*fetchItem {
	groups := byTopic(f.live, func(it *fetchItem) bool {
		return it.topic != nil && it.code == none && !it.asked && it.err == nil && it.available() == 0
	})
	return slices.DeleteFunc(groups, func(items []*fetchItem) bool {
		return f.api.Bridge.BoundsAge(items[0].topic) < age && !slices.ContainsFunc(items, (*fetchItem).misplaced)
	})
}

// misplaced says that the offset is not between the partition's bounds, as far as they are known.
func (it *fetchItem) misplaced() bool {
	return !it.known || it.Offset < it.bounds.Start || it.Offset > it.bounds.Next
}

// askAbout lets Iggy say where partitions of one topic end.
func (f *fetchRun) askAbout(ctx context.Context, items []*fetchItem) {
	bounds, err := f.api.Bridge.Bounds(ctx, items[0].topic)
	for _, it := range items {
		it.asked, it.err = err == nil, err
		if int(it.Partition) < len(bounds) {
			it.first = bounds[it.Partition]
			it.bounds, it.known = it.first, true
		}
	}
}

// dropGone answers for partitions that Iggy does not have any more: the topics that were looked up are out of date.
func (f *fetchRun) dropGone() {
	for _, it := range f.live {
		if it.err != nil && it.code == none && bridge.IsNotFound(it.err) {
			it.code, it.missing = unknownTopicOrPartition, true
			if f.req.Version >= fetchIDsSince && it.Resolved == "" {
				it.code = unknownTopicID
			}
		}
	}
}
