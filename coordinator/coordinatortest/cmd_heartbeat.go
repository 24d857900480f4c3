// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// heartbeat sends a client's heartbeat.
//
//	heartbeat A [member=id] [instance=id] [generation=n] [group=g]
func (e *Env) heartbeat(t *testing.T, d *datadriven.TestData) error {
	c := e.client(d)
	e.step(group(t, d), coordinator.Heartbeat{
		Request:    e.request(d),
		MemberID:   text(t, d, "member", c.memberID),
		InstanceID: text(t, d, "instance", c.joined.InstanceID),
		Generation: int32(number(t, d, "generation", int(c.generation))),
	})
	return nil
}
