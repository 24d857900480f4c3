// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every version gives a new id with epoch 0, whatever the client names; half of id and epoch is 42, and a
// transactional id is refused.
func TestInitProducerID(t *testing.T) {
	c := shared(t).dial(t)
	seen := map[int64]bool{}
	tx, empty := "tx", ""
	for version := int16(0); version <= 5; version++ {
		for _, tc := range []struct {
			tx    *string
			id    int64
			epoch int16
			code  int16
			since int16
		}{
			{nil, -1, -1, 0, 0}, {&empty, -1, -1, 0, 0}, {&tx, -1, -1, codeUnsupportedVersion, 0},
			{nil, 5, 3, 0, 3}, {nil, 5, -1, codeInvalidRequest, 3}, {nil, -1, 3, codeInvalidRequest, 3}, {&tx, 5, -1, codeUnsupportedVersion, 3},
		} {
			if version < tc.since {
				continue
			}
			got := ask[*kmsg.InitProducerIDResponse](c, initProducerID(version, tc.tx, tc.id, tc.epoch))
			if got.ErrorCode != tc.code {
				t.Errorf("v%d, %+v: error %d", version, tc, got.ErrorCode)
			}
			if good := tc.code == 0; good != (got.ProducerID >= 0) || good != (got.ProducerEpoch == 0) || seen[got.ProducerID] {
				t.Errorf("v%d, %+v: id %d, epoch %d", version, tc, got.ProducerID, got.ProducerEpoch)
			}
			if tc.code == 0 {
				seen[got.ProducerID] = true
				if node := got.ProducerID >> 47; node != nodeID {
					t.Errorf("id %d is of node %d", got.ProducerID, node)
				}
			}
		}
	}
}
