// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

// Iggy's own limits on one message, in bytes.
const (
	MaxPayload     = 64_000_000
	MaxUserHeaders = 100_000
)

// MessageLimits bounds the messages that records become. Zero, or more than Iggy allows, means Iggy's own limit.
type MessageLimits struct {
	MaxPayload     int // bytes; a record that needs more is refused
	MaxUserHeaders int // bytes; a record that needs more goes into an envelope
}

func (l MessageLimits) withDefaults() MessageLimits {
	if l.MaxPayload <= 0 || l.MaxPayload > MaxPayload {
		l.MaxPayload = MaxPayload
	}
	if l.MaxUserHeaders <= 0 || l.MaxUserHeaders > MaxUserHeaders {
		l.MaxUserHeaders = MaxUserHeaders
	}
	return l
}
