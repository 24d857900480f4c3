// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package permissions

// Operation is one of Kafka's, by its number there (org.apache.kafka.common.acl.AclOperation).
type Operation int8

// The operations that Iggy's permissions amount to. As a request's filter 1 is any; the others, 2 (all) too, are themselves.
const (
	AnyOperation    Operation = 1
	OpRead          Operation = 3
	OpWrite         Operation = 4
	OpCreate        Operation = 5
	OpDelete        Operation = 6
	OpAlter         Operation = 7
	OpDescribe      Operation = 8
	opClusterAction Operation = 9
	opDescConfigs   Operation = 10
	opAlterConfigs  Operation = 11
	opIdempotent    Operation = 12
)

// Operations is a set, each a bit, as answers have it for authorized operations (KIP-430).
type Operations int32

// bit is the set of one operation, empty for a number that none has.
func bit(op Operation) Operations {
	if op < 0 || op > opIdempotent {
		return 0
	}
	return 1 << op
}

func set(ops ...Operation) (s Operations) {
	for _, op := range ops {
		s |= bit(op)
	}
	return s
}

// when is the set if the condition holds, else empty.
func when(condition bool, ops ...Operation) Operations {
	if !condition {
		return 0
	}
	return set(ops...)
}

// Operations on a topic that the rights to it include. With all of them they are those that Kafka has for topics.
func (r Rights) Operations() Operations {
	return when(r.Any(Describe), OpDescribe) |
		when(r.Any(Read), opDescConfigs) |
		when(r.Any(Poll), OpRead) |
		when(r.Any(Send), OpWrite) |
		when(r.Any(Manage), OpCreate, OpDelete, OpAlter, opAlterConfigs)
}

// ClusterOperations are those on the cluster: none for who may not look at it, whatever else is allowed
// (KafkaApis.handleTopicMetadataRequest).
func (a *Access) ClusterOperations() Operations {
	if !a.readServers {
		return 0
	}
	return set(OpDescribe, opDescConfigs) |
		when(a.manageServers, OpAlter, opAlterConfigs, opClusterAction) |
		when(a.global.Any(Manage), OpCreate) |
		when(a.MaySendAnywhere(), opIdempotent)
}

// GroupOperations are those on every group, for who may delete groups or not.
func (a *Access) GroupOperations(mayDelete bool) Operations {
	return when(a.MayUseGroups(), OpRead, OpDescribe, opDescConfigs) | when(mayDelete, OpDelete, opAlterConfigs)
}
