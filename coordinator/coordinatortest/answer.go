// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// answer returns a reply as text, and lets the client that it is for remember what it says.
func (e *Env) answer(r coordinator.Reply) string {
	s, ok := e.requests[r.Request]
	if !ok {
		return fmt.Sprintf("SECOND ANSWER: %v", r)
	}
	delete(e.requests, r.Request)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", s.client, s.command, kafkaName(r.Err))
	switch result := r.Result.(type) {
	case coordinator.JoinResult:
		s.to.learn(s.join, result, r.Err)
		writeJoin(&b, result, r.Err)
	case coordinator.SyncResult:
		if r.Err == nil {
			fmt.Fprintf(&b, " %s/%s assignment=%q", result.ProtocolType, result.ProtocolName, result.Assignment)
		}
	case coordinator.LeaveResult:
		for _, m := range result.Members {
			fmt.Fprintf(&b, " %s=%s", identity(m.MemberID, m.InstanceID), kafkaName(m.Err))
		}
	case coordinator.CommitResult:
		writeErrors(&b, result.Errs)
	case coordinator.DeleteOffsetsResult:
		writeErrors(&b, result.Errs)
	}
	return b.String()
}

// learn keeps what a real client keeps of a join's answer.
func (c *client) learn(sent coordinator.Join, r coordinator.JoinResult, err error) {
	switch {
	case err == nil:
		c.joined = sent
		c.memberID, c.generation, c.protocolType, c.protocol = r.MemberID, r.Generation, r.ProtocolType, r.ProtocolName
	case errors.Is(err, coordinator.ErrMemberIDRequired):
		c.joined, c.memberID = sent, r.MemberID
	}
}

func writeJoin(b *strings.Builder, r coordinator.JoinResult, err error) {
	fmt.Fprintf(b, " member=%s", r.MemberID)
	if err != nil {
		return
	}
	fmt.Fprintf(b, " generation=%d %s/%s leader=%s", r.Generation, r.ProtocolType, r.ProtocolName, r.Leader)
	if r.SkipAssignment {
		b.WriteString(" skip-assignment")
	}
	for _, m := range r.Members {
		fmt.Fprintf(b, " %s:%s", identity(m.MemberID, m.InstanceID), m.Metadata)
	}
}

// writeErrors writes nothing if all is well.
func writeErrors(b *strings.Builder, errs []error) {
	if errors.Join(errs...) == nil {
		return
	}
	for _, err := range errs {
		fmt.Fprintf(b, " %s", kafkaName(err))
	}
}

func identity(memberID, instanceID string) string {
	if instanceID == "" {
		return memberID
	}
	return memberID + "(" + instanceID + ")"
}

// kafkaName returns an error as Kafka names it.
func kafkaName(err error) string {
	if err == nil {
		return "ok"
	}
	for _, known := range []struct {
		err  error
		name string
	}{
		{coordinator.ErrOffsetMetadataTooLarge, "OFFSET_METADATA_TOO_LARGE"},
		{coordinator.ErrLoadInProgress, "COORDINATOR_LOAD_IN_PROGRESS"},
		{coordinator.ErrNotAvailable, "COORDINATOR_NOT_AVAILABLE"},
		{coordinator.ErrNotCoordinator, "NOT_COORDINATOR"},
		{coordinator.ErrIllegalGeneration, "ILLEGAL_GENERATION"},
		{coordinator.ErrInconsistentGroupProtocol, "INCONSISTENT_GROUP_PROTOCOL"},
		{coordinator.ErrInvalidGroupID, "INVALID_GROUP_ID"},
		{coordinator.ErrUnknownMemberID, "UNKNOWN_MEMBER_ID"},
		{coordinator.ErrInvalidSessionTimeout, "INVALID_SESSION_TIMEOUT"},
		{coordinator.ErrRebalanceInProgress, "REBALANCE_IN_PROGRESS"},
		{coordinator.ErrInvalidRequest, "INVALID_REQUEST"},
		{coordinator.ErrNonEmptyGroup, "NON_EMPTY_GROUP"},
		{coordinator.ErrGroupIDNotFound, "GROUP_ID_NOT_FOUND"},
		{coordinator.ErrMemberIDRequired, "MEMBER_ID_REQUIRED"},
		{coordinator.ErrGroupMaxSizeReached, "GROUP_MAX_SIZE_REACHED"},
		{coordinator.ErrFencedInstanceID, "FENCED_INSTANCE_ID"},
		{coordinator.ErrGroupSubscribedToTopic, "GROUP_SUBSCRIBED_TO_TOPIC"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return err.Error()
}
