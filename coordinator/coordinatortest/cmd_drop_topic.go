// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// drop-topic tells all groups that a topic is no more.
//
//	drop-topic topic=t [topic-id=id]
func (e *Env) dropTopic(t *testing.T, d *datadriven.TestData) error {
	e.perform("", e.groups.DropTopic(e.now, coordinator.DropTopic{
		Topic:   text(t, d, "topic", ""),
		TopicID: text(t, d, "topic-id", ""),
	}))
	return nil
}
