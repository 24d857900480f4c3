// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package fetchsession

import (
	"iter"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	sinceSessions = 7  // the first version of Fetch that has sessions
	sinceIDs      = 13 // and that names topics by id

	initialEpoch = 0
	finalEpoch   = -1
)

// Fetch is one Fetch request under way. It is used by one goroutine.
type Fetch struct {
	cache  *Cache
	kind   kind
	req    *kmsg.FetchRequest
	s      *session // of this fetch alone until it ends, and empty before Each, unless it is incremental
	count  int
	memory int64
	epoch  int32 // the session's, if no other request has used it since
}

type kind int

const (
	sessionless kind = iota // in full, with id 0
	full                    // in full, with a session if there is room
	incremental             // what is new in a session
)

// Part is one partition to fetch.
type Part struct {
	// Topic is the same pointer for neighbours of one topic. It must not be changed.
	Topic       *Topic
	Partition   int32
	MaxBytes    int32
	Offset      int64
	LeaderEpoch int32
	// Omit says that the answer leaves it out.
	Omit bool
	// Resolved is the name that the topic's id had when the session last fetched this partition; "" if it had none.
	Resolved string
	// What the client was told last; -1 if nothing.
	HighWatermark, LogStart int64

	entry *entry
}

// Outcome is what is answered for a Part.
type Outcome struct {
	HighWatermark, LogStart int64 // -1 when they are not known
	Records, Failed         bool  // there are some; there is an error code
	Resolved                string
}

// Begin takes in a request. Nobody may change it until Each has returned, and what it lists is not looked at afterwards.
// Errors: ErrNotFound, ErrEpoch, ErrTopicID.
func (c *Cache) Begin(now time.Time, req *kmsg.FetchRequest) (*Fetch, error) {
	f := &Fetch{cache: c, req: req}
	if req.Version < sinceSessions {
		f.ask(sessionless)
		return f, nil
	}
	switch req.SessionEpoch {
	case initialEpoch:
		c.remove(req.SessionID)
		f.ask(full)
		return f, nil
	case finalEpoch:
		c.remove(req.SessionID)
		f.ask(sessionless)
		return f, nil
	}
	s := c.find(req.SessionID)
	if s == nil {
		return nil, ErrNotFound
	}
	return f, f.resume(s, now)
}

// ask makes f a fetch of what its request names, of which a session is made if there is to be one and it may be so large.
// It is filled later: what it takes has to be accounted for before.
func (f *Fetch) ask(kind kind) {
	f.s = newSession(f.req.Version >= sinceIDs)
	e := f.s.lacks(f.req)
	f.count, f.memory, f.epoch = e.partitions, e.charge(), f.s.epoch
	if kind == full && f.cache.mayHold(e) {
		f.kind = full
	}
}

// resume makes f the next fetch of a session.
func (f *Fetch) resume(s *session, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.epoch != f.req.SessionEpoch:
		return ErrEpoch
	case s.byID != (f.req.Version >= sinceIDs):
		return ErrTopicID
	}
	if more := s.lacks(f.req); more.partitions > 0 && !f.cache.touch(s, s.extent().plus(more), now) {
		return ErrNotFound
	}
	s.name(f.req)
	s.forget(f.req)
	if s.size == 0 { // everything is forgotten
		f.cache.end(s)
		f.ask(sessionless)
		return nil
	}
	if !f.cache.touch(s, s.extent(), now) {
		return ErrNotFound
	}
	s.epoch = nextEpoch(s.epoch)
	f.kind, f.s, f.count, f.epoch = incremental, s, s.size, s.epoch
	return nil
}

// nextEpoch: 0 and -1 have meanings of their own.
func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

// Len is how many partitions there are to fetch, at most.
func (f *Fetch) Len() int { return f.count }

// Memory is how many bytes Each takes, until Finish, beside those that the sessions have a bound for.
func (f *Fetch) Memory() int64 { return f.memory }

// Each lists the partitions to fetch, in the order to serve them. visit must be quick: it holds others up who use the
// session. ErrEpoch says that another request has gone on with it.
func (f *Fetch) Each(visit func(Part)) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.epoch != f.epoch {
		return ErrEpoch
	}
	if f.kind != incremental {
		f.s.name(f.req)
	}
	for e := f.s.order.next; e != &f.s.order; e = e.next {
		p := Part{
			Topic: &e.topic.Topic, Partition: e.partition,
			MaxBytes: e.maxBytes, Offset: e.offset, LeaderEpoch: e.leaderEpoch,
			HighWatermark: e.highWatermark, LogStart: e.logStart,
			entry: e,
		}
		if e.resolved {
			p.Resolved = e.topic.resolved
		}
		visit(p)
	}
	return nil
}

// Finish takes what is answered for each Part that Each listed, marks those that the answer leaves out, and returns the
// session's id, 0 for none. ErrEpoch says that another request has gone on with the session.
func (f *Fetch) Finish(now time.Time, answers iter.Seq2[*Part, Outcome]) (id int32, err error) {
	if f.kind == sessionless {
		return 0, nil
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.epoch != f.epoch {
		return 0, ErrEpoch
	}
	for p, o := range answers {
		news := f.s.tell(p.entry, o)
		p.Omit = !news && f.kind == incremental
	}
	if f.kind == full {
		return f.cache.add(f.s, now), nil
	}
	return f.req.SessionID, nil
}

// Omits says whether Finish would leave a Part out, without a change to anything.
func (f *Fetch) Omits(p *Part, o Outcome) bool {
	return f.kind == incremental && !o.isNews(p.HighWatermark, p.LogStart)
}

// Withhold ends the fetch in place of Finish when its answer holds nothing: its client is told of no partition, and a session that
// would begin with it does not. It returns the id of one that goes on, 0 for none; ErrEpoch as Finish does.
func (f *Fetch) Withhold() (id int32, err error) {
	if f.kind != incremental {
		return 0, nil
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.epoch != f.epoch {
		return 0, ErrEpoch
	}
	return f.req.SessionID, nil
}
