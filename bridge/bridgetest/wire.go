// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// wire runs the part of the suite that speaks to the server without the bridge: what is promised to native clients,
// and what the bridge relies on.
func wire(t *testing.T, server *bridge.Config) {
	w := newWorld(t, server)
	t.Run("statuses", w.statuses)
	t.Run("operations", w.operations)
	t.Run("permissions", w.permissions)
	t.Run("traps", w.traps)
}
