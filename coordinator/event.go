// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import "time"

// RequestID names a request between Step and the one Reply that answers it. The caller chooses it; zero names none.
type RequestID uint64

// WriteID names a Write of one group until Written reports its end.
type WriteID uint64

// Event is what may happen to a group: Join, Sync, Heartbeat, Leave, Commit, DeleteOffsets, DropTopic, Delete or Written.
// All but DropTopic and Written are requests and are answered by exactly one Reply.
//
// A group keeps strings and copies bytes: the caller may use a slice again once Step has returned.
type Event interface{ event() }

// Protocol is one way of assigning partitions that a member knows, and what it tells the leader if that one is chosen.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Join asks to be a member of the next generation (JoinGroup). It is answered by a JoinResult when the rebalance that it
// joins or starts has gathered everyone.
type Join struct {
	Request RequestID
	// MemberID is empty in the first join of a client, and otherwise what an earlier answer gave.
	MemberID string
	// InstanceID makes a static member (KIP-345); empty for dynamic ones.
	InstanceID string
	// ClientID and ClientHost are shown by Describe. A dynamic member's id starts with ClientID.
	ClientID, ClientHost string
	// Unique is a string never used before in this group, such as a UUID. It ends the member id if the group has to make one.
	Unique string
	// SessionTimeout is how long the member may be silent. RebalanceTimeout is how long a rebalance waits for it; zero
	// means SessionTimeout, as for clients that know one timeout only (JoinGroup v0).
	SessionTimeout, RebalanceTimeout time.Duration
	// ProtocolType is the kind of group, "consumer" for Kafka's consumers. Protocols come in the order of preference.
	ProtocolType string
	Protocols    []Protocol
	// Topics are those that the member subscribes to, as far as the caller can read them from its metadata. Nil means
	// unknown; a member of type "consumer" then counts as subscribed to everything.
	Topics []string
	// RequireMemberID refuses a dynamic member's first join with ErrMemberIDRequired (KIP-394; JoinGroup v4+).
	RequireMemberID bool
	// SkipAssignment says that the client understands JoinResult.SkipAssignment (KIP-814; JoinGroup v9+).
	SkipAssignment bool
}

// Sync asks for the member's assignment and, by the leader, brings everybody's (SyncGroup). It is answered by a
// SyncResult, for followers once the leader's has come.
type Sync struct {
	Request              RequestID
	MemberID, InstanceID string
	Generation           int32
	// ProtocolType and ProtocolName are compared with the group's unless empty. RequireProtocol refuses empty ones
	// (KIP-559; SyncGroup v5+).
	ProtocolType, ProtocolName string
	RequireProtocol            bool
	// Assignments count when they come from the leader. Members left out get an empty one.
	Assignments []Assignment
}

// Assignment is what the leader gives to one member, in bytes that only clients understand.
type Assignment struct {
	MemberID string
	Data     []byte
}

// Heartbeat keeps a member's session. It is answered by a HeartbeatResult.
type Heartbeat struct {
	Request              RequestID
	MemberID, InstanceID string
	Generation           int32
}

// Leave removes members (LeaveGroup). It is answered by a LeaveResult.
type Leave struct {
	Request RequestID
	Members []Identity
}

// Identity names a member by its id, by id and instance id, or, with an empty id, by instance id alone (KIP-345).
type Identity struct {
	MemberID, InstanceID string
}

// Commit stores offsets (OffsetCommit). It is answered by a CommitResult once they are durable.
type Commit struct {
	Request              RequestID
	MemberID, InstanceID string
	// Generation is negative for those that are no member: simple consumers and administrators.
	Generation int32
	// Retention, unless zero, replaces Config.OffsetsRetention (OffsetCommit v2-v4).
	Retention time.Duration
	Offsets   []OffsetCommit
}

// OffsetCommit is one offset to store. Any offset will do, also one that is negative or past the end of the partition.
type OffsetCommit struct {
	TopicPartition
	// TopicID tells topics apart that have had the same name. Its form is the caller's; empty means unknown.
	TopicID     string
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// TopicPartition names a partition as clients do.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// DeleteOffsets removes offsets (OffsetDelete, KIP-496). It is answered by a DeleteOffsetsResult once they are durably
// gone.
type DeleteOffsets struct {
	Request    RequestID
	Partitions []TopicPartition
}

// DropTopic removes the offsets of a topic that is no more. Those whose removal cannot be written stay, for a later one.
type DropTopic struct {
	Topic string
	// TopicID, unless empty, spares the offsets committed for another topic of that name.
	TopicID string
}

// Delete removes a group without members and all its offsets (DeleteGroups). It is answered by a DeleteResult once it is
// durably gone.
type Delete struct {
	Request RequestID
}

// Written reports the end of the Write with that id: nil when it is durable. Of one group's writes the ends must be
// reported in the order of the writes.
type Written struct {
	ID  WriteID
	Err error
}

func (Join) event()          {}
func (Sync) event()          {}
func (Heartbeat) event()     {}
func (Leave) event()         {}
func (Commit) event()        {}
func (DeleteOffsets) event() {}
func (DropTopic) event()     {}
func (Delete) event()        {}
func (Written) event()       {}
