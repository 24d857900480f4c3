// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// Kafka's error codes, by Kafka's names (org.apache.kafka.common.protocol.Errors).
const (
	none                      int16 = 0
	unknownServerError        int16 = -1
	offsetOutOfRange          int16 = 1
	corruptMessage            int16 = 2
	unknownTopicOrPartition   int16 = 3
	leaderNotAvailable        int16 = 5
	notLeaderOrFollower       int16 = 6
	requestTimedOut           int16 = 7
	messageTooLarge           int16 = 10
	offsetMetadataTooLarge    int16 = 12
	coordinatorLoadInProgress int16 = 14
	coordinatorNotAvailable   int16 = 15
	notCoordinator            int16 = 16
	invalidTopicException     int16 = 17
	invalidRequiredAcks       int16 = 21
	illegalGeneration         int16 = 22
	inconsistentGroupProtocol int16 = 23
	invalidGroupID            int16 = 24
	unknownMemberID           int16 = 25
	invalidSessionTimeout     int16 = 26
	rebalanceInProgress       int16 = 27
	topicAuthorizationFailed  int16 = 29
	groupAuthorizationFailed  int16 = 30
	clusterAuthFailed         int16 = 31
	invalidTimestamp          int16 = 32
	unsupportedMechanism      int16 = 33
	illegalSaslState          int16 = 34
	unsupportedVersion        int16 = 35
	topicAlreadyExists        int16 = 36
	invalidPartitions         int16 = 37
	invalidReplicationFactor  int16 = 38
	invalidReplicaAssignment  int16 = 39
	invalidConfig             int16 = 40
	notController             int16 = 41
	invalidRequest            int16 = 42
	policyViolation           int16 = 44
	outOfOrderSequence        int16 = 45
	invalidProducerEpoch      int16 = 47
	transactionalIDAuthFailed int16 = 53
	saslAuthenticationFailed  int16 = 58
	nonEmptyGroup             int16 = 68
	groupIDNotFound           int16 = 69
	fetchSessionIDNotFound    int16 = 70
	invalidFetchSessionEpoch  int16 = 71
	fencedLeaderEpoch         int16 = 74
	unknownLeaderEpoch        int16 = 75
	unsupportedCompressionTyp int16 = 76
	memberIDRequired          int16 = 79
	groupMaxSizeReached       int16 = 81
	fencedInstanceID          int16 = 82
	groupSubscribedToTopic    int16 = 86
	invalidRecord             int16 = 87
	unknownTopicID            int16 = 100
	inconsistentTopicID       int16 = 103
	fetchSessionTopicIDError  int16 = 106
)

// Errors that close the connection: the request cannot be answered.
var (
	errNoHandler = errors.New("api: no handler for this request")
	errAcksZero  = errors.New("api: a partition of a produce request with acks=0 failed")
	errBudget    = errors.New("api: no memory for the answer within the write timeout")

	errAnswerTooLarge = errors.New("api: the answer is too large")
)

// errNotAllowed: the client lacks a right to the topic.
var errNotAllowed = errors.New("api: the client may not do that with the topic")

// operation is what was being done when Iggy or the way to it failed: the same failure has other codes for a write,
// a read, and a change of topics.
type operation int

const (
	opProduce operation = iota
	opFetch
	opListOffsets
	opOffsetForLeaderEpoch
	opMetadata
	opCreateTopics
	opDeleteTopics
	opDeleteRecords
	opDescribeConfigs
	opAlterConfigs
	opCreatePartitions
	opDescribeProducers
	opDescribeACLs
	opGroups // the topics that a request about groups names
)

// code maps a bridge error to Kafka's code for an operation. deadline says whether the request's own time is over.
// What no code fits is logged, and answered -1.
//
// A write is 6 when it surely did not happen, whatever the clock says: its producer may send it again. It is 7 when
// nobody knows.
func (a *API) code(op operation, err error, deadline bool) int16 {
	admin := op == opCreateTopics || op == opDeleteTopics || op == opDescribeConfigs || op == opAlterConfigs || op == opCreatePartitions
	switch {
	case err == nil:
		return none
	case errors.Is(err, bridge.ErrRefused): // the client's own user; its next request closes the connection
		return unavailable(op)
	case bridge.IsLoginFailed(err):
		a.logFailure("iggy refuses the gateway's own user", err)
		return unknownServerError
	case bridge.IsUnauthorized(err), errors.Is(err, errNotAllowed):
		return topicAuthorizationFailed
	case bridge.IsNotFound(err):
		return unknownTopicOrPartition
	case bridge.IsExists(err):
		return topicAlreadyExists
	case bridge.IsTooManyPartitions(err):
		return invalidPartitions
	case bridge.IsTooLarge(err):
		return messageTooLarge
	case errors.Is(err, bridge.ErrOutOfOrderSequence):
		return outOfOrderSequence
	case errors.Is(err, bridge.ErrInvalidProducerEpoch):
		return invalidProducerEpoch
	case op == opProduce && !bridge.IsUnknownOutcome(err) && isUnwritten(err):
		return notLeaderOrFollower
	case bridge.IsUnknownOutcome(err), deadline, admin && errors.Is(err, context.DeadlineExceeded):
		switch op {
		case opFetch, opListOffsets, opOffsetForLeaderEpoch, opDescribeProducers:
			return notLeaderOrFollower
		case opGroups:
			return coordinatorNotAvailable
		}
		return requestTimedOut
	case bridge.IsRetryable(err), errors.Is(err, coordinator.ErrLoadInProgress):
		return unavailable(op)
	}
	a.logFailure("unexpected failure", err)
	return unknownServerError
}

// unavailable is the code for what can be done as soon as there is a way to Iggy again.
func unavailable(op operation) int16 {
	switch op {
	case opProduce, opFetch, opListOffsets, opOffsetForLeaderEpoch, opDeleteRecords, opDescribeProducers:
		return notLeaderOrFollower
	case opMetadata:
		return leaderNotAvailable
	case opGroups:
		return coordinatorNotAvailable
	default:
		return requestTimedOut
	}
}

// isUnwritten reports that a batch cannot have reached Iggy, or is not even known to be allowed there.
func isUnwritten(err error) bool {
	return errors.Is(err, bridge.ErrUnavailable) || errors.Is(err, bridge.ErrBusy) || errors.Is(err, bridge.ErrClosed) ||
		errors.Is(err, coordinator.ErrLoadInProgress)
}

// groupCode maps an error of the coordinator, or of the store behind it, to Kafka's code.
func (a *API) groupCode(err error) int16 {
	if err == nil {
		return none
	}
	for _, known := range [...]struct {
		err  error
		code int16
	}{
		{coordinator.ErrNotCoordinator, notCoordinator},
		{coordinator.ErrLoadInProgress, coordinatorLoadInProgress},
		{coordinator.ErrNotAvailable, coordinatorNotAvailable},
		{coordinator.ErrOffsetMetadataTooLarge, offsetMetadataTooLarge},
		{coordinator.ErrIllegalGeneration, illegalGeneration},
		{coordinator.ErrInconsistentGroupProtocol, inconsistentGroupProtocol},
		{coordinator.ErrInvalidGroupID, invalidGroupID},
		{coordinator.ErrUnknownMemberID, unknownMemberID},
		{coordinator.ErrInvalidSessionTimeout, invalidSessionTimeout},
		{coordinator.ErrRebalanceInProgress, rebalanceInProgress},
		{coordinator.ErrInvalidRequest, invalidRequest},
		{coordinator.ErrNonEmptyGroup, nonEmptyGroup},
		{coordinator.ErrGroupIDNotFound, groupIDNotFound},
		{coordinator.ErrMemberIDRequired, memberIDRequired},
		{coordinator.ErrGroupMaxSizeReached, groupMaxSizeReached},
		{coordinator.ErrFencedInstanceID, fencedInstanceID},
		{coordinator.ErrGroupSubscribedToTopic, groupSubscribedToTopic},
		// Its own time is over, which a broker's coordinator answers in the same words.
		{context.DeadlineExceeded, coordinatorNotAvailable},
		// The gateway stops: as when a broker resigns from a group.
		{context.Canceled, notCoordinator},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	a.logFailure("unexpected failure of a group", err)
	return unknownServerError
}

func (a *API) logFailure(what string, err error) {
	if _, ok := a.failures.Admit(a.Now()); ok {
		a.Logger.Error(what, "err", err)
	}
}

// message is a text for clients: the topic and the reason, never an address or a secret.
func message(format string, args ...any) *string { return kmsg.StringPtr(fmt.Sprintf(format, args...)) }

const (
	textUnknownTopic   = "This server does not host this topic-partition."
	textUnknownTopicID = "This server does not host this topic ID."
	textTimedOut       = "The request timed out."
	textUnauthorized   = "Topic authorization failed."
	textNoGroup        = "Group authorization failed."
	textNoCluster      = "Cluster authorization failed."
	textServerError    = "The server experienced an unexpected error when processing the request."
	textDuplicateTopic = "Duplicate topic name."
	textNotController  = "This is not the correct controller for this cluster."
)

// errorText is the text that goes with a code where the API has room for one.
func errorText(code int16) *string {
	switch code {
	case none:
		return nil
	case unknownTopicOrPartition:
		return message(textUnknownTopic)
	case unknownTopicID:
		return message(textUnknownTopicID)
	case requestTimedOut:
		return message(textTimedOut)
	case topicAuthorizationFailed:
		return message(textUnauthorized)
	case groupAuthorizationFailed:
		return message(textNoGroup)
	case clusterAuthFailed:
		return message(textNoCluster)
	case notController:
		return message(textNotController)
	case invalidTopicException:
		return message("The request attempted to perform an operation on an invalid topic.")
	case invalidPartitions:
		return message("Number of partitions is not allowed.")
	default:
		return message(textServerError)
	}
}
