// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// advance lets time pass. What falls due on the way happens at its time, which is shown since the start of the story.
//
//	advance 10s
func (e *Env) advance(_ *testing.T, d *datadriven.TestData) error {
	by, err := time.ParseDuration(d.CmdArgs[0].Key)
	if err != nil {
		return err
	}
	until := e.now.Add(by)
	for {
		at, ok := e.groups.NextDeadline()
		if !ok || at.After(until) {
			break
		}
		e.now = at
		e.perform(fmt.Sprintf("%v ", at.Sub(e.start)), e.groups.Tick(at))
	}
	e.now = until
	return nil
}
