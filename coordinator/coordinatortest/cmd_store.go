// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// store holds writes up from now on, or ends those held up: durable, or lost if they fail. After that it writes at once
// again, unless told to go on holding.
//
//	store hold
//	store release [hold]
//	store fail [hold]
//	store fenced [hold]
func (e *Env) storeCommand(_ *testing.T, d *datadriven.TestData) error {
	e.holding = d.HasArg("hold")
	held := e.held
	var failure error
	switch what := d.CmdArgs[0].Key; what {
	case "hold":
		return nil
	case "release":
	case "fail":
		failure = errors.New("disk full")
	case "fenced":
		failure = coordinator.ErrNotCoordinator
	default:
		return fmt.Errorf("store %s: no such command", what)
	}
	e.held = nil
	for _, w := range held {
		end := func(err error) {
			e.perform("", e.groups.Step(e.now, w.Group, coordinator.Written{ID: w.ID, Err: err}))
		}
		if failure != nil {
			end(failure)
			continue
		}
		e.store.Append(w.Group, w.Changes, end)
	}
	return nil
}
