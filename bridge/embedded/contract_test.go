// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"os"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
)

// The bridge's own suite, on both stores, and on a real server where IGGY_ADDR names one (IGGY_USERNAME and
// IGGY_PASSWORD, iggy by default).
func TestBridgeContract(t *testing.T) {
	for name, cfg := range map[string]Config{
		"memory":  {InMemory: true},
		"durable": {DataDir: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			bridgetest.Run(t, s.Addr().String(), "iggy", "iggy")
		})
	}
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv("IGGY_ADDR")
		if addr == "" {
			t.Skip("IGGY_ADDR names no real server")
		}
		bridgetest.Run(t, addr, cmp.Or(os.Getenv("IGGY_USERNAME"), "iggy"), cmp.Or(os.Getenv("IGGY_PASSWORD"), "iggy"))
	})
}
