// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import "errors"

// What a group answers when it refuses, one error per Kafka error. The numbers are Kafka's error codes.
var (
	// ErrOffsetMetadataTooLarge: the metadata of one committed offset is longer than Config.MaxOffsetMetadata (12).
	ErrOffsetMetadataTooLarge = errors.New("coordinator: offset metadata too large")
	// ErrLoadInProgress: the state is still being loaded; try again (14).
	ErrLoadInProgress = errors.New("coordinator: load in progress")
	// ErrNotAvailable: the state could not be made durable, a bound over all groups is reached, or the driver has
	// stopped; find the coordinator and try again (15).
	ErrNotAvailable = errors.New("coordinator: not available")
	// ErrNotCoordinator: another coordinator has taken over; a Store reports it (16).
	ErrNotCoordinator = errors.New("coordinator: not the coordinator of this group")
	// ErrIllegalGeneration: the generation is not the group's (22).
	ErrIllegalGeneration = errors.New("coordinator: illegal generation")
	// ErrInconsistentGroupProtocol: the protocol type or the protocols do not fit those of the members (23).
	ErrInconsistentGroupProtocol = errors.New("coordinator: inconsistent group protocol")
	// ErrInvalidGroupID: the group id is empty where a group with members is meant (24).
	ErrInvalidGroupID = errors.New("coordinator: invalid group id")
	// ErrUnknownMemberID: the group has no such member (25).
	ErrUnknownMemberID = errors.New("coordinator: unknown member id")
	// ErrInvalidSessionTimeout: the session timeout is outside Config's bounds (26).
	ErrInvalidSessionTimeout = errors.New("coordinator: invalid session timeout")
	// ErrRebalanceInProgress: the member has to join again (27).
	ErrRebalanceInProgress = errors.New("coordinator: rebalance in progress")
	// ErrInvalidRequest: a request is larger than Config allows for one member (42).
	ErrInvalidRequest = errors.New("coordinator: invalid request")
	// ErrNonEmptyGroup: what was asked needs a group without members (68).
	ErrNonEmptyGroup = errors.New("coordinator: group is not empty")
	// ErrGroupIDNotFound: there is no such group (69).
	ErrGroupIDNotFound = errors.New("coordinator: group id not found")
	// ErrMemberIDRequired: join again with the member id that came with this error, KIP-394 (79).
	ErrMemberIDRequired = errors.New("coordinator: member id required")
	// ErrGroupMaxSizeReached: the group has as many members as it may (81).
	ErrGroupMaxSizeReached = errors.New("coordinator: group max size reached")
	// ErrFencedInstanceID: another member holds this instance id, KIP-345 (82).
	ErrFencedInstanceID = errors.New("coordinator: fenced instance id")
	// ErrGroupSubscribedToTopic: a member subscribes to the topic whose offset should go, KIP-496 (86).
	ErrGroupSubscribedToTopic = errors.New("coordinator: group is subscribed to topic")
)
