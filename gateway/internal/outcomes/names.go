// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import "github.com/twmb/franz-go/pkg/kerr"

// Codes is how many error codes Kafka 4.1 has, with that of no error: from -1 on without a gap.
const Codes = 135

// Slot numbers the codes from 0 on: 0 to Codes-1 those that Kafka has, Codes all others.
func Slot(code int16) int {
	if code < -1 || int(code) >= Codes-1 {
		return Codes
	}
	return int(code) + 1
}

// Name is what Kafka calls the code of a slot (org.apache.kafka.common.protocol.Errors); OTHER is none of Kafka's.
func Name(slot int) string {
	const none, notLeaderOrFollower = 1, 7
	switch {
	case slot == none:
		return "NONE"
	case slot == notLeaderOrFollower:
		return "NOT_LEADER_OR_FOLLOWER" // since Kafka 2.6 (KAFKA-9822); the library has the older name
	case slot >= 0 && slot < Codes:
		if e, ok := kerr.ErrorForCode(int16(slot - 1)).(*kerr.Error); ok {
			return e.Message
		}
	}
	return "OTHER"
}
