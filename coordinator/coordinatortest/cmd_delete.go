// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// delete removes a group.
//
//	delete [group=g]
func (e *Env) delete(t *testing.T, d *datadriven.TestData) error {
	e.step(group(t, d), coordinator.Delete{Request: e.request(d)})
	return nil
}
