// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package iggywire

import "strconv"

// Code is the number of a command.
type Code uint32

// The commands of Iggy 0.8.
const (
	CodePing               Code = 1
	CodeGetStats           Code = 10
	CodeGetSnapshot        Code = 11
	CodeGetClusterMetadata Code = 12
	CodeGetMe              Code = 20
	CodeGetClient          Code = 21
	CodeGetClients         Code = 22
	CodeGetUser            Code = 31
	CodeGetUsers           Code = 32
	CodeCreateUser         Code = 33
	CodeDeleteUser         Code = 34
	CodeUpdateUser         Code = 35
	CodeUpdatePermissions  Code = 36
	CodeChangePassword     Code = 37
	CodeLoginUser          Code = 38
	CodeLogoutUser         Code = 39
	CodeGetTokens          Code = 41
	CodeCreateToken        Code = 42
	CodeDeleteToken        Code = 43
	CodeLoginWithToken     Code = 44
	CodePollMessages       Code = 100
	CodeSendMessages       Code = 101
	CodeFlushUnsaved       Code = 102
	CodeGetOffset          Code = 120
	CodeStoreOffset        Code = 121
	CodeDeleteOffset       Code = 122
	CodeGetStream          Code = 200
	CodeGetStreams         Code = 201
	CodeCreateStream       Code = 202
	CodeDeleteStream       Code = 203
	CodeUpdateStream       Code = 204
	CodePurgeStream        Code = 205
	CodeGetTopic           Code = 300
	CodeGetTopics          Code = 301
	CodeCreateTopic        Code = 302
	CodeDeleteTopic        Code = 303
	CodeUpdateTopic        Code = 304
	CodePurgeTopic         Code = 305
	CodeCreatePartitions   Code = 402
	CodeDeletePartitions   Code = 403
	CodeGetGroup           Code = 600
	CodeGetGroups          Code = 601
	CodeCreateGroup        Code = 602
	CodeDeleteGroup        Code = 603
	CodeJoinGroup          Code = 604
	CodeLeaveGroup         Code = 605
)

// Request is a request other than a send, whose parts a client writes without
// joining them (see [AppendSendHeader]). Its AppendTo appends the body, without
// the frame header.
type Request interface {
	Code() Code
	AppendTo(dst []byte) []byte
}

// Bare is a request without a body: [CodePing], [CodeGetStats],
// [CodeGetClusterMetadata], [CodeGetMe], [CodeGetClients], [CodeGetUsers],
// [CodeLogoutUser], [CodeGetTokens], [CodeGetStreams]. The server does not look
// at a body that comes with one.
type Bare Code

// Code returns the command's number.
func (b Bare) Code() Code { return Code(b) }

// AppendTo returns dst as it is.
func (b Bare) AppendTo(dst []byte) []byte { return dst }

// AppendFrame appends the whole frame of a request: header and body.
func AppendFrame(dst []byte, req Request) []byte {
	start := len(dst)
	dst = AppendRequestHeader(dst, req.Code(), 0)
	dst = req.AppendTo(dst)
	AppendRequestHeader(dst[:start], req.Code(), len(dst)-start-HeaderSize)
	return dst
}

// String returns the command's name as Iggy writes it, or its number.
func (c Code) String() string {
	if name := c.name(); name != "" {
		return name
	}
	return "command(" + strconv.FormatUint(uint64(c), 10) + ")"
}

func (c Code) name() string {
	switch c {
	case CodePing:
		return "ping"
	case CodeGetStats:
		return "stats"
	case CodeGetSnapshot:
		return "snapshot"
	case CodeGetClusterMetadata:
		return "cluster.metadata"
	case CodeGetMe:
		return "me"
	case CodeGetClient:
		return "client.get"
	case CodeGetClients:
		return "client.list"
	case CodeGetUser:
		return "user.get"
	case CodeGetUsers:
		return "user.list"
	case CodeCreateUser:
		return "user.create"
	case CodeDeleteUser:
		return "user.delete"
	case CodeUpdateUser:
		return "user.update"
	case CodeUpdatePermissions:
		return "user.permissions"
	case CodeChangePassword:
		return "user.password"
	case CodeLoginUser:
		return "user.login"
	case CodeLogoutUser:
		return "user.logout"
	case CodeGetTokens:
		return "personal_access_token.list"
	case CodeCreateToken:
		return "personal_access_token.create"
	case CodeDeleteToken:
		return "personal_access_token.delete"
	case CodeLoginWithToken:
		return "personal_access_token.login"
	case CodePollMessages:
		return "message.poll"
	case CodeSendMessages:
		return "message.send"
	case CodeFlushUnsaved:
		return "message.flush_unsaved_buffer"
	case CodeGetOffset:
		return "consumer_offset.get"
	case CodeStoreOffset:
		return "consumer_offset.store"
	case CodeDeleteOffset:
		return "consumer_offset.delete"
	case CodeGetStream:
		return "stream.get"
	case CodeGetStreams:
		return "stream.list"
	case CodeCreateStream:
		return "stream.create"
	case CodeDeleteStream:
		return "stream.delete"
	case CodeUpdateStream:
		return "stream.update"
	case CodePurgeStream:
		return "stream.purge"
	case CodeGetTopic:
		return "topic.get"
	case CodeGetTopics:
		return "topic.list"
	case CodeCreateTopic:
		return "topic.create"
	case CodeDeleteTopic:
		return "topic.delete"
	case CodeUpdateTopic:
		return "topic.update"
	case CodePurgeTopic:
		return "topic.purge"
	case CodeCreatePartitions:
		return "partition.create"
	case CodeDeletePartitions:
		return "partition.delete"
	case CodeGetGroup:
		return "consumer_group.get"
	case CodeGetGroups:
		return "consumer_group.list"
	case CodeCreateGroup:
		return "consumer_group.create"
	case CodeDeleteGroup:
		return "consumer_group.delete"
	case CodeJoinGroup:
		return "consumer_group.join"
	case CodeLeaveGroup:
		return "consumer_group.leave"
	default:
		return ""
	}
}
