// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// who is asking.
type who int

const (
	root     who = iota // the user that the server's Config names, who may do everything
	stranger            // somebody who has not logged in
	nobody              // a user without permissions
	reader              // one who may read streams and topics, and poll, everywhere
	writer              // one who may read the world's stream, and read its topic and send to it
	idle                // one who is inactive
)

const userPassword = "secret word"

// world is what the wire suite works on: a stream, topics, groups and users of its own, all of whose names begin with
// one that nobody else has, so that the server may be in use.
type world struct {
	server *bridge.Config
	prefix string
	tokens map[who]string // a login by password is slow on purpose

	stream, topic, group iggywire.Identifier // the topic has three messages in partition 0 and none in partition 1
	streamID, topicID    uint32
	deleted, expired     string   // tokens
	succeeded            sync.Map // the commands that have: iggywire.Code to struct{}
}

func newWorld(t *testing.T, server *bridge.Config) *world {
	t.Helper()
	w := &world{server: server, prefix: fmt.Sprintf("wiretest-%08x-", rand.Uint32()), tokens: map[who]string{}}
	w.stream, w.topic, w.group = w.named("stream"), w.named("topic"), w.named("group")
	c := w.dial(t, stranger)
	c.must(iggywire.LoginUser{Username: server.Username, Password: server.Password})
	t.Cleanup(func() { w.remove(t) })
	w.tokens[root] = w.newToken(c, "root", time.Hour)
	w.fill(c)
	for user, permissions := range w.users() {
		status := uint8(iggywire.UserActive)
		if user == idle {
			status = iggywire.UserInactive
		}
		c.must(iggywire.CreateUser{Username: w.userName(user), Password: userPassword, Status: status, Permissions: permissions})
		if user == idle {
			continue
		}
		u := w.dial(t, stranger)
		u.must(iggywire.LoginUser{Username: w.userName(user), Password: userPassword})
		w.tokens[user] = w.newToken(u, "login", time.Hour)
		u.peer.close()
	}
	w.expired, w.deleted = w.newToken(c, "expired", time.Microsecond), w.newToken(c, "deleted", time.Hour)
	c.must(iggywire.DeleteToken{Name: w.tokenName("deleted")})
	return w
}

func (w *world) fill(c *client) {
	w.streamID = find(c, iggywire.CreateStream{Name: w.name("stream")}, iggywire.ParseStreamDetails).ID
	w.topicID = find(c, w.createTopic("topic", 2), iggywire.ParseTopicDetails).ID
	c.must(iggywire.CreateGroup{Stream: w.stream, Topic: w.topic, Name: w.name("group")})
	c.must(w.send(0, message(1, "one"), message(2, "two"), message(3, "three")))
}

// users are those of the world beside root, and what they may do.
func (w *world) users() map[who]*iggywire.Permissions {
	return map[who]*iggywire.Permissions{
		nobody: nil,
		idle:   nil,
		reader: {Global: iggywire.GlobalPermissions{ReadStreams: true, ReadTopics: true, PollMessages: true}},
		writer: {Streams: []iggywire.StreamPermissions{{
			Stream: w.streamID, ReadStream: true,
			Topics: []iggywire.TopicPermissions{{Topic: w.topicID, ReadTopic: true, SendMessages: true}},
		}}},
	}
}

// remove takes away all whose name begins with the world's, whatever else a failed test has left.
func (w *world) remove(t *testing.T) {
	c := w.dialWithin(t, context.Background(), stranger)
	defer c.peer.close()
	c.must(iggywire.LoginUser{Username: w.server.Username, Password: w.server.Password})
	for _, s := range get(c, iggywire.Bare(iggywire.CodeGetStreams), iggywire.ParseStreams) {
		if strings.HasPrefix(s.Name, w.prefix) {
			c.must(iggywire.DeleteStream{Stream: iggywire.NamedID(s.Name)})
		}
	}
	for _, u := range get(c, iggywire.Bare(iggywire.CodeGetUsers), iggywire.ParseUsers) {
		if strings.HasPrefix(u.Username, w.prefix) {
			c.must(iggywire.DeleteUser{User: iggywire.NamedID(u.Username)})
		}
	}
	for _, token := range get(c, iggywire.Bare(iggywire.CodeGetTokens), iggywire.ParseTokens) {
		if strings.HasPrefix(token.Name, w.tokenName("")) {
			c.must(iggywire.DeleteToken{Name: token.Name})
		}
	}
}

// dial connects, logs in, and disconnects when the test ends.
func (w *world) dial(t *testing.T, as who) *client {
	t.Helper()
	c := w.dialWithin(t, t.Context(), as)
	t.Cleanup(c.peer.close)
	return c
}

func (w *world) dialWithin(t *testing.T, ctx context.Context, as who) *client {
	t.Helper()
	p, err := dial(ctx, w.server)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, w, p}
	if as != stranger {
		c.must(iggywire.LoginWithToken{Token: w.tokens[as]})
	}
	return c
}

func (w *world) newToken(c *client, name string, life time.Duration) string {
	c.Helper()
	req := iggywire.CreateToken{Name: w.tokenName(name), Expiry: uint64(life.Microseconds())}
	return get(c, req, iggywire.ParseRawToken).Token
}

func (w *world) name(s string) string { return w.prefix + s }

func (w *world) named(s string) iggywire.Identifier { return iggywire.NamedID(w.name(s)) }

func (w *world) userName(user who) string { return w.name(fmt.Sprint("user", int(user))) }

// tokenName is shorter than the prefix: a token's name has 30 bytes at most.
func (w *world) tokenName(s string) string { return strings.TrimPrefix(w.prefix, "wiretest-") + s }

func (w *world) createTopic(name string, partitions uint32) iggywire.CreateTopic {
	return iggywire.CreateTopic{Stream: w.stream, Name: w.name(name), Partitions: partitions, Compression: iggywire.CompressionNone}
}

// newTopic makes a topic for one test.
func (w *world) newTopic(c *client, partitions uint32) iggywire.Identifier {
	c.Helper()
	name := fmt.Sprintf("topic-%08x", rand.Uint32())
	c.must(w.createTopic(name, partitions))
	return w.named(name)
}

// send sends messages to a partition of the world's topic.
func (w *world) send(partition uint32, messages ...mapping.Message) send {
	return send{w.stream, w.topic, iggywire.ToPartition(partition), messages}
}

// poll polls a partition of the world's topic as a consumer that stores nothing.
func (w *world) poll(partition uint32, strategy iggywire.PollStrategy, value uint64, count uint32) iggywire.Poll {
	return iggywire.Poll{
		Consumer: consumer(0), Stream: w.stream, Topic: w.topic, HasPartition: true, Partition: partition,
		Strategy: strategy, Value: value, Count: count,
	}
}

// store stores an offset in the world's topic.
func (w *world) store(by iggywire.Consumer, partition uint32, offset uint64) iggywire.StoreOffset {
	return iggywire.StoreOffset{Consumer: by, Stream: w.stream, Topic: w.topic, HasPartition: true, Partition: partition, Offset: offset}
}

func consumer(n uint32) iggywire.Consumer {
	return iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NumericID(n)}
}

func inGroup(id iggywire.Identifier) iggywire.Consumer {
	return iggywire.Consumer{Kind: iggywire.ConsumerGroup, ID: id}
}

// message is one with an id that begins with id.
func message(id byte, payload string) mapping.Message {
	return mapping.Message{ID: [16]byte{id}, Payload: []byte(payload)}
}

// polled parses the messages of a poll's answer.
func polled(c *client, req iggywire.Poll) (iggywire.PollResult, []mapping.Message) {
	c.Helper()
	result := get(c, req, iggywire.ParsePollResult)
	var all []mapping.Message
	for rest := result.Messages; len(rest) > 0; {
		m, n, err := mapping.ParseMessage(rest)
		if err != nil {
			c.Fatal(err)
		}
		all, rest = append(all, m), rest[n:]
	}
	if len(all) != int(result.Count) {
		c.Fatalf("%d messages, counted as %d", len(all), result.Count)
	}
	return result, all
}
