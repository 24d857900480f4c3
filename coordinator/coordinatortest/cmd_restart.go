// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// restart forgets everything but what the store has, and starts from that. Requests that wait are never answered.
//
//	restart
func (e *Env) restart(t *testing.T, _ *datadriven.TestData) error {
	e.groups = coordinator.NewGroups(e.cfg)
	e.held = nil
	clear(e.requests)
	err := e.store.Load(t.Context(), func(group string, change coordinator.Change) error {
		e.groups.Restore(group, change)
		return nil
	})
	e.groups.Resume(e.now)
	return err
}
