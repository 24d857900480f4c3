// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// delete-offsets removes the offsets that the lines of input name, "topic/partition".
//
//	delete-offsets [group=g]
func (e *Env) deleteOffsets(t *testing.T, d *datadriven.TestData) error {
	all, err := partitions(d)
	if err != nil {
		return err
	}
	e.step(group(t, d), coordinator.DeleteOffsets{Request: e.request(d), Partitions: all})
	return nil
}
