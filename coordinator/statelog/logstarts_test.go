// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog/statelogtest"
)

// A log start that was moved back stays where it is: through a checkpoint, and when the storage loses the record of it and the
// log is mended.
func TestLogStartMovesBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		happen func(*statelogtest.Storage, *gateway)
	}{
		{"nothing", func(*statelogtest.Storage, *gateway) {}},
		{"lost", func(s *statelogtest.Storage, _ *gateway) {
			s.Lose(0, 1)
			time.Sleep(5 * time.Second)
		}},
		{"checkpoint", func(_ *statelogtest.Storage, g *gateway) {
			for i := range int64(30) {
				g.mustCommit("g", "t", 0, i)
			}
			time.Sleep(1100 * time.Millisecond) // it is written, at the latest, with the look at the tail that comes every second
			if !g.saw("checkpoint at") {
				t.Error("no checkpoint")
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := statelogtest.New(1)
				g := startGateway(t, s, "a", func(c *statelog.Config) { c.CheckpointRecords = 20 })
				back := statelog.LogStart{Offset: 4, Until: 90}
				for _, start := range []statelog.LogStart{{Offset: 9, Until: 90}, back} {
					if err := g.SetLogStart(t.Context(), "id", "name", 0, start); err != nil {
						t.Fatal(err)
					}
				}
				tc.happen(s, g)
				equal(t, map[int32]statelog.LogStart{0: back}, g.LogStarts("id"))
				g.mustStop()
				g = startGateway(t, s, "b")
				equal(t, map[int32]statelog.LogStart{0: back}, g.LogStarts("id"))
				g.mustStop()
			})
		})
	}
}
