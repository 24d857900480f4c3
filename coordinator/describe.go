// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package coordinator

import (
	"cmp"
	"slices"
	"strings"
)

// TypeClassic is the type of groups whose leader assigns, as ListGroups names it.
const TypeClassic = "classic"

// Description is a group as DescribeGroups shows it. Nothing in it may be altered.
type Description struct {
	State        State
	ProtocolType string
	// Protocol, and the members' Metadata, are shown in Stable only: until then the members have not agreed.
	Protocol string
	Members  []MemberDescription
}

// MemberDescription is a member as DescribeGroups shows it.
type MemberDescription struct {
	MemberID, InstanceID, ClientID, ClientHost string
	Metadata, Assignment                       []byte
}

// Describe returns what the group shows of itself. A group that is not there is Dead.
func (g *Group) Describe() Description {
	d := Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		d.Protocol = g.protocol
	}
	d.Members = slices.Grow(d.Members, len(g.members)) // nil stays nil: none
	for _, m := range g.members {
		shown := MemberDescription{
			MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			Assignment: m.assignment,
		}
		if g.state == Stable {
			shown.Metadata = m.metadata(g.protocol)
		}
		d.Members = append(d.Members, shown)
	}
	return d
}

// OffsetQuery asks for the offset of a partition.
type OffsetQuery struct {
	TopicPartition
	// TopicID, unless empty, must be that of the commit, if the commit gave one.
	TopicID string
}

// OffsetResult is the offset of a partition. Offset is -1 and LeaderEpoch -1 if there is none.
type OffsetResult struct {
	TopicPartition
	// TopicID is what the commit gave.
	TopicID     string
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// Offsets answers each query, in order. A nil slice asks for all that the group holds; they come sorted.
func (g *Group) Offsets(queries []OffsetQuery) []OffsetResult {
	if queries == nil {
		for _, tp := range sortedPartitions(g.offsets) {
			queries = append(queries, OffsetQuery{TopicPartition: tp})
		}
	}
	results := make([]OffsetResult, len(queries))
	for i, q := range queries {
		results[i] = OffsetResult{TopicPartition: q.TopicPartition, Offset: -1, LeaderEpoch: -1}
		if o, ok := g.offsets[q.TopicPartition]; ok && sameTopic(o.TopicID, q.TopicID) {
			results[i] = OffsetResult{q.TopicPartition, o.TopicID, o.Position, o.LeaderEpoch, o.Metadata}
		}
	}
	return results
}

// sameTopic compares two topic ids, of which an empty one may be any.
func sameTopic(a, b string) bool { return a == b || a == "" || b == "" }

// Compare orders by topic, then partition.
func (tp TopicPartition) Compare(other TopicPartition) int {
	return cmp.Or(strings.Compare(tp.Topic, other.Topic), cmp.Compare(tp.Partition, other.Partition))
}

// Listing is a group as ListGroups shows it.
type Listing struct {
	ID, ProtocolType string
	State            State
	Type             string
}

// Filter chooses groups for List. Case does not matter, nor do blanks around states. An empty list chooses all; names
// that mean nothing choose nothing (KIP-518, KIP-848).
type Filter struct {
	States, Types []string
}

func (f Filter) includes(l Listing) bool {
	return matches(f.States, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), l.State.String()) }) &&
		matches(f.Types, func(name string) bool { return strings.EqualFold(name, l.Type) })
}

func matches(names []string, is func(name string) bool) bool {
	return len(names) == 0 || slices.ContainsFunc(names, is)
}
