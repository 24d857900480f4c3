// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// leave removes members, the client's own unless the input names others, one per line: an id, "id(instance)" or
// "(instance)".
//
//	leave A [group=g]
func (e *Env) leave(t *testing.T, d *datadriven.TestData) error {
	l := coordinator.Leave{Request: e.request(d)}
	for _, words := range lines(d) {
		memberID, instanceID, _ := strings.Cut(words[0], "(")
		l.Members = append(l.Members, coordinator.Identity{MemberID: memberID, InstanceID: strings.TrimSuffix(instanceID, ")")})
	}
	if l.Members == nil {
		l.Members = []coordinator.Identity{{MemberID: e.client(d).memberID}}
	}
	e.step(group(t, d), l)
	return nil
}
