// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// sync sends a client's sync, with the protocol that its join was told. Each line of input is "member assignment".
//
//	sync A [member=id] [instance=id] [generation=n] [v=5] [type=consumer] [protocol=range] [group=g]
func (e *Env) sync(t *testing.T, d *datadriven.TestData) error {
	c := e.client(d)
	s := coordinator.Sync{
		Request:         e.request(d),
		MemberID:        text(t, d, "member", c.memberID),
		InstanceID:      text(t, d, "instance", c.joined.InstanceID),
		Generation:      int32(number(t, d, "generation", int(c.generation))),
		RequireProtocol: number(t, d, "v", 5) >= 5,
	}
	if s.RequireProtocol {
		s.ProtocolType = text(t, d, "type", c.protocolType)
		s.ProtocolName = text(t, d, "protocol", c.protocol)
	}
	for _, words := range lines(d) {
		if len(words) != 2 {
			return fmt.Errorf("%q is not \"member assignment\"", words)
		}
		s.Assignments = append(s.Assignments, coordinator.Assignment{MemberID: words[0], Data: []byte(words[1])})
	}
	e.step(group(t, d), s)
	return nil
}
