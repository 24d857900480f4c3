// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"slices"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// ResourceType is what Kafka's permissions are about, by its number there (org.apache.kafka.common.resource.ResourceType).
type ResourceType int8

const (
	AnyResource     ResourceType = 1 // in filters
	TopicResource   ResourceType = 2
	GroupResource   ResourceType = 3
	ClusterResource ResourceType = 4
)

// PatternType says how a resource's name is meant (org.apache.kafka.common.resource.PatternType).
type PatternType int8

const (
	AnyPattern     PatternType = 1 // in filters
	MatchPattern   PatternType = 2 // in filters: whatever pattern the name falls under
	LiteralPattern PatternType = 3
)

// PermissionType: Iggy has only permissions that allow (org.apache.kafka.common.acl.AclPermissionType).
type PermissionType int8

const (
	AnyPermission   PermissionType = 1 // in filters
	AllowPermission PermissionType = 3
)

const (
	// clusterName and wildcard are Kafka's (org.apache.kafka.common.resource.Resource.CLUSTER_NAME,
	// ResourcePattern.WILDCARD_RESOURCE).
	clusterName = "kafka-cluster"
	wildcard    = "*"
	// AnyHost: Iggy does not look at where a user comes from.
	AnyHost = "*"
	unknown = 0
)

// Grant is what a user may do with a resource, in Kafka's terms: an ALLOW binding with a literal pattern for each operation.
type Grant struct {
	Type       ResourceType
	Name       string
	Operations Operations
}

// Grants puts a user's permissions into Kafka's terms: those that hold everywhere for all topics, those in a stream for
// each topic that is there, by name. What is read or polled brings the use of groups with it, of which Iggy knows nothing.
func (a *Access) Grants(topics []*bridge.Topic) []Grant {
	var grants []Grant
	add := func(t ResourceType, name string, ops Operations) {
		if ops != 0 {
			grants = append(grants, Grant{t, name, ops})
		}
	}
	add(ClusterResource, clusterName, when(a.readServers, OpDescribe))
	add(TopicResource, wildcard, a.global.granted())
	for _, t := range topics {
		stream, topic := t.Numbers()
		add(TopicResource, t.Name, (a.streams[stream] | a.topics[place{stream, topic}]).granted())
	}
	add(GroupResource, wildcard, when(a.MayUseGroups(), OpRead))
	slices.SortStableFunc(grants, func(a, b Grant) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name)) })
	return grants
}

// granted are the operations that bindings name. Kafka's others are implied: who may read a topic may describe it.
func (r Rights) granted() Operations {
	return when(r.Any(Read), OpDescribe) |
		when(r.Any(Poll), OpRead) |
		when(r.Any(Send), OpWrite) |
		when(r.Any(Manage), OpCreate, OpDelete, OpAlter)
}

// All yields the operations of the set by their numbers.
func (s Operations) All(yield func(Operation) bool) {
	for op := Operation(0); s>>op != 0; op++ {
		if s&(1<<op) != 0 && !yield(op) {
			return
		}
	}
}

// Filter asks for some grants of one user (org.apache.kafka.common.acl.AclBindingFilter). Nil matches all names.
type Filter struct {
	Type       ResourceType
	Name       *string
	Pattern    PatternType
	Host       *string
	Operation  Operation
	Permission PermissionType
}

// Unknown says that the filter has an element for what its sender could not name; a broker does not answer those
// (DescribeAclsRequest).
func (f *Filter) Unknown() bool {
	return f.Type == unknown || f.Pattern == unknown || f.Operation == unknown || f.Permission == unknown
}

// Apply returns the grants that match, with those of their operations that match.
func (f *Filter) Apply(grants []Grant) []Grant {
	if f.Permission != AnyPermission && f.Permission != AllowPermission || f.Host != nil && *f.Host != AnyHost {
		return nil
	}
	var out []Grant
	for _, g := range grants {
		if f.Operation != AnyOperation {
			g.Operations &= bit(f.Operation)
		}
		if g.Operations != 0 && (f.Type == AnyResource || f.Type == g.Type) && f.matches(g.Name) {
			out = append(out, g)
		}
	}
	return out
}

// matches compares with the name of a literal pattern (ResourcePatternFilter.matches): what it falls under includes the
// wildcard only if that is what is asked.
func (f *Filter) matches(name string) bool {
	switch f.Pattern {
	case AnyPattern, LiteralPattern:
		return f.Name == nil || *f.Name == name
	case MatchPattern:
		return f.Name == nil || *f.Name == name || name == wildcard
	}
	return false
}
