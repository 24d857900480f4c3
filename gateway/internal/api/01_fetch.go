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
	api      *API
	req      *kmsg.FetchRequest
	deadline time.Time // when the client wants an answer, whatever there is
	topics   []fetchTopic
	live     []*fetchItem // those that may have records
	failed   bool         // some partition answers an error, which is told at once
	reserved int64        // of the response budget
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
		f.admit(ctx)
		if err := f.await(ctx); err != nil {
			return server.Reply{}, err
		}
		if err := f.read(ctx); err != nil {
			f.release()
			return server.Reply{}, err
		}
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
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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

func (it *fetchItem) availableBytes() int64 { return it.available() * max(it.bounds.MessageSize, 1) }

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
	for i := range f.topics {
		t := &f.topics[i]
		if t.topic == nil || !t.needsAsking() {
			continue
		}
		group.Go(func() error {
			_, err := f.api.Bridge.Bounds(ctx, t.topic)
			for j := range t.items {
				t.items[j].asked, t.items[j].err = err == nil, err
			}
			return nil
		})
	}
	_ = group.Wait() // every item has its own error
	for _, it := range f.live {
		if bridge.IsNotFound(it.err) && it.code == none {
			it.code, it.aborted = unknownTopicOrPartition, true
			f.failed = true
		}
	}
}

func (t *fetchTopic) needsAsking() bool {
	for i := range t.items {
		if t.items[i].code == none && t.items[i].available() == 0 {
			return true
		}
	}
	return false
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
