// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// refusal is a request that Iggy refuses, and how.
type refusal struct {
	status iggywire.Status
	title  string
	as     who
	before []iggywire.Request // have to succeed first, on the same connection
	ask    iggywire.Request
}

// statuses asks for every status that can be had, each on a connection of its own: several of them leave it out of step.
func (w *world) statuses(t *testing.T) {
	first := w.dial(t, root) // whose the partitions of a group are before another member comes
	first.must(iggywire.CreateGroup{Stream: w.stream, Topic: w.topic, Name: w.name("pair")})
	first.must(iggywire.JoinGroup{Stream: w.stream, Topic: w.topic, Group: w.named("pair")})
	for _, r := range w.refusals() {
		t.Run(fmt.Sprintf("%d %s", uint32(r.status), r.title), func(t *testing.T) {
			c := w.dial(t, r.as)
			for _, req := range r.before {
				c.must(req)
			}
			c.refused(r.status, r.ask)
		})
	}
}

// refusals has every status of package iggywire but those of unprovoked.
func (w *world) refusals() []refusal {
	var all []refusal
	for _, some := range [][]refusal{
		w.malformed(), w.loginsRefused(), w.usersRefused(), w.tokensRefused(), w.catalogueRefused(), w.partitionsRefused(),
		w.sendsRefused(), w.offsetsRefused(), w.groupsRefused(),
	} {
		all = append(all, some...)
	}
	return all
}

// unprovoked are the statuses that no request to a server which others use can bring about, and why.
func unprovoked() map[iggywire.Status]string {
	const replaced = "the server answers the number's status, whether it was asked by number or by name"
	const unparsed = "what is not valid has not got so far: the body is not one of its command"
	return map[iggywire.Status]string{
		iggywire.StatusOK:                       "is no refusal",
		iggywire.StatusError:                    "needs a server whose disk fails",
		iggywire.StatusFeatureUnavailable:       "needs a server built without a feature",
		iggywire.StatusStaleClient:              "needs a server that watches heartbeats",
		iggywire.StatusInvalidUserStatus:        unparsed,
		iggywire.StatusInvalidToken:             "a token that is none is a resource not found",
		iggywire.StatusUsersLimitReached:        "needs more users than a shared server should be given",
		iggywire.StatusClientNotFound:           "a client that is missing is an empty answer",
		iggywire.StatusStreamNameNotFound:       replaced,
		iggywire.StatusInvalidStreamName:        unparsed,
		iggywire.StatusTopicNameNotFound:        replaced,
		iggywire.StatusInvalidTopicName:         unparsed,
		iggywire.StatusInvalidReplicationFactor: "any factor is stored as given",
		iggywire.StatusNoPartitions:             "a send to a topic without partitions gets another status",
		iggywire.StatusCannotAppendMessage:      "needs a server whose disk fails",
		iggywire.StatusTooManyMessages:          "clients check it, the server does not",
		iggywire.StatusInvalidMessageChecksum:   "the server computes checksums and compares none",
		iggywire.StatusGroupNameNotFound:        replaced,
		iggywire.StatusInvalidGroupName:         unparsed,
	}
}

func (w *world) malformed() []refusal {
	poll := w.poll(0, iggywire.PollFirst, 0, 1)
	return []refusal{
		{iggywire.StatusInvalidCommand, "unknown code", root, nil, raw{9999, nil}},
		{iggywire.StatusInvalidCommand, "no body", root, nil, raw{iggywire.CodeCreateStream, nil}},
		{iggywire.StatusInvalidCommand, "a name longer than the body", root, nil, raw{iggywire.CodeCreateStream, []byte{200, 'a'}}},
		{iggywire.StatusInvalidCommand, "poll without a body", root, nil, raw{iggywire.CodePollMessages, nil}},
		{iggywire.StatusInvalidCommand, "poll by an unknown kind of identifier", root, nil, raw{iggywire.CodePollMessages, []byte{1, 9, 4, 0, 0, 0, 0}}},
		{iggywire.StatusInvalidCommand, "poll by an unknown strategy", root, nil, changed(poll, func(body []byte) []byte {
			body[len(body)-14] = 9
			return body
		})},
		{iggywire.StatusInvalidCommand, "login without a body", stranger, nil, raw{iggywire.CodeLoginUser, nil}},
		{iggywire.StatusInvalidCommand, "send whose metadata are longer than it is", root, nil, raw{iggywire.CodeSendMessages, []byte{0, 0, 0, 0x40}}},
		{iggywire.StatusInvalidFormat, "empty name", root, nil, raw{iggywire.CodeCreateStream, []byte{0}}},
		{iggywire.StatusInvalidIdentifier, "send without metadata", root, nil, raw{iggywire.CodeSendMessages, []byte{0, 0, 0, 0}}},
	}
}

func (w *world) loginsRefused() []refusal {
	login := func(user who, password string) iggywire.LoginUser {
		return iggywire.LoginUser{Username: w.userName(user), Password: password}
	}
	return []refusal{
		{iggywire.StatusUnauthenticated, "list streams", stranger, nil, iggywire.Bare(iggywire.CodeGetStreams)},
		{iggywire.StatusUnauthenticated, "statistics", stranger, nil, iggywire.Bare(iggywire.CodeGetStats)},
		{iggywire.StatusUnauthenticated, "poll", stranger, nil, w.poll(0, iggywire.PollFirst, 0, 1)},
		{iggywire.StatusUnauthenticated, "send", stranger, nil, w.send(0, message(1, "x"))},
		{iggywire.StatusUnauthenticated, "log out", stranger, nil, iggywire.Bare(iggywire.CodeLogoutUser)},
		{iggywire.StatusUnauthenticated, "log out twice", root, []iggywire.Request{iggywire.Bare(iggywire.CodeLogoutUser)}, iggywire.Bare(iggywire.CodeLogoutUser)},
		{iggywire.StatusUnauthenticated, "after a failed login", stranger, nil, iggywire.Bare(iggywire.CodeGetMe)},
		{iggywire.StatusInvalidCredentials, "nobody of that name", stranger, nil, iggywire.LoginUser{Username: w.name("none"), Password: userPassword}},
		{iggywire.StatusInvalidCredentials, "wrong password", stranger, nil, login(nobody, "wrong")},
		{iggywire.StatusInvalidUsername, "name of two bytes", stranger, nil, iggywire.LoginUser{Username: "ab", Password: userPassword}},
		{iggywire.StatusInvalidPassword, "empty password", stranger, nil, login(nobody, "")},
		{iggywire.StatusUserInactive, "inactive user", stranger, nil, login(idle, userPassword)},
	}
}

func (w *world) usersRefused() []refusal {
	create := func(name, password string) iggywire.CreateUser {
		return iggywire.CreateUser{Username: name, Password: password, Status: iggywire.UserActive}
	}
	missing, theRoot, somebody := w.named("none"), iggywire.NumericID(0), iggywire.NamedID(w.userName(nobody))
	return []refusal{
		{iggywire.StatusUnauthorized, "create a user", nobody, nil, create(w.name("new"), userPassword)},
		{iggywire.StatusUnauthorized, "somebody else's password", nobody, nil, iggywire.ChangePassword{User: theRoot, Current: userPassword, New: userPassword}},
		{iggywire.StatusUserExists, "name taken", root, nil, create(w.userName(nobody), userPassword)},
		{iggywire.StatusUserExists, "rename to a name taken", root, nil, iggywire.UpdateUser{User: somebody, Username: w.userName(reader)}},
		{iggywire.StatusInvalidUsername, "create with a name of two bytes", root, nil, create("ab", userPassword)},
		{iggywire.StatusInvalidUsername, "create with a name of 51 bytes", root, nil, create(strings.Repeat("n", 51), userPassword)},
		{iggywire.StatusInvalidPassword, "create with a password of two bytes", root, nil, create(w.name("new"), "ab")},
		{iggywire.StatusInvalidPassword, "create with a password of 101 bytes", root, nil, create(w.name("new"), strings.Repeat("p", 101))},
		{iggywire.StatusInvalidCredentials, "change without the current password, even by root", root, nil, iggywire.ChangePassword{User: somebody, Current: "wrong", New: userPassword}},
		{iggywire.StatusResourceNotFound, "delete a missing user", root, nil, iggywire.DeleteUser{User: missing}},
		{iggywire.StatusResourceNotFound, "rename a missing user", root, nil, iggywire.UpdateUser{User: missing, Username: w.name("new")}},
		{iggywire.StatusResourceNotFound, "permissions of a missing user", root, nil, iggywire.UpdatePermissions{User: missing}},
		{iggywire.StatusCannotDeleteUser, "delete root", root, nil, iggywire.DeleteUser{User: theRoot}},
		{iggywire.StatusCannotChangePermissions, "permissions of root", root, nil, iggywire.UpdatePermissions{User: theRoot}},
	}
}

func (w *world) tokensRefused() []refusal {
	create := func(name string) iggywire.CreateToken { return iggywire.CreateToken{Name: name, Expiry: 60_000_000} }
	var full []iggywire.Request
	for i := range 99 { // there is one already: for logging in
		full = append(full, create(fmt.Sprint("token-", i)))
	}
	return []refusal{
		{iggywire.StatusInvalidTokenName, "name of two bytes", root, nil, create("ab")},
		{iggywire.StatusInvalidTokenName, "name of 31 bytes", root, nil, create(strings.Repeat("n", 31))},
		{iggywire.StatusTokenExists, "name taken", root, nil, create(w.tokenName("root"))},
		{iggywire.StatusTokensLimitReached, "the 101st", reader, full, create("one more")},
		{iggywire.StatusResourceNotFound, "delete a missing token", root, nil, iggywire.DeleteToken{Name: w.tokenName("none")}},
		{iggywire.StatusResourceNotFound, "log in with what is no token", stranger, nil, iggywire.LoginWithToken{Token: "bogus"}},
		{iggywire.StatusResourceNotFound, "log in with a deleted token", stranger, nil, iggywire.LoginWithToken{Token: w.deleted}},
		{iggywire.StatusTokenExpired, "log in with an expired token", stranger, nil, iggywire.LoginWithToken{Token: w.expired}},
	}
}

func (w *world) catalogueRefused() []refusal {
	missing := w.named("none")
	small, elsewhere := w.createTopic("small", 1), w.createTopic("new", 1)
	small.MaxSize, elsewhere.Stream = 1, missing
	update := func(topic iggywire.Identifier, name string) iggywire.UpdateTopic {
		return iggywire.UpdateTopic{Stream: w.stream, Topic: topic, Name: name, Compression: iggywire.CompressionNone}
	}
	send := w.send(0, message(1, "x"))
	toMissingStream, toMissingTopic := send, send
	toMissingStream.stream, toMissingTopic.topic = missing, missing
	poll := w.poll(0, iggywire.PollFirst, 0, 1)
	fromMissingStream, fromMissingTopic := poll, poll
	fromMissingStream.Stream, fromMissingTopic.Topic = missing, missing
	store := w.store(consumer(1), 0, 0)
	store.Topic = missing
	return []refusal{
		{iggywire.StatusStreamNotFound, "rename", root, nil, iggywire.UpdateStream{Stream: missing, Name: w.name("new")}},
		{iggywire.StatusStreamNotFound, "delete", root, nil, iggywire.DeleteStream{Stream: missing}},
		{iggywire.StatusStreamNotFound, "purge", root, nil, iggywire.PurgeStream{Stream: missing}},
		{iggywire.StatusStreamNotFound, "create a topic", root, nil, elsewhere},
		{iggywire.StatusStreamNotFound, "send", root, nil, toMissingStream},
		{iggywire.StatusStreamNotFound, "poll", root, nil, fromMissingStream},
		{iggywire.StatusStreamExists, "create", root, nil, iggywire.CreateStream{Name: w.name("stream")}},
		{iggywire.StatusStreamExists, "rename", root, []iggywire.Request{iggywire.CreateStream{Name: w.name("other")}}, iggywire.UpdateStream{Stream: w.named("other"), Name: w.name("stream")}},
		{iggywire.StatusInvalidTopicSize, "a maximum size of one byte", root, nil, small},
		{iggywire.StatusTopicNotFound, "update", root, nil, update(missing, w.name("new"))},
		{iggywire.StatusTopicNotFound, "delete", root, nil, iggywire.DeleteTopic{Stream: w.stream, Topic: missing}},
		{iggywire.StatusTopicNotFound, "delete without permission", nobody, nil, iggywire.DeleteTopic{Stream: w.stream, Topic: missing}},
		{iggywire.StatusTopicNotFound, "purge", root, nil, iggywire.PurgeTopic{Stream: w.stream, Topic: missing}},
		{iggywire.StatusTopicNotFound, "send", root, nil, toMissingTopic},
		{iggywire.StatusTopicNotFound, "poll", root, nil, fromMissingTopic},
		{iggywire.StatusTopicNotFound, "store an offset", root, nil, store},
		{iggywire.StatusTopicNotFound, "create a group", root, nil, iggywire.CreateGroup{Stream: w.stream, Topic: missing, Name: w.name("new")}},
		{iggywire.StatusTopicNotFound, "add partitions", root, nil, iggywire.CreatePartitions{Stream: w.stream, Topic: missing, Partitions: 1}},
		{iggywire.StatusTopicExists, "create", root, nil, w.createTopic("topic", 1)},
		{iggywire.StatusTopicExists, "rename", root, []iggywire.Request{w.createTopic("other", 1)}, update(w.named("other"), w.name("topic"))},
	}
}

func (w *world) partitionsRefused() []refusal {
	add := func(n uint32) iggywire.CreatePartitions {
		return iggywire.CreatePartitions{Stream: w.stream, Topic: w.topic, Partitions: n}
	}
	remove := func(n uint32) iggywire.DeletePartitions {
		return iggywire.DeletePartitions{Stream: w.stream, Topic: w.topic, Partitions: n}
	}
	return []refusal{
		{iggywire.StatusTooManyPartitions, "create with 1,001", root, nil, w.createTopic("many", 1001)},
		{iggywire.StatusTooManyPartitions, "add none", root, nil, add(0)},
		{iggywire.StatusTooManyPartitions, "add 1,001", root, nil, add(1001)},
		{iggywire.StatusTooManyPartitions, "delete none", root, nil, remove(0)},
		{iggywire.StatusInvalidPartitionsCount, "delete more than there are", root, nil, remove(100)},
		{iggywire.StatusPartitionNotFound, "send", root, nil, w.send(9, message(1, "x"))},
		{iggywire.StatusPartitionNotFound, "poll", root, nil, w.poll(9, iggywire.PollFirst, 0, 1)},
		{iggywire.StatusPartitionNotFound, "store an offset", root, nil, w.store(consumer(1), 9, 0)},
	}
}

func (w *world) sendsRefused() []refusal {
	one := w.send(0, message(1, "x"))
	index := func(body []byte) []byte { // of the only message
		return body[len(body)-iggywire.MessageHeaderSize-1-iggywire.IndexSize:]
	}
	two := changed(one, func(body []byte) []byte {
		body = body[:len(body)-len(index(body))]
		body[len(body)-4] = 2 // the count stands before the indexes
		return append(body, make([]byte, iggywire.IndexSize+iggywire.MessageHeaderSize)...)
	})
	return []refusal{
		{iggywire.StatusUnauthorized, "send", nobody, nil, one},
		{iggywire.StatusInvalidMessagesCount, "no message", root, nil, w.send(0)},
		{iggywire.StatusTooBigUserHeaders, "user headers of 100,001 bytes", root, nil, w.send(0, mapping.Message{
			Payload: []byte("x"), UserHeaders: make([]byte, iggywire.MaxUserHeaders+1),
		})},
		{iggywire.StatusTooBigMessagePayload, "payload of 64,000,001 bytes", root, nil, w.send(0, mapping.Message{
			Payload: make([]byte, iggywire.MaxPayload+1),
		})},
		{iggywire.StatusNonZeroOffset, "index with an offset", root, nil, changed(one, func(body []byte) []byte {
			index(body)[0] = 1
			return body
		})},
		{iggywire.StatusNonZeroTimestamp, "index with a time", root, nil, changed(one, func(body []byte) []byte {
			index(body)[8] = 1
			return body
		})},
		{iggywire.StatusMissingIndex, "two announced, one there", root, nil, two},
		{iggywire.StatusInvalidMessagesSize, "bytes behind the last message", root, nil, changed(one, func(body []byte) []byte {
			return append(body, 0)
		})},
	}
}

func (w *world) offsetsRefused() []refusal {
	forget := iggywire.DeleteOffset{Consumer: consumer(5), Stream: w.stream, Topic: w.topic, HasPartition: true}
	return []refusal{
		{iggywire.StatusConsumerOffsetNotFound, "delete", root, nil, forget},
		{iggywire.StatusConsumerOffsetNotFound, "delete twice", root, []iggywire.Request{w.store(consumer(5), 0, 1), forget}, forget},
		{iggywire.StatusInvalidOffset, "behind the last message", root, nil, w.store(consumer(5), 0, 3)},
		{iggywire.StatusInvalidOffset, "far behind it", root, nil, w.store(consumer(5), 0, math.MaxUint64)},
		{iggywire.StatusInvalidOffset, "of a partition never written to", root, nil, w.store(consumer(5), 1, 0)},
	}
}

func (w *world) groupsRefused() []refusal {
	missing := w.named("none")
	byMissing := w.poll(0, iggywire.PollNext, 0, 1)
	byMissing.Consumer = inGroup(missing)
	byStranger := byMissing
	byStranger.Consumer = inGroup(w.group)
	create := iggywire.CreateGroup{Stream: w.stream, Topic: w.topic, Name: w.name("mine")}
	join := func(name string) iggywire.JoinGroup {
		return iggywire.JoinGroup{Stream: w.stream, Topic: w.topic, Group: w.named(name)}
	}
	leave := iggywire.LeaveGroup{Stream: w.stream, Topic: w.topic, Group: w.named("mine")}
	return []refusal{
		{iggywire.StatusGroupNotFound, "delete", root, nil, iggywire.DeleteGroup{Stream: w.stream, Topic: w.topic, Group: missing}},
		{iggywire.StatusGroupNotFound, "join", root, nil, iggywire.JoinGroup{Stream: w.stream, Topic: w.topic, Group: missing}},
		{iggywire.StatusGroupNotFound, "leave", root, nil, iggywire.LeaveGroup{Stream: w.stream, Topic: w.topic, Group: missing}},
		{iggywire.StatusGroupNotFound, "store an offset", root, nil, w.store(inGroup(missing), 0, 0)},
		{iggywire.StatusGroupNotFound, "poll", root, nil, byMissing},
		{iggywire.StatusGroupExists, "create", root, nil, iggywire.CreateGroup{Stream: w.stream, Topic: w.topic, Name: w.name("group")}},
		{iggywire.StatusGroupMemberNotFound, "store an offset", root, nil, w.store(inGroup(w.group), 0, 0)},
		{iggywire.StatusGroupMemberNotFound, "delete an offset", root, nil, iggywire.DeleteOffset{Consumer: inGroup(w.group), Stream: w.stream, Topic: w.topic, HasPartition: true}},
		{iggywire.StatusGroupMemberNotFound, "poll", root, nil, byStranger},
		{iggywire.StatusGroupMemberNotFound, "leave", root, nil, iggywire.LeaveGroup{Stream: w.stream, Topic: w.topic, Group: w.group}},
		{iggywire.StatusNotResolvedConsumer, "store in another member's partition", root, []iggywire.Request{join("pair")}, w.store(inGroup(w.named("pair")), 0, 0)},
		{iggywire.StatusGroupMemberNotFound, "leave twice", root, []iggywire.Request{create, join("mine"), leave}, leave},
		{iggywire.StatusInvalidOffset, "a member's, behind the last message", root, []iggywire.Request{join("mine")}, w.store(inGroup(w.named("mine")), 0, 3)},
		{iggywire.StatusInvalidOffset, "a member's, of a partition never written to", root, []iggywire.Request{join("mine")}, w.store(inGroup(w.named("mine")), 1, 0)},
	}
}
