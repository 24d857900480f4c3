// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// The classes of failure a caller acts on. An error of this package is one of them, a *StatusError, the caller's own
// context error, or says that what the caller handed in is malformed; test with errors.Is or with the predicates below.
var (
	// ErrUnavailable: Iggy could not be reached, and nothing was sent. Retrying is safe.
	ErrUnavailable = errors.New("bridge: iggy unavailable")
	// ErrUnknownOutcome: a write was sent and its fate could not be learnt in time. It may exist.
	ErrUnknownOutcome = errors.New("bridge: outcome of the write unknown")
	// ErrConnectionLost: the connection went away between a request and its answer.
	ErrConnectionLost = errors.New("bridge: connection to iggy lost")
	// ErrMalformed: Iggy's answer does not follow its own protocol.
	ErrMalformed = errors.New("bridge: malformed answer from iggy")
	// ErrAnswerTooLarge: an answer is larger than Config.MaxAnswerSize. The connection is dropped.
	ErrAnswerTooLarge = errors.New("bridge: answer from iggy too large")
	// ErrTopicNotFound: no Iggy topic stands behind that Kafka topic name or id.
	ErrTopicNotFound = errors.New("bridge: topic not found")
	// ErrPartitionNotFound: the topic has no such partition.
	ErrPartitionNotFound = errors.New("bridge: partition not found")
	// ErrBusy: a bounded queue is full; nothing was written.
	ErrBusy = errors.New("bridge: queue full")
	// ErrOutOfOrderSequence: a batch of an idempotent producer does not follow the last one of that producer, and is none
	// of those remembered. Nothing was written. Kafka: OUT_OF_ORDER_SEQUENCE_NUMBER.
	ErrOutOfOrderSequence = errors.New("bridge: out of order sequence number")
	// ErrInvalidProducerEpoch: a newer epoch of the batch's producer has written to the partition. Nothing was written.
	// Kafka: INVALID_PRODUCER_EPOCH.
	ErrInvalidProducerEpoch = errors.New("bridge: invalid producer epoch")
	// ErrRefused: Iggy does not let the user in: a wrong password or token, an unknown or inactive user. Of a Session that
	// was signed in: it can open no connection any more, and its clients must sign in again.
	ErrRefused = errors.New("bridge: iggy does not let the user in")
	// ErrClosed: the bridge, or the lane that was asked, has been closed; nothing was written.
	ErrClosed = errors.New("bridge: closed")
)

// StatusError is Iggy's refusal of one command.
type StatusError struct {
	Command iggywire.Code
	Status  iggywire.Status
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("bridge: iggy refused %v: %v", e.Command, e.Status)
}

// StreamMissingError: the topic map names a stream that Iggy does not have. It is a StatusError, too.
type StreamMissingError struct{ Stream string }

func (e *StreamMissingError) Error() string {
	return fmt.Sprintf("bridge: iggy has no stream %q, which the topic map names", e.Stream)
}

func (e *StreamMissingError) Unwrap() error {
	return &StatusError{Command: iggywire.CodeGetStream, Status: iggywire.StatusStreamNotFound}
}

func hasStatus(err error, statuses ...iggywire.Status) bool {
	se, ok := errors.AsType[*StatusError](err)
	return ok && slices.Contains(statuses, se.Status)
}

// IsNotFound reports that the stream, topic or partition named does not exist.
func IsNotFound(err error) bool {
	return errors.Is(err, ErrTopicNotFound) || errors.Is(err, ErrPartitionNotFound) ||
		hasStatus(err, iggywire.StatusStreamNotFound, iggywire.StatusTopicNotFound, iggywire.StatusPartitionNotFound)
}

// IsExists reports that what should be created is already there.
func IsExists(err error) bool {
	return hasStatus(err, iggywire.StatusStreamExists, iggywire.StatusTopicExists)
}

// IsUnauthorized reports that Iggy's permissions forbid the command to the user it ran as.
func IsUnauthorized(err error) bool { return hasStatus(err, iggywire.StatusUnauthorized) }

// IsLoginFailed reports that Iggy did not accept a user name and password, or forgot the session.
func IsLoginFailed(err error) bool {
	return hasStatus(err, iggywire.StatusUnauthenticated, iggywire.StatusInvalidCredentials, iggywire.StatusInvalidUsername,
		iggywire.StatusInvalidPassword, iggywire.StatusUserInactive)
}

// IsTooLarge reports that Iggy refused a message for its size.
func IsTooLarge(err error) bool {
	return hasStatus(err, iggywire.StatusTooBigMessagePayload, iggywire.StatusTooBigUserHeaders)
}

// IsTooManyPartitions reports that a partition count is outside what Iggy allows.
func IsTooManyPartitions(err error) bool { return hasStatus(err, iggywire.StatusTooManyPartitions) }

// IsUnknownOutcome reports that a write may or may not have happened.
func IsUnknownOutcome(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// IsTimeout reports that the caller's deadline passed or its context was cancelled.
func IsTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// IsRetryable reports a failure of the way to Iggy, not of the request: the same call may succeed later.
func IsRetryable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrMalformed) ||
		errors.Is(err, ErrAnswerTooLarge) || errors.Is(err, ErrBusy) || errors.Is(err, ErrClosed) || IsTimeout(err)
}
