// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// trouble is what it means that a client of a cluster that answers fails at something.
func (r *records) trouble(doing string, err error) finding {
	var known *kerr.Error
	switch {
	case errors.As(err, &known):
		return failed(fmt.Sprintf("%s fails: %s (%d)", doing, known.Message, known.Code), advice(known))
	case isTimeout(err), errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return failed(doing+" got no answer in time: "+cause(err), adviceSlow)
	}
	return failed(doing+" fails: "+cause(err), adviceSlow)
}

const adviceSlow = "The gateway answers, and what is behind it does not: is Iggy running? Its admin listener says so at /readyz, its log why."

// advice is what to do about an error that a server has answered.
func advice(err *kerr.Error) string {
	switch err {
	case kerr.TopicAuthorizationFailed:
		return "The user lacks a permission in Iggy: manage topics to make one, send messages to write, poll messages to read. " +
			"Name a topic that it may use: --topic NAME."
	case kerr.GroupAuthorizationFailed:
		return "The user may read nothing: give it poll messages in Iggy, for a topic at least."
	case kerr.ClusterAuthorizationFailed:
		return "The user may write nowhere, and so gets no producer id: give it send messages in Iggy, for a topic at least."
	case kerr.UnknownTopicOrPartition:
		return "There is no such topic: make it, or leave --topic out."
	case kerr.InvalidTimestamp:
		return "This machine's clock is far off the server's: have both follow a time server (NTP)."
	case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.RequestTimedOut, kerr.NetworkException, kerr.CoordinatorNotAvailable:
		return adviceSlow
	case kerr.CoordinatorLoadInProgress, kerr.NotController:
		return "The gateway has not loaded its state, which takes a while after its start, or another gateway has taken it over: its admin listener says " +
			"which at /readyz, its log why."
	case kerr.NotCoordinator:
		return "Another gateway has taken the groups over: only one may run in front of an Iggy. Look at its log."
	case kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend:
		return "Brokers are missing that the topic's min.insync.replicas needs."
	case kerr.UnknownServerError:
		return "The gateway's log has a line with what Iggy said. Its own Iggy user may lack a permission."
	}
	return "The server's log says more."
}

// code is an error code of Kafka's with its name.
func code(c int16) string {
	if err := kerr.TypedErrorForCode(c); err != nil {
		return fmt.Sprintf("%s (%d)", err.Message, c)
	}
	return fmt.Sprintf("error %d", c)
}
