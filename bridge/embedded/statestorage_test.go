// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"os"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
)

// The state log's storage: on both stores, and on a real server where IGGY_ADDR names one.
func TestStateStorage(t *testing.T) {
	for name, cfg := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, cfg)
			bridgetest.RunStateStorage(t, bridge.Config{Addr: s.Addr().String(), Username: "iggy", Password: "iggy"})
		})
	}
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("IGGY_ADDR")
		if addr == "" {
			t.Skip("IGGY_ADDR names no real server")
		}
		bridgetest.RunStateStorage(t, bridge.Config{
			Addr:     addr,
			Username: cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"),
			Password: cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy"),
		})
	})
}
