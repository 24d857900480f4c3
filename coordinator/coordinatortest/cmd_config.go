// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// config starts the story with other settings.
//
//	config [initial-delay=3s] [retention=168h] [max-groups=n] [max-members=n] [max-offsets=n] [max-group-size=n]
//	       [max-protocols=n] [max-metadata=n] [max-assignment=n]
func (e *Env) config(t *testing.T, d *datadriven.TestData) error {
	c := &e.cfg
	c.InitialRebalanceDelay = duration(t, d, "initial-delay", c.InitialRebalanceDelay)
	c.OffsetsRetention = duration(t, d, "retention", c.OffsetsRetention)
	c.MaxGroups = number(t, d, "max-groups", c.MaxGroups)
	c.MaxMembers = number(t, d, "max-members", c.MaxMembers)
	c.MaxOffsets = number(t, d, "max-offsets", c.MaxOffsets)
	c.MaxGroupSize = number(t, d, "max-group-size", c.MaxGroupSize)
	c.MaxProtocols = number(t, d, "max-protocols", c.MaxProtocols)
	c.MaxMemberMetadata = number(t, d, "max-metadata", c.MaxMemberMetadata)
	c.MaxAssignment = number(t, d, "max-assignment", c.MaxAssignment)
	e.groups = coordinator.NewGroups(*c)
	return c.Validate()
}
