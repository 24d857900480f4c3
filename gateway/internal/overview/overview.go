// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

const (
	// maxAge is how old a snapshot may be that is shown: looking more often finds nothing new, and costs Iggy something.
	maxAge = 2 * time.Second
	// topicsTimeout is how long who asks waits for what is not known yet of topics.
	topicsTimeout = 3 * time.Second
	// groupsTimeout is how long he waits for groups after that. They are in the gateway's memory: this is for one that has
	// far too much to do.
	groupsTimeout = 2 * time.Second
	// MaxOffsets bounds the committed offsets in a snapshot, some 100 bytes each.
	MaxOffsets = 500_000
	// MaxPartitions bounds the partitions in a snapshot, some 60 bytes each.
	MaxPartitions = 500_000
)

// Topics is what a Source needs of the bridge.
type Topics interface {
	TopicsWithin(ctx context.Context, age time.Duration) (*bridge.TopicView, error)
	Bounds(ctx context.Context, t *bridge.Topic) ([]bridge.Bounds, error)
}

// Groups is what a Source needs of the coordinator.
type Groups interface {
	List(ctx context.Context, f coordinator.Filter) ([]coordinator.Listing, error)
	Survey(ctx context.Context, groups []string) (some []coordinator.Surveyed, rest []string, err error)
}

// Snapshot is what was known at one moment. It is shared: nobody changes it.
type Snapshot struct {
	Time time.Time // when it was begun

	Topics       []Topic // by name
	TopicsStatus Status
	HiddenTopics int // left out because Kafka does not allow their names

	Groups       []Group // by id
	GroupsStatus Status

	built time.Time // when it was finished
}

// Status says how far a part of a snapshot can be relied on.
type Status struct {
	// AsOf is when the part was the truth: the snapshot's time, or before it when Err says why it could not be learnt
	// anew. It is zero when it never could.
	AsOf time.Time
	Err  error
}

// Topic is a topic at the moment of a snapshot.
type Topic struct {
	*bridge.Topic
	// Partitions are by number; nil: Iggy has not told yet.
	Partitions []Partition
	Messages   int64 // kept
	Size       int64 // in Iggy, in bytes
	Rate       Rate
	// Err is why Iggy, asked last about the partitions, did not tell; they are then as it told before.
	Err error
}

// Partition is a partition at the moment of a snapshot.
type Partition struct {
	Start int64 // the first offset kept
	End   int64 // the offset of the next record
	Size  int64 // in Iggy, in bytes
	Rate  Rate
}

// Messages is how many offsets lie between Start and End.
func (p Partition) Messages() int64 { return max(p.End-p.Start, 0) }

// Rate is how fast messages came in between two snapshots.
type Rate struct {
	Known    bool // false in the first snapshot of a topic
	Messages float64
	Bytes    float64
}

// Group is a consumer group at the moment of a snapshot.
type Group struct {
	ID           string
	State        string // as ListGroups has it
	Type         string
	ProtocolType string
	Protocol     string // of a stable group
	Members      []Member
	Offsets      []Offset // by topic and partition
	// OffsetsCut says that there were more than MaxOffsets in all groups together, and some of this one are left out.
	OffsetsCut bool
	// Lag is that of the offsets whose lag is known together; LagKnown: there is at least one.
	Lag      int64
	LagKnown bool
}

// Member is a member of a group.
type Member struct {
	ID, InstanceID string
	ClientID, Host string
	assignment     []byte
	consumer       bool
}

// Offset is what a group has committed for a partition.
type Offset struct {
	Topic     string
	Partition int32
	Committed int64
	// Start and End are where the partition begins and ends, and Lag how many offsets lie between Committed and End; all are -1
	// where that is not known, as the topic is gone, was made anew since, or Iggy has not told yet. Lag is never negative
	// otherwise.
	Start, End, Lag int64
}

// Topic finds a topic by its name.
func (s *Snapshot) Topic(name string) (*Topic, bool) {
	i, ok := slices.BinarySearchFunc(s.Topics, name, func(t Topic, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return &s.Topics[i], true
}

// Group finds a group by its id.
func (s *Snapshot) Group(id string) (*Group, bool) {
	i, ok := slices.BinarySearchFunc(s.Groups, id, func(g Group, id string) int { return strings.Compare(g.ID, id) })
	if !ok {
		return nil, false
	}
	return &s.Groups[i], true
}

// Source makes snapshots. It is safe for concurrent use.
type Source struct {
	topics *topics // nil: there is no Iggy
	groups Groups

	current atomic.Pointer[Snapshot]
	// turn holds a token for the one who builds the next snapshot. topics is his.
	turn chan struct{}
}

// New returns a Source. No topics: the gateway has no Iggy behind it.
func New(t Topics, g Groups) *Source {
	s := &Source{groups: g, turn: make(chan struct{}, 1)}
	if t != nil {
		s.topics = newTopics(t)
	}
	return s
}

// Snapshot returns one that was finished at most two seconds ago. Its parts say how old they are. An error is ctx's.
func (s *Source) Snapshot(ctx context.Context) (*Snapshot, error) {
	if now := s.current.Load(); now.fresh() {
		return now, nil
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("overview: wait for a snapshot: %w", context.Cause(ctx))
	}
	defer func() { <-s.turn }()
	last := s.current.Load()
	if last.fresh() {
		return last, nil
	}
	next := s.build(ctx, last)
	if err := ctx.Err(); err != nil { // what could not be learnt says nothing of Iggy
		return nil, fmt.Errorf("overview: build a snapshot: %w", context.Cause(ctx))
	}
	s.current.Store(next)
	return next, nil
}

// fresh goes by the end of the build: who waited for one that took long, as Iggy did not answer, need not wait for another.
func (s *Snapshot) fresh() bool { return s != nil && time.Since(s.built) < maxAge }

// build makes the snapshot that follows the last one, which is nil at first.
func (s *Source) build(ctx context.Context, last *Snapshot) *Snapshot {
	next := &Snapshot{Time: time.Now()}
	if last == nil {
		last = &Snapshot{}
	}
	within := func(most time.Duration, fill func(context.Context, *Snapshot, *Snapshot)) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		fill(ctx, next, last)
	}
	within(topicsTimeout, s.fillTopics)
	within(groupsTimeout, s.fillGroups) // of their own: an Iggy that hangs says nothing of them
	next.built = time.Now()
	return next
}
