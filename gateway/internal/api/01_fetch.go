// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Fetch (1), v4-18.
//
// v4: isolation level, last stable offset, aborted transactions. v5: log start offset. v7: fetch sessions (KIP-227).
// v9: current leader epoch (KIP-320). v10: zstd (KIP-110). v11: rack, preferred replica (KIP-392), which is never another
// one. v12: flexible; the last fetched epoch (KIP-595) and diverging epochs are for followers. v13: topic ids (KIP-516).
// v14: tiered storage (KIP-405) has an error code of its own, which never comes. v15: the replica id moves into a tagged
// field (KIP-903). v16: endpoints of new leaders (KIP-951), of which there are none. v17: a follower's directory (KIP-853).
// v18: the high watermark that a follower knows (KIP-1166); a consumer's Fetch waits as before.

// Bounds of the fetch sessions. The first is Kafka's, the others are ours.
const (
	maxFetchSessions     = 1000
	maxFetchSessionBytes = 64 << 20 // about 600,000 partitions
	fetchSessionAge      = 2 * time.Minute
)

// fetchRun is one Fetch request under way.
type fetchRun struct {
	api       *API
	req       *kmsg.FetchRequest
	session   *fetchsession.Fetch
	sessionID int32     // of the answer
	deadline  time.Time // when the client wants an answer, whatever there is
	items     []fetchItem
	live      []*fetchItem // those that may have records
	fields    int          // bytes of the answer besides the records, at most
	failed    bool         // some partition answers an error that is told at once
	unreserve []func()     // give the response budget back
	uncharge  func()       // gives the decode budget back
}

// fetchItem is one partition of the request and its answer.
type fetchItem struct {
	fetchsession.Part
	topic *bridge.Topic

	bounds bridge.Bounds // as last known
	known  bool          // bounds hold
	asked  bool          // and Iggy confirmed them during this request
	first  bridge.Bounds // as they were at first, or when asked
	err    error         // why Iggy did not

	want    int // bytes of records to read
	code    int16
	missing bool // code says that there is no such topic or partition
	records []byte
}

func newFetchSessions(deps *Deps) *fetchsession.Cache {
	return fetchsession.NewCache(fetchsession.Config{
		MaxSessions: maxFetchSessions,
		// A fetch in a session takes memory for each of its partitions: one session must not need the whole budget.
		MaxPartitions: int(deps.DecodeBudget.Largest() / 4 / fetchItemSize),
		MaxBytes:      maxFetchSessionBytes,
		EvictAfter:    fetchSessionAge,
		Rand:          deps.Rand,
	})
}

const fetchItemSize = int64(unsafe.Sizeof(fetchItem{}) + unsafe.Sizeof((*fetchItem)(nil)))

func (a *API) fetch(_ context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	return a.startFetch(r, (*fetchRun).serve)
}

// fetchDetached answers that no partition has a leader.
func (a *API) fetchDetached(_ context.Context, _ *server.Conn, r *wire.Request) server.Pending {
	return a.startFetch(r, func(f *fetchRun, _ context.Context) error {
		for i := range f.items {
			f.items[i].code = notLeaderOrFollower
		}
		return nil
	})
}

// startFetch begins a request; serve finds what is answered for its partitions. Sessions see requests in the order in
// which they came.
func (a *API) startFetch(r *wire.Request, serve func(*fetchRun, context.Context) error) server.Pending {
	req, ok := r.Body.(*kmsg.FetchRequest)
	if !ok {
		return fails(errNoHandler)
	}
	session, err := a.sessions.Begin(time.Now(), req)
	if err != nil {
		return func(context.Context) (server.Reply, error) { return refuseFetch(req, err) }
	}
	return func(ctx context.Context) (server.Reply, error) {
		f := a.newFetch(req, session)
		answered := false
		defer func() {
			if !answered { // an error, or a panic that ends this connection alone
				f.release()
			}
		}()
		for _, step := range []func(context.Context) error{f.list, func(ctx context.Context) error { return serve(f, ctx) }, f.finish} {
			if err := step(ctx); err != nil {
				return refuseFetch(req, err)
			}
		}
		answered = true
		return f.reply(), nil
	}
}

func (a *API) newFetch(req *kmsg.FetchRequest, session *fetchsession.Fetch) *fetchRun {
	wait := min(time.Duration(max(req.MaxWaitMillis, 0))*time.Millisecond, a.FetchWaitMax)
	return &fetchRun{api: a, req: req, session: session, deadline: time.Now().Add(wait)}
}

// refuseFetch answers a session's error, with id 0 and no topics, upon which a client begins anew. Others close the
// connection.
func refuseFetch(req *kmsg.FetchRequest, err error) (server.Reply, error) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	switch {
	case errors.Is(err, fetchsession.ErrNotFound):
		resp.ErrorCode = fetchSessionIDNotFound
	case errors.Is(err, fetchsession.ErrEpoch):
		resp.ErrorCode = invalidFetchSessionEpoch
	case errors.Is(err, fetchsession.ErrTopicID):
		resp.ErrorCode = fetchSessionTopicIDError
	default:
		return server.Reply{}, err
	}
	return server.NewReply(resp), nil
}

// list lists what is to be fetched. In a session that may be more than the request names, so it is charged here, to the
// budget that a request with all of these partitions would have been charged to.
func (f *fetchRun) list(ctx context.Context) error {
	n := f.session.Len()
	if f.session.Incremental() {
		ctx, cancel := context.WithTimeout(ctx, f.api.WriteTimeout)
		defer cancel()
		charge := int64(n) * fetchItemSize
		if err := f.api.DecodeBudget.Acquire(ctx, charge); err != nil {
			return fmt.Errorf("%w: %w", errBudget, err)
		}
		f.uncharge = func() { f.api.DecodeBudget.Release(charge) }
	}
	f.items = make([]fetchItem, 0, n)
	return f.session.Each(func(p fetchsession.Part) { f.items = append(f.items, fetchItem{Part: p}) })
}

// serve finds what to answer. An error closes the connection.
func (f *fetchRun) serve(ctx context.Context) error {
	f.admit(ctx)
	if err := f.await(ctx); err != nil {
		return err
	}
	return f.read(ctx)
}

// finish settles which session the answer is of and what it leaves out.
func (f *fetchRun) finish(context.Context) (err error) {
	f.sessionID, err = f.session.Finish(time.Now(), func(yield func(*fetchsession.Part, fetchsession.Outcome) bool) {
		for i := range f.items {
			it := &f.items[i]
			o := fetchsession.Outcome{Records: len(it.records) > 0, Failed: it.code != none}
			o.HighWatermark, o.LogStart = it.told()
			if it.topic != nil {
				o.Resolved = it.topic.Name
			}
			if !yield(&it.Part, o) {
				return
			}
		}
	})
	return err
}

// told is what the answer says of the partition's bounds.
func (it *fetchItem) told() (highWatermark, logStart int64) {
	if it.code != none || !it.known {
		return -1, -1
	}
	return it.bounds.Next, it.bounds.Start
}

// release gives back what the answer holds.
func (f *fetchRun) release() {
	f.drop()
	if f.uncharge != nil {
		f.uncharge()
		f.uncharge = nil
	}
}
