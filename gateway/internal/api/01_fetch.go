// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Fetch (1), v4-12.
//
// v4: isolation level, last stable offset, aborted transactions. v5: log start offset. v7: fetch sessions (KIP-227),
// of which none is ever opened: every answer is a full one with session id 0. v9: current leader epoch (KIP-320).
// v10: zstd (KIP-110). v11: rack, preferred replica (KIP-392), which is never another one. v12: flexible.

const (
	// askTimeout is the least time that a fetch gives Iggy to say where partitions end, however short its wait.
	askTimeout = 2 * time.Second
	// readTimeout bounds the polls that carry the records.
	readTimeout = 10 * time.Second
	// askTogether is how many topics, and readTogether how many partitions one fetch asks for at a time.
	askTogether  = 8
	readTogether = 8
)

// fetchRun is one Fetch request under way.
type fetchRun struct {
	api       *API
	req       *kmsg.FetchRequest
	deadline  time.Time // when the client wants an answer, whatever there is
	topics    []fetchTopic
	live      []*fetchItem // those that may have records
	failed    bool         // some partition answers an error, which is told at once
	unreserve []func()     // give the response budget back
}

type fetchTopic struct {
	name  string
	topic *bridge.Topic // nil when there is none
	items []fetchItem
}

// fetchItem is one partition of the request and its answer.
type fetchItem struct {
	topic     *bridge.Topic
	partition int32
	offset    int64
	maxBytes  int

	bounds bridge.Bounds // as last known
	known  bool          // bounds hold
	asked  bool          // and Iggy confirmed them during this request
	first  bridge.Bounds // as they were at first, or when asked
	err    error         // why Iggy did not

	want    int // bytes of records to read
	code    int16
	aborted bool // the answer has an empty list of aborted transactions, not null
	records []byte
}

func (a *API) fetch(_ context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	req, ok := r.Body.(*kmsg.FetchRequest)
	if !ok {
		return fails(errNoHandler)
	}
	return func(ctx context.Context) (server.Reply, error) {
		if refuseSession(req) {
			return server.NewReply(sessionNotFound(req)), nil
		}
		f := a.newFetch(req)
		answered := false
		defer func() {
			if !answered { // an error, or a panic that ends this connection alone
				f.release()
			}
		}()
		f.admit(ctx)
		if err := f.await(ctx); err != nil {
			return server.Reply{}, err
		}
		if err := f.read(ctx); err != nil {
			return server.Reply{}, err
		}
		answered = true
		return f.reply(), nil
	}
}

// refuseSession: with session id 0, epochs 0 and -1 ask for a full answer; so do 0 and -1 with an id, which replace or
// close a session that is not there. Everything else continues a session.
func refuseSession(req *kmsg.FetchRequest) bool {
	return req.Version >= 7 && req.SessionEpoch != 0 && req.SessionEpoch != -1
}

func sessionNotFound(req *kmsg.FetchRequest) kmsg.Response {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode = req.Version, fetchSessionIDNotFound
	return resp
}

func (a *API) newFetch(req *kmsg.FetchRequest) *fetchRun {
	wait := min(time.Duration(max(req.MaxWaitMillis, 0))*time.Millisecond, a.FetchWaitMax)
	f := &fetchRun{api: a, req: req, deadline: a.Now().Add(wait), topics: make([]fetchTopic, len(req.Topics))}
	for i := range req.Topics {
		in, t := &req.Topics[i], &f.topics[i]
		t.name = in.Topic
		t.items = make([]fetchItem, len(in.Partitions))
		for j := range in.Partitions {
			p := &in.Partitions[j]
			t.items[j] = fetchItem{
				partition: p.Partition, offset: p.FetchOffset, maxBytes: int(max(p.PartitionMaxBytes, 0)),
				aborted: req.IsolationLevel != 0,
			}
		}
	}
	return f
}

// admit finds the topics and answers what can be answered without looking at the partitions.
func (f *fetchRun) admit(ctx context.Context) {
	ctx, cancel := f.askContext(ctx)
	defer cancel()
	view, err := f.api.Bridge.Topics(ctx)
	for i := range f.topics {
		t := &f.topics[i]
		if err == nil {
			t.topic, _ = view.ByName(t.name)
		}
		for j := range t.items {
			it := &t.items[j]
			it.topic, it.err = t.topic, err
			it.code = f.admitPartition(it, &f.req.Topics[i].Partitions[j])
			if it.code != none {
				it.aborted = true // as in a broker's error answers, but for an offset out of range
				f.failed = true
				continue
			}
			f.live = append(f.live, it)
		}
	}
}

func (f *fetchRun) admitPartition(it *fetchItem, in *kmsg.FetchRequestTopicPartition) int16 {
	switch {
	case it.err != nil:
		return none // answered after the wait
	case it.topic == nil || it.partition < 0 || it.partition >= it.topic.Partitions:
		return unknownTopicOrPartition
	}
	if code := checkEpoch(in.CurrentLeaderEpoch); code != none {
		return code
	}
	if f.req.ReplicaID >= 0 { // a broker that wants to follow
		return notLeaderOrFollower
	}
	return none
}

// checkEpoch compares the leader epoch that a client knows; -1 is no comparison (KIP-320).
func checkEpoch(epoch int32) int16 {
	switch {
	case epoch < 0 || epoch == leaderEpoch:
		return none
	case epoch < leaderEpoch:
		return fencedLeaderEpoch
	default:
		return unknownLeaderEpoch
	}
}

// await returns when there is enough to answer, the client's patience is over, or the connection is.
func (f *fetchRun) await(ctx context.Context) error {
	if f.enough() {
		return ctx.Err()
	}
	// The watch begins before the question: what is written in between is noticed.
	watch := f.api.Bridge.Watch(f.watched())
	defer watch.Close()
	f.ask(ctx)
	patience := time.NewTimer(f.deadline.Sub(f.api.Now()))
	defer patience.Stop()
	for !f.enough() {
		select {
		case <-watch.News():
			f.notice(watch)
		case <-patience.C:
			f.enough() // what is known of sizes may have become better without any news
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// notice answers for topics that were deleted while the fetch waits, as a broker does.
func (f *fetchRun) notice(watch *bridge.Watch) {
	for _, it := range f.live {
		if it.code == none && it.topic != nil && watch.Gone(it.topic) {
			it.code, it.aborted = unknownTopicOrPartition, true
			f.failed = true
		}
	}
}

// enough takes in what is known of the partitions, and says whether it makes an answer: an error, or min_bytes.
func (f *fetchRun) enough() bool {
	var bytes int64
	for _, it := range f.live {
		f.look(it)
		if it.code == none && it.available() > 0 {
			bytes += min(it.availableBytes(), int64(it.maxBytes))
			bytes = max(bytes, 1)
		}
	}
	return f.failed || bytes >= int64(f.req.MinBytes) && (bytes > 0 || f.req.MinBytes <= 0)
}

func (f *fetchRun) look(it *fetchItem) {
	if it.topic == nil || it.code != none {
		return
	}
	if bounds, ok := f.api.Bridge.KnownBounds(it.topic, it.partition); ok {
		if !it.known {
			it.first = bounds
		}
		it.bounds, it.known = bounds, true
	}
	if it.offset < 0 || it.asked && (it.offset < it.bounds.Start || it.offset > it.bounds.Next) {
		it.code = offsetOutOfRange
		f.failed = true
	}
}

// available is how many records there are from the offset on.
func (it *fetchItem) available() int64 {
	if !it.known || it.offset < it.bounds.Start {
		return 0
	}
	return max(it.bounds.Next-it.offset, 0)
}

// availableBytes is how many bytes those records have, nearly: by the average what there was at first, and what came
// since, which need not resemble it.
func (it *fetchItem) availableBytes() int64 {
	before := max(it.first.Next-it.offset, 0) * max(it.first.MessageSize, 1)
	return max(before+it.bounds.Bytes-it.first.Bytes, it.available())
}

func (f *fetchRun) watched() []*bridge.Topic {
	var topics []*bridge.Topic
	for i := range f.topics {
		if f.topics[i].topic != nil {
			topics = append(topics, f.topics[i].topic)
		}
	}
	return topics
}

func (f *fetchRun) askContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(f.deadline.Sub(f.api.Now()), askTimeout))
}

// ask lets Iggy say where the partitions end that have nothing to read as far as is known.
func (f *fetchRun) ask(ctx context.Context) {
	ctx, cancel := f.askContext(ctx)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(askTogether)
	for _, items := range f.quiet() {
		group.Go(func() error {
			f.askAbout(ctx, items)
			return nil
		})
	}
	_ = group.Wait() // every item has its own error
	f.dropGone()
}

// quiet lists, topic by topic, the partitions that have nothing to read as far as is known and of which Iggy was not
// asked during this request.
func (f *fetchRun) quiet() [][]*fetchItem {
	var quiet [][]*fetchItem
	for i := range f.topics {
		var items []*fetchItem
		for j := range f.topics[i].items {
			it := &f.topics[i].items[j]
			if it.topic != nil && it.code == none && !it.asked && it.err == nil && it.available() == 0 {
				items = append(items, it)
			}
		}
		if items != nil {
			quiet = append(quiet, items)
		}
	}
	return quiet
}

// askAbout lets Iggy say where partitions of one topic end.
func (f *fetchRun) askAbout(ctx context.Context, items []*fetchItem) {
	bounds, err := f.api.Bridge.Bounds(ctx, items[0].topic)
	for _, it := range items {
		it.asked, it.err = err == nil, err
		if int(it.partition) < len(bounds) {
			it.first = bounds[it.partition]
		}
	}
}

// dropGone answers for partitions that Iggy does not have any more.
func (f *fetchRun) dropGone() {
	for _, it := range f.live {
		if bridge.IsNotFound(it.err) && it.code == none {
			it.code, it.aborted = unknownTopicOrPartition, true
			f.failed = true
		}
	}
}

// fetchDetached answers that no partition has a leader.
func (a *API) fetchDetached(_ context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	req, ok := r.Body.(*kmsg.FetchRequest)
	if !ok {
		return fails(errNoHandler)
	}
	f := a.newFetch(req)
	for i := range f.topics {
		for j := range f.topics[i].items {
			f.topics[i].items[j].code = notLeaderOrFollower
		}
	}
	return func(context.Context) (server.Reply, error) { return f.reply(), nil }
}
