// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every version: this gateway for every group; transactions are refused in a way that ends clients' tries.
func TestFindCoordinator(t *testing.T) {
	gw := shared(t)
	c := gw.dial(t)
	for version := int16(0); version <= 6; version++ {
		if version < 4 {
			got := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, 0, "group"))
			if got.ErrorCode != 0 || got.NodeID != nodeID || got.Host != advertised || got.Port != gw.port {
				t.Errorf("v%d: %+v", version, got)
			}
			if version == 0 {
				continue // asks for groups alone
			}
			got = ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, 1, "tx"))
			if got.ErrorCode != 53 || got.ErrorMessage == nil || *got.ErrorMessage != "transactions are not supported" || got.NodeID != -1 || got.Port != -1 {
				t.Errorf("v%d, transaction: %+v", version, got)
			}
			continue
		}
		got := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, 0, "a", "", "b"))
		if len(got.Coordinators) != 3 {
			t.Fatalf("v%d: %+v", version, got)
		}
		for i, key := range []string{"a", "", "b"} {
			c := got.Coordinators[i]
			if c.Key != key || c.ErrorCode != 0 || c.NodeID != nodeID || c.Host != advertised || c.Port != gw.port || c.ErrorMessage == nil || *c.ErrorMessage != "" {
				t.Errorf("v%d: %+v", version, c)
			}
		}
		got = ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, 1, "tx"))
		if tx := got.Coordinators[0]; tx.ErrorCode != 53 || *tx.ErrorMessage != "transactions are not supported" || tx.NodeID != -1 {
			t.Errorf("v%d, transaction: %+v", version, tx)
		}
	}
}
