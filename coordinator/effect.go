// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import "fmt"

// Effect is what a group wants done, in the order given: Reply, Write, StateChanged or MemberRemoved. The last two are
// for logs and metrics. Bytes in effects are shared with the group: read only.
type Effect interface {
	fmt.Stringer
	effect()
}

// Reply answers a request. Result is the request's kind of result, and also there when Err is not nil.
type Reply struct {
	Request RequestID
	Result  Result
	// Err is nil or wraps one of the package's errors.
	Err error
}

// Write asks to make changes durable, in their order and after those of earlier writes of the group. Its end is
// reported by the event Written.
type Write struct {
	Group   string
	ID      WriteID
	Changes []Change
}

// StateChanged tells that a group has moved on.
type StateChanged struct {
	Group      string
	From, To   State
	Generation int32
	Reason     string
}

// MemberRemoved tells that a member, or an id that nobody claimed, is gone.
type MemberRemoved struct {
	Group, MemberID string
	Reason          string
}

func (Reply) effect()         {}
func (Write) effect()         {}
func (StateChanged) effect()  {}
func (MemberRemoved) effect() {}

func (r Reply) String() string {
	if r.Err != nil {
		return fmt.Sprintf("reply to %d: %v", r.Request, r.Err)
	}
	return fmt.Sprintf("reply to %d: %+v", r.Request, r.Result)
}

func (w Write) String() string {
	return fmt.Sprintf("%s: write %d, %d changes", w.Group, w.ID, len(w.Changes))
}

func (s StateChanged) String() string {
	return fmt.Sprintf("%s: %v -> %v, generation %d: %s", s.Group, s.From, s.To, s.Generation, s.Reason)
}

func (m MemberRemoved) String() string {
	return fmt.Sprintf("%s: member %s removed: %s", m.Group, m.MemberID, m.Reason)
}

// Result is one of the results that a Reply carries.
type Result interface{ result() }

// JoinResult answers a Join.
type JoinResult struct {
	// MemberID is the member's id, also with ErrMemberIDRequired; with other errors the one that was sent, or that the
	// member had while it waited.
	MemberID string
	// Generation is -1 with errors.
	Generation                 int32
	ProtocolType, ProtocolName string
	// Leader is the member id of the leader. If that is MemberID, Members holds all members, in the order of joining.
	Leader  string
	Members []JoinedMember
	// SkipAssignment tells a returned static leader that the group goes on with the assignment it has (KIP-814).
	SkipAssignment bool
}

// JoinedMember is what a leader learns about a member.
type JoinedMember struct {
	MemberID, InstanceID string
	Metadata             []byte
}

// SyncResult answers a Sync.
type SyncResult struct {
	ProtocolType, ProtocolName string
	Assignment                 []byte
}

// HeartbeatResult answers a Heartbeat.
type HeartbeatResult struct{}

// LeaveResult answers a Leave: one entry per identity, in the order of the request.
type LeaveResult struct {
	Members []Left
}

// Left says what became of one identity. Err is nil, ErrUnknownMemberID or ErrFencedInstanceID.
type Left struct {
	Identity
	Err error
}

// CommitResult answers a Commit whose group accepts it: one entry per offset, in the order of the request, nil or
// ErrOffsetMetadataTooLarge. If Reply.Err is set it is empty and nothing was stored.
type CommitResult struct {
	Errs []error
}

// DeleteOffsetsResult answers a DeleteOffsets: one entry per partition, in the order of the request, nil or
// ErrGroupSubscribedToTopic. If Reply.Err is set it is empty and nothing was removed.
type DeleteOffsetsResult struct {
	Errs []error
}

// DeleteResult answers a Delete.
type DeleteResult struct{}

func (JoinResult) result()          {}
func (SyncResult) result()          {}
func (HeartbeatResult) result()     {}
func (LeaveResult) result()         {}
func (CommitResult) result()        {}
func (DeleteOffsetsResult) result() {}
func (DeleteResult) result()        {}
