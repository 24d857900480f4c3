// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import (
	"errors"
	"testing"
)

// An answer's count and its bytes must fit: whoever looks at the first message must find one.
func TestPollResultCounts(t *testing.T) {
	message := make([]byte, MessageHeaderSize)
	for _, tc := range []struct {
		name     string
		count    uint32
		messages []byte
		ok       bool
	}{
		{"none", 0, nil, true},
		{"one", 1, message, true},
		{"bytes without a count", 0, message[:5], false},
		{"a count without bytes", 1, nil, false},
		{"too few bytes", 2, message, false},
		{"a count of four billion", 1<<32 - 1, message, false},
	} {
		body := append(PollResult{Count: tc.count}.AppendHeader(nil), tc.messages...)
		if _, err := ParsePollResult(body); (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
