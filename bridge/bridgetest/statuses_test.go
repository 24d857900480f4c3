// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// Every status that package iggywire names is asked for by the suite, or there is a reason why it cannot be.
func TestEveryStatusIsAskedFor(t *testing.T) {
	w := &world{prefix: "wiretest-"}
	asked := map[iggywire.Status]bool{}
	for _, r := range w.refusals() {
		asked[r.status] = true
	}
	reasons := unprovoked()
	known := 0
	for s := range iggywire.Status(10_000) { // Iggy's numbers end at 5006
		if !s.Known() {
			continue
		}
		known++
		switch _, excused := reasons[s]; {
		case !asked[s] && !excused:
			t.Errorf("status %v: nobody asks for it", s)
		case asked[s] && excused:
			t.Errorf("status %v is asked for, and has a reason why it cannot be", s)
		}
	}
	if known != len(asked)+len(reasons) {
		t.Errorf("%d statuses known, %d asked for, %d not to be had: one is in a list and not in package iggywire", known, len(asked), len(reasons))
	}
}
