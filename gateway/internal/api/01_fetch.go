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
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
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

// Bounds of the fetch sessions. The first and the last are Kafka's.
const (
	maxFetchSessions     = 1000
	maxFetchSessionBytes = 64 << 20 // about 600,000 partitions
	fetchSessionAge      = 2 * time.Minute
	// fetchSessionIdle is after how long without use a session is likely to have lost its client: by then the connection of a
	// client that only waits has been closed, too (Kafka: connections.max.idle.ms). One that comes back begins anew.
	fetchSessionIdle = 10 * time.Minute
)

// fetchRun is one Fetch request under way.
type fetchRun struct {
	api       *API
	conn      *server.Conn
	access    *permissions.Access // as last looked at
	req       *kmsg.FetchRequest
	session   *fetchsession.Fetch
	sessionID int32     // of the answer
	deadline  time.Time // when the client wants an answer, whatever there is
	client    rated
	quota     bool          // the client has one
	throttle  time.Duration // which the answer tells
	parked    time.Duration // that it has waited for news
	items     []fetchItem
	live      []*fetchItem // those that may have records
	fields    int          // bytes of the answer besides the records, at most
	failed    bool         // a partition that is not live answers an error that is told at once
	unreserve []func()     // give the response budget back
	uncharge  func()       // gives the fetching budget back
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
	missing bool // code says that there is no such topic or partition, or none that the client may read
	records []byte

	encoding time.Duration // that making records took
}

// newFetching bounds what Fetch requests hold of their partitions while they wait for records. It is no part of the decode
// budget: consumers with nothing to read would keep producers waiting.
func newFetching(deps *Deps) *budget.Budget { return budget.New(deps.DecodeBudget.Largest()) }

func newFetchSessions(deps *Deps, fetching *budget.Budget) *fetchsession.Cache {
	return fetchsession.NewCache(fetchsession.Config{
		MaxSessions: maxFetchSessions,
		// A fetch in a session takes memory for each of its partitions: one session must not need the whole budget.
		MaxPartitions: int(fetching.Largest() / 4 / fetchItemSize),
		MaxBytes:      maxFetchSessionBytes,
		EvictAfter:    fetchSessionAge,
		Rand:          deps.Rand,
	})
}

// fetchItemSize is an item with its places in the lists that are made of items.
const fetchItemSize = int64(unsafe.Sizeof(fetchItem{}) + 4*unsafe.Sizeof((*fetchItem)(nil)))

func (a *API) fetch(_ context.Context, conn *server.Conn, r *wire.Request) server.Pending {
	return a.startFetch(conn, r, (*fetchRun).serve)
}

// fetchDetached answers that no partition has a leader.
func (a *API) fetchDetached(_ context.Context, conn *server.Conn, r *wire.Request) server.Pending {
	return a.startFetch(conn, r, func(f *fetchRun, _ context.Context) error {
		for i := range f.items {
			f.items[i].code = notLeaderOrFollower
		}
		return nil
	})
}

// startFetch begins a request; serve finds what is answered for its partitions. Sessions see requests in the order in
// which they came.
func (a *API) startFetch(conn *server.Conn, r *wire.Request, serve func(*fetchRun, context.Context) error) server.Pending {
	req, ok := r.Body.(*kmsg.FetchRequest)
	if !ok {
		return fails(errNoHandler)
	}
	session, err := a.sessions.Begin(time.Now(), req)
	if err != nil {
		return func(context.Context) (server.Reply, error) { return refuseFetch(req, err) }
	}
	return func(ctx context.Context) (server.Reply, error) {
		f := a.newFetch(conn, req, session)
		f.limitTo(a.rated(conn, r))
		answered := false
		defer func() {
			if !answered { // an error, or a panic that ends this connection alone
				f.release()
			}
		}()
		err := f.list(ctx)
		if err == nil {
			conn.GiveBack(r) // it may be long before there is something to answer
			err = serve(f, ctx)
		}
		var throttled *kmsg.FetchResponse
		if err == nil {
			throttled, err = f.charge()
		}
		if err == nil && throttled == nil {
			err = f.finish()
		}
		switch {
		case err != nil:
			return refuseFetch(req, err)
		case throttled != nil:
			return server.NewReply(throttled), nil
		}
		answered = true
		return f.reply(), nil
	}
}

func (a *API) newFetch(conn *server.Conn, req *kmsg.FetchRequest, session *fetchsession.Fetch) *fetchRun {
	wait := min(time.Duration(max(req.MaxWaitMillis, 0))*time.Millisecond, a.FetchWaitMax)
	return &fetchRun{api: a, conn: conn, req: req, session: session, deadline: time.Now().Add(wait)}
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

// list lists what is to be fetched, once there is room for that. From then on the request's own list is not needed.
func (f *fetchRun) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.api.WriteTimeout)
	defer cancel()
	n := f.session.Len()
	charge := int64(n)*fetchItemSize + f.session.Memory()
	if err := f.api.fetching.Acquire(ctx, charge); err != nil {
		return fmt.Errorf("%w: %w", errBudget, err)
	}
	f.uncharge = func() { f.api.fetching.Release(charge) }
	f.items = make([]fetchItem, 0, n)
	err := f.session.Each(func(p fetchsession.Part) { f.items = append(f.items, fetchItem{Part: p}) })
	f.req.Topics, f.req.ForgottenTopics = nil, nil
	return err
}

// serve finds what to answer. An error closes the connection.
func (f *fetchRun) serve(ctx context.Context) error {
	f.admit(ctx)
	if err := f.await(ctx); err != nil {
		return err
	}
	if err := f.recheck(ctx); err != nil {
		return err
	}
	return f.read(ctx)
}

// finish settles which session the answer is of and what it leaves out.
func (f *fetchRun) finish() (err error) {
	f.sessionID, err = f.session.Finish(time.Now(), func(yield func(*fetchsession.Part, fetchsession.Outcome) bool) {
		for i := range f.items {
			it := &f.items[i]
			if !yield(&it.Part, it.outcome()) {
				return
			}
		}
	})
	if f.sessionID != 0 {
		f.api.expiry.begin()
	}
	return err
}

// outcome is what the answer comes to, for its session.
func (it *fetchItem) outcome() fetchsession.Outcome {
	o := fetchsession.Outcome{Records: len(it.records) > 0, Failed: it.code != none}
	o.HighWatermark, o.LogStart = it.told()
	if it.topic != nil {
		o.Resolved = it.topic.Name
	}
	return o
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
