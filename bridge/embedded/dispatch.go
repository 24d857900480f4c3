// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/iggy-kafka/iggy-kafka/bridge/iggywire"

// dispatch carries out one request and appends its answer to dst. As in the real
// server a body is parsed first, then the login is asked for, then what the
// request names is looked up, and only then the permission.
func (s *session) dispatch(code iggywire.Code, body, dst []byte) ([]byte, iggywire.Status) {
	switch code {
	case iggywire.CodePing:
		return dst, iggywire.StatusOK
	case iggywire.CodeLoginUser:
		return s.login(body, dst)
	case iggywire.CodeLoginWithToken:
		return s.loginWithToken(body, dst)
	}
	return s.authenticated(code, body, dst)
}

func (s *session) authenticated(code iggywire.Code, body, dst []byte) ([]byte, iggywire.Status) {
	switch code {
	case iggywire.CodeLogoutUser:
		return bare(s, dst, s.logout)
	case iggywire.CodeGetStats:
		return bare(s, dst, s.getStats)
	case iggywire.CodeGetClusterMetadata:
		return bare(s, dst, s.getClusterMetadata)
	case iggywire.CodeGetMe:
		return bare(s, dst, s.getMe)
	case iggywire.CodeGetClients:
		return bare(s, dst, s.getClients)
	case iggywire.CodeGetClient:
		return parsed(s, body, dst, iggywire.ParseGetClient, s.getClient)
	case iggywire.CodeGetStreams:
		return bare(s, dst, s.getStreams)
	case iggywire.CodeGetStream:
		return parsed(s, body, dst, iggywire.ParseGetStream, s.getStream)
	case iggywire.CodeCreateStream:
		return parsed(s, body, dst, iggywire.ParseCreateStream, s.createStream)
	case iggywire.CodeUpdateStream:
		return parsed(s, body, dst, iggywire.ParseUpdateStream, s.updateStream)
	case iggywire.CodeDeleteStream:
		return parsed(s, body, dst, iggywire.ParseDeleteStream, s.deleteStream)
	case iggywire.CodePurgeStream:
		return parsed(s, body, dst, iggywire.ParsePurgeStream, s.purgeStream)
	case iggywire.CodeGetTopics:
		return parsed(s, body, dst, iggywire.ParseGetTopics, s.getTopics)
	case iggywire.CodeGetTopic:
		return parsed(s, body, dst, iggywire.ParseGetTopic, s.getTopic)
	case iggywire.CodeCreateTopic:
		return parsed(s, body, dst, iggywire.ParseCreateTopic, s.createTopic)
	case iggywire.CodeUpdateTopic:
		return parsed(s, body, dst, iggywire.ParseUpdateTopic, s.updateTopic)
	case iggywire.CodeDeleteTopic:
		return parsed(s, body, dst, iggywire.ParseDeleteTopic, s.deleteTopic)
	case iggywire.CodePurgeTopic:
		return parsed(s, body, dst, iggywire.ParsePurgeTopic, s.purgeTopic)
	case iggywire.CodeCreatePartitions:
		return parsed(s, body, dst, iggywire.ParseCreatePartitions, s.createPartitions)
	case iggywire.CodeDeletePartitions:
		return parsed(s, body, dst, iggywire.ParseDeletePartitions, s.deletePartitions)
	case iggywire.CodeGetOffset:
		return parsed(s, body, dst, iggywire.ParseGetOffset, s.getOffset)
	case iggywire.CodeStoreOffset:
		return parsed(s, body, dst, iggywire.ParseStoreOffset, s.putOffset)
	case iggywire.CodeDeleteOffset:
		return parsed(s, body, dst, iggywire.ParseDeleteOffset, s.deleteOffset)
	case iggywire.CodeGetGroups:
		return parsed(s, body, dst, iggywire.ParseGetGroups, s.getGroups)
	case iggywire.CodeGetGroup:
		return parsed(s, body, dst, iggywire.ParseGetGroup, s.getGroup)
	case iggywire.CodeCreateGroup:
		return parsed(s, body, dst, iggywire.ParseCreateGroup, s.createGroup)
	case iggywire.CodeDeleteGroup:
		return parsed(s, body, dst, iggywire.ParseDeleteGroup, s.deleteGroup)
	case iggywire.CodeJoinGroup:
		return parsed(s, body, dst, iggywire.ParseJoinGroup, s.joinGroup)
	case iggywire.CodeLeaveGroup:
		return parsed(s, body, dst, iggywire.ParseLeaveGroup, s.leaveGroup)
	case iggywire.CodeGetUsers:
		return bare(s, dst, s.getUsers)
	case iggywire.CodeGetUser:
		return parsed(s, body, dst, iggywire.ParseGetUser, s.getUser)
	case iggywire.CodeCreateUser:
		return parsed(s, body, dst, iggywire.ParseCreateUser, s.createUser)
	case iggywire.CodeDeleteUser:
		return parsed(s, body, dst, iggywire.ParseDeleteUser, s.deleteUser)
	case iggywire.CodeUpdateUser:
		return parsed(s, body, dst, iggywire.ParseUpdateUser, s.updateUser)
	case iggywire.CodeUpdatePermissions:
		return parsed(s, body, dst, iggywire.ParseUpdatePermissions, s.updatePermissions)
	case iggywire.CodeChangePassword:
		return parsed(s, body, dst, iggywire.ParseChangePassword, s.changePassword)
	case iggywire.CodeGetTokens:
		return bare(s, dst, s.getTokens)
	case iggywire.CodeCreateToken:
		return parsed(s, body, dst, iggywire.ParseCreateToken, s.createToken)
	case iggywire.CodeDeleteToken:
		return parsed(s, body, dst, iggywire.ParseDeleteToken, s.deleteToken)
	case iggywire.CodeFlushUnsaved:
		return parsed(s, body, dst, iggywire.ParseFlushUnsaved, s.flushUnsaved)
	default:
		return dst, iggywire.StatusInvalidCommand
	}
}

// bare carries out a request without a body.
func bare(s *session, dst []byte, do func(dst []byte) ([]byte, iggywire.Status)) ([]byte, iggywire.Status) {
	if s.loggedIn() == nil {
		return dst, iggywire.StatusUnauthenticated
	}
	return do(dst)
}

// parsed carries out a request with a body.
func parsed[T any](
	s *session, body, dst []byte,
	parse func([]byte) (T, error), do func(req T, dst []byte) ([]byte, iggywire.Status),
) ([]byte, iggywire.Status) {
	req, err := parse(body)
	if err != nil {
		return dst, iggywire.RequestStatus(err)
	}
	if s.loggedIn() == nil {
		return dst, iggywire.StatusUnauthenticated
	}
	return do(req, dst)
}
