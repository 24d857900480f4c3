// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinatortest

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

// join sends a client's join. Without member= it sends the id that the client has, or none; what else is left out is as
// in the join that the client last had success with; new makes it a new client.
//
//	join A [new] [member=id] [instance=id] [v=5] [type=consumer] [protocols=(range:metadata,sticky)] [topics=(t)]
//	       [session=10s] [rebalance=60s] [group=g]
//
// The version decides as JoinGroup's does: v4 requires a member id, v9 knows skip_assignment, v0 has one timeout.
// A protocol without metadata says "sub".
func (e *Env) join(t *testing.T, d *datadriven.TestData) error {
	c := e.client(d)
	if d.HasArg("new") {
		*c = client{}
	}
	j := c.joined
	if j.ClientID == "" {
		j = coordinator.Join{
			ClientID: d.CmdArgs[0].Key, ClientHost: "/127.0.0.1", ProtocolType: "consumer",
			SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute, Protocols: parseProtocols([]string{"range"}),
		}
	}
	j.Request, j.Unique = e.request(d), e.unique()
	j.MemberID = text(t, d, "member", c.memberID)
	j.InstanceID = text(t, d, "instance", j.InstanceID)
	j.ProtocolType = text(t, d, "type", j.ProtocolType)
	j.SessionTimeout = duration(t, d, "session", j.SessionTimeout)
	j.RebalanceTimeout = duration(t, d, "rebalance", j.RebalanceTimeout)
	if d.HasArg("protocols") {
		j.Protocols = parseProtocols(list(d, "protocols"))
	}
	if d.HasArg("topics") {
		j.Topics = list(d, "topics")
	}
	version := number(t, d, "v", 5)
	j.RequireMemberID, j.SkipAssignment = version >= 4, version >= 9
	if version == 0 {
		j.RebalanceTimeout = 0
	}
	e.requests[j.Request] = sent{client: d.CmdArgs[0].Key, command: d.Cmd, to: c, join: j}
	e.step(group(t, d), j)
	return nil
}

func parseProtocols(words []string) []coordinator.Protocol {
	var all []coordinator.Protocol
	for _, word := range words {
		name, metadata, ok := strings.Cut(word, ":")
		if !ok {
			metadata = "sub"
		}
		if name != "" {
			all = append(all, coordinator.Protocol{Name: name, Metadata: []byte(metadata)})
		}
	}
	return all
}
