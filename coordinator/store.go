// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"context"
	"time"
)

// Store keeps the changes of groups. It is used by the Driver.
type Store interface {
	// Load calls fn for every change that counts, each group's in the order of their appends, and returns its error if
	// it has one. It is called once, before any Append, from a goroutine of the driver. A store may leave out changes
	// that later ones have overtaken. The ids are group ids.
	Load(ctx context.Context, fn func(group string, change Change) error) error

	// Append makes changes durable, in their order and after what was appended for this group before, and then calls
	// done once: with nil, or with an error if one of them is not, or not surely, durable. ErrNotCoordinator in that
	// error is passed on to clients, any other becomes ErrNotAvailable. Append must not wait for I/O; done may be called
	// from any goroutine, also before Append returns, but for one group in the order of the appends. The changes are
	// shared with the group: read only.
	Append(group string, changes []Change, done func(error))
}

// Change is one durable change of a group: OffsetCommitted, OffsetRemoved, GroupSaved or GroupRemoved. Each overrides
// earlier ones about the same thing, so that what a group is can be read from the last change of each.
type Change interface{ change() }

// OffsetCommitted sets the offset of a partition.
type OffsetCommitted struct {
	TopicPartition
	Offset
}

// OffsetRemoved removes the offset of a partition.
type OffsetRemoved struct {
	TopicPartition
}

// GroupSaved sets everything about a group but its offsets.
type GroupSaved struct {
	Snapshot
}

// GroupRemoved removes a group and its offsets.
type GroupRemoved struct{}

func (OffsetCommitted) change() {}
func (OffsetRemoved) change()   {}
func (GroupSaved) change()      {}
func (GroupRemoved) change()    {}

// Offset is what a group remembers about a partition.
type Offset struct {
	// TopicID is what the commit gave, see OffsetCommit.
	TopicID     string
	Position    int64
	LeaderEpoch int32
	Metadata    string
	CommittedAt time.Time
	// ExpireAt is zero unless the commit brought a retention of its own.
	ExpireAt time.Time
}

// Snapshot is a group at rest: Empty if it has no members, else Stable.
type Snapshot struct {
	Generation             int32
	ProtocolType, Protocol string
	// Leader is a member id.
	Leader string
	// EmptySince is zero for a group with members.
	EmptySince time.Time
	// Members are in the order of joining.
	Members []MemberSnapshot
}

// MemberSnapshot is one member. Its session starts anew when it is loaded.
type MemberSnapshot struct {
	MemberID, InstanceID, ClientID, ClientHost string
	SessionTimeout, RebalanceTimeout           time.Duration
	Protocols                                  []Protocol
	// Topics is nil if they are unknown, see Join.
	Topics     []string
	Assignment []byte
}
