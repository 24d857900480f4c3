// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// describe shows a group as DescribeGroups does.
//
//	describe [group=g]
func (e *Env) describe(t *testing.T, d *datadriven.TestData) error {
	shown, err := e.groups.Describe(group(t, d))
	e.printf("%s %v %s/%s", kafkaName(err), shown.State, shown.ProtocolType, shown.Protocol)
	for _, m := range shown.Members {
		e.printf("%s client=%s%s metadata=%q assignment=%q",
			identity(m.MemberID, m.InstanceID), m.ClientID, m.ClientHost, m.Metadata, m.Assignment)
	}
	return nil
}
