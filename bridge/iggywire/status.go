// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "strconv"

// Status is the outcome of a request; [StatusOK] is success. It is an error
// value, so that a caller may return it and ask for it with errors.Is.
type Status uint32

// The statuses that a client of Iggy 0.8 meets, by Iggy's own names.
const (
	StatusOK                       Status = 0
	StatusError                    Status = 1
	StatusInvalidCommand           Status = 3 // an unknown code or a body that cannot be parsed
	StatusInvalidFormat            Status = 4
	StatusFeatureUnavailable       Status = 5
	StatusInvalidIdentifier        Status = 6
	StatusResourceNotFound         Status = 20 // a user or token
	StatusStaleClient              Status = 30
	StatusUnauthenticated          Status = 40
	StatusUnauthorized             Status = 41
	StatusInvalidCredentials       Status = 42
	StatusInvalidUsername          Status = 43
	StatusInvalidPassword          Status = 44
	StatusInvalidUserStatus        Status = 45
	StatusUserExists               Status = 46
	StatusUserInactive             Status = 47
	StatusCannotDeleteUser         Status = 48
	StatusCannotChangePermissions  Status = 49
	StatusInvalidTokenName         Status = 50
	StatusTokenExists              Status = 51
	StatusTokensLimitReached       Status = 52
	StatusInvalidToken             Status = 53
	StatusTokenExpired             Status = 54
	StatusUsersLimitReached        Status = 55
	StatusClientNotFound           Status = 100
	StatusStreamNotFound           Status = 1009
	StatusStreamNameNotFound       Status = 1010
	StatusStreamExists             Status = 1012 // by name
	StatusInvalidStreamName        Status = 1013
	StatusInvalidTopicSize         Status = 1019 // maximum size below one segment
	StatusTopicNotFound            Status = 2010
	StatusTopicNameNotFound        Status = 2011
	StatusTopicExists              Status = 2013 // by name
	StatusInvalidTopicName         Status = 2014
	StatusTooManyPartitions        Status = 2015 // 0 or over 1,000
	StatusInvalidReplicationFactor Status = 2018
	StatusInvalidPartitionsCount   Status = 2019 // more than there are
	StatusPartitionNotFound        Status = 3007
	StatusNoPartitions             Status = 3008
	StatusConsumerOffsetNotFound   Status = 3021
	StatusNotResolvedConsumer      Status = 3022 // the partition is not this member's
	StatusCannotAppendMessage      Status = 4010
	StatusInvalidMessagesCount     Status = 4009
	StatusTooBigUserHeaders        Status = 4017
	StatusTooBigMessagePayload     Status = 4022
	StatusTooManyMessages          Status = 4023
	StatusInvalidMessageChecksum   Status = 4027
	StatusNonZeroOffset            Status = 4031
	StatusNonZeroTimestamp         Status = 4032
	StatusInvalidMessagesSize      Status = 4036
	StatusMissingIndex             Status = 4033 // indexes and messages do not fit together
	StatusInvalidOffset            Status = 4100
	StatusGroupNotFound            Status = 5000
	StatusGroupNameNotFound        Status = 5003
	StatusGroupExists              Status = 5004
	StatusInvalidGroupName         Status = 5005
	StatusGroupMemberNotFound      Status = 5006
)

// Error makes a status an error; its text has no prefix, the caller says what failed.
func (s Status) Error() string { return "iggy status " + s.String() }

// String returns the number and, if it is known, Iggy's name for it.
func (s Status) String() string {
	number := strconv.FormatUint(uint64(s), 10)
	if name := s.name(); name != "" {
		return number + " (" + name + ")"
	}
	return number
}

// Known says whether the status is one of this package's. One that is not came from
// another version of the server, or was garbled on its way.
func (s Status) Known() bool { return s.name() != "" }

func (s Status) name() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusError:
		return "error"
	case StatusInvalidCommand:
		return "invalid command"
	case StatusInvalidFormat:
		return "invalid format"
	case StatusFeatureUnavailable:
		return "feature unavailable"
	case StatusInvalidIdentifier:
		return "invalid identifier"
	case StatusResourceNotFound:
		return "resource not found"
	case StatusStaleClient:
		return "stale client"
	case StatusUnauthenticated:
		return "unauthenticated"
	case StatusUnauthorized:
		return "unauthorized"
	case StatusInvalidCredentials:
		return "invalid credentials"
	case StatusInvalidUsername:
		return "invalid username"
	case StatusInvalidPassword:
		return "invalid password"
	case StatusInvalidUserStatus:
		return "invalid user status"
	case StatusUserExists:
		return "user already exists"
	case StatusUserInactive:
		return "user inactive"
	case StatusCannotDeleteUser:
		return "cannot delete user"
	case StatusCannotChangePermissions:
		return "cannot change permissions"
	case StatusInvalidTokenName:
		return "invalid personal access token name"
	case StatusTokenExists:
		return "personal access token already exists"
	case StatusTokensLimitReached:
		return "personal access tokens limit reached"
	case StatusInvalidToken:
		return "invalid personal access token"
	case StatusTokenExpired:
		return "personal access token expired"
	case StatusUsersLimitReached:
		return "users limit reached"
	case StatusClientNotFound:
		return "client not found"
	case StatusStreamNotFound:
		return "stream id not found"
	case StatusStreamNameNotFound:
		return "stream name not found"
	case StatusStreamExists:
		return "stream name already exists"
	case StatusInvalidStreamName:
		return "invalid stream name"
	case StatusInvalidTopicSize:
		return "invalid topic size"
	case StatusTopicNotFound:
		return "topic id not found"
	case StatusTopicNameNotFound:
		return "topic name not found"
	case StatusTopicExists:
		return "topic name already exists"
	case StatusInvalidTopicName:
		return "invalid topic name"
	case StatusTooManyPartitions:
		return "too many partitions"
	case StatusInvalidReplicationFactor:
		return "invalid replication factor"
	case StatusInvalidPartitionsCount:
		return "invalid partitions count"
	case StatusPartitionNotFound:
		return "partition not found"
	case StatusNoPartitions:
		return "no partitions"
	case StatusConsumerOffsetNotFound:
		return "consumer offset not found"
	case StatusNotResolvedConsumer:
		return "not resolved consumer"
	case StatusCannotAppendMessage:
		return "cannot append message"
	case StatusInvalidMessagesCount:
		return "invalid messages count"
	case StatusTooBigUserHeaders:
		return "too big user headers"
	case StatusTooBigMessagePayload:
		return "too big message payload"
	case StatusTooManyMessages:
		return "too many messages"
	case StatusInvalidMessageChecksum:
		return "invalid message checksum"
	case StatusNonZeroOffset:
		return "non-zero offset"
	case StatusNonZeroTimestamp:
		return "non-zero timestamp"
	case StatusInvalidMessagesSize:
		return "invalid messages size"
	case StatusMissingIndex:
		return "missing index"
	case StatusInvalidOffset:
		return "invalid offset"
	case StatusGroupNotFound:
		return "consumer group id not found"
	case StatusGroupNameNotFound:
		return "consumer group name not found"
	case StatusGroupExists:
		return "consumer group name already exists"
	case StatusInvalidGroupName:
		return "invalid consumer group name"
	case StatusGroupMemberNotFound:
		return "consumer group member not found"
	default:
		return ""
	}
}
