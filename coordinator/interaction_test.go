// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator/coordinatortest"
)

// TestStories runs the files under testdata, each in a world of its own. With -rewrite it writes what happens into them.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		env := coordinatortest.New()
		datadriven.RunTest(t, path, env.Run)
	})
}
