// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every commit is one group's, and no group has two more than another.
func TestPart(t *testing.T) {
	for _, test := range []struct{ total, n int }{{10, 1}, {10, 3}, {20_000, 100}, {3, 7}} {
		next := 0
		for i := range test.n {
			first, end := part(test.total, test.n, i)
			if least := test.total / test.n; first != next || end-first < least || end-first > least+1 {
				t.Errorf("%d of %d things: %d to %d after %d", i, test.total, first, end, next)
			}
			next = end
		}
		if next != test.total {
			t.Errorf("%d of %d things", next, test.total)
		}
	}
}

func TestCheckCommitted(t *testing.T) {
	answer := kmsg.NewPtrOffsetCommitResponse()
	if err := checkCommitted(answer); err == nil {
		t.Error("an answer about nothing will do")
	}
	answer.Topics = []kmsg.OffsetCommitResponseTopic{{Partitions: make([]kmsg.OffsetCommitResponseTopicPartition, 1)}}
	if err := checkCommitted(answer); err != nil {
		t.Error(err)
	}
	answer.Topics[0].Partitions[0].ErrorCode = kerr.NotCoordinator.Code
	if err := checkCommitted(answer); !errors.Is(err, kerr.NotCoordinator) {
		t.Error(err)
	}
}
