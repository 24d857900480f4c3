// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/binary"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// consumerProtocol is the protocol type of groups of consumers, whose metadata says what they subscribe to.
const consumerProtocol = "consumer"

// subscribedTopics reads what a member subscribes to out of its metadata, sorted and without repetitions. Nil means
// unknown: it is no consumer, or one of its protocols cannot be read. Protocols normally all say the same.
func subscribedTopics(protocolType string, protocols []coordinator.Protocol) []string {
	if protocolType != consumerProtocol {
		return nil
	}
	topics := []string{}
	for _, p := range protocols {
		var ok bool
		if topics, ok = appendSubscription(topics, p.Metadata); !ok {
			return nil
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// appendSubscription adds the topics of a ConsumerProtocolSubscription:
//
//	version int16 (0 and up) | topics [](length int16, name) | what later versions added
//
// It is false for bytes that do not begin like one.
func appendSubscription(topics []string, b []byte) ([]string, bool) {
	const versionSize, countSize, lengthSize = 2, 4, 2
	if len(b) < versionSize+countSize || int16(binary.BigEndian.Uint16(b)) < 0 {
		return nil, false
	}
	count := int32(binary.BigEndian.Uint32(b[versionSize:]))
	b = b[versionSize+countSize:]
	if count < 0 || int(count) > len(b)/lengthSize {
		return nil, false
	}
	for range count {
		if len(b) < lengthSize {
			return nil, false
		}
		n := int(int16(binary.BigEndian.Uint16(b)))
		b = b[lengthSize:]
		if n < 0 || n > len(b) {
			return nil, false
		}
		topics = append(topics, string(b[:n]))
		b = b[n:]
	}
	return topics, true
}
