// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// deed is something that needs a permission. None changes anything: what would is refused for another reason, by
// which it is seen that it would have been allowed.
type deed struct {
	name    string
	ask     iggywire.Request
	allowed iggywire.Status
}

func (w *world) deeds() []deed {
	toNowhere := w.send(9, message(1, "x"))
	return []deed{
		{"streams", iggywire.Bare(iggywire.CodeGetStreams), iggywire.StatusOK},
		{"stream", iggywire.GetStream{Stream: w.stream}, iggywire.StatusOK},
		{"new-stream", iggywire.CreateStream{Name: w.name("stream")}, iggywire.StatusStreamExists},
		{"change-stream", iggywire.UpdateStream{Stream: w.stream, Name: w.name("taken")}, iggywire.StatusStreamExists},
		{"topics", iggywire.GetTopics{Stream: w.stream}, iggywire.StatusOK},
		{"topic", iggywire.GetTopic{Stream: w.stream, Topic: w.topic}, iggywire.StatusOK},
		{"new-topic", w.createTopic("topic", 1), iggywire.StatusTopicExists},
		{"change-topic", iggywire.UpdateTopic{
			Stream: w.stream, Topic: w.topic, Name: w.name("taken"), Compression: iggywire.CompressionNone,
		}, iggywire.StatusTopicExists},
		{"groups", iggywire.GetGroups{Stream: w.stream, Topic: w.topic}, iggywire.StatusOK},
		{"group", iggywire.GetGroup{Stream: w.stream, Topic: w.topic, Group: w.group}, iggywire.StatusOK},
		{"new-group", iggywire.CreateGroup{Stream: w.stream, Topic: w.topic, Name: w.name("group")}, iggywire.StatusGroupExists},
		{"poll", w.poll(0, iggywire.PollFirst, 0, 1), iggywire.StatusOK},
		{"offset", iggywire.GetOffset{Consumer: consumer(1), Stream: w.stream, Topic: w.topic, HasPartition: true}, iggywire.StatusOK},
		{"new-offset", w.store(consumer(1), 0, math.MaxUint64), iggywire.StatusInvalidOffset},
		{"send", toNowhere, iggywire.StatusPartitionNotFound},
		{"users", iggywire.Bare(iggywire.CodeGetUsers), iggywire.StatusOK},
		{"root", iggywire.GetUser{User: iggywire.NumericID(0)}, iggywire.StatusOK},
		{"new-user", iggywire.CreateUser{Username: w.userName(idle), Password: userPassword, Status: iggywire.UserActive}, iggywire.StatusUserExists},
		{"statistics", iggywire.Bare(iggywire.CodeGetStats), iggywire.StatusOK},
		{"clients", iggywire.Bare(iggywire.CodeGetClients), iggywire.StatusOK},
		{"oneself", iggywire.GetUser{User: iggywire.NamedID(w.userName(nobody))}, iggywire.StatusOK},
	}
}

// What the permissions of reading and managing include.
const (
	polling        = "poll offset new-offset "
	readingTopic   = "topic groups group new-group " + polling
	readingTopics  = "topics " + readingTopic
	readingStream  = "stream " + readingTopics
	managingTopic  = readingTopic + "change-topic send "
	managingTopics = readingTopics + managingTopic + "new-topic "
	managingStream = readingStream + managingTopics + "change-stream "
)

// permissions gives a user one permission after the other and looks at what it may do, on a connection that stays.
func (w *world) permissions(t *testing.T) {
	inStream := func(p iggywire.StreamPermissions) *iggywire.Permissions {
		p.Stream = w.streamID
		return &iggywire.Permissions{Streams: []iggywire.StreamPermissions{p}}
	}
	inTopic := func(p iggywire.TopicPermissions) *iggywire.Permissions {
		p.Topic = w.topicID
		return inStream(iggywire.StreamPermissions{Topics: []iggywire.TopicPermissions{p}})
	}
	type global = iggywire.GlobalPermissions
	type stream = iggywire.StreamPermissions
	type topic = iggywire.TopicPermissions
	c, holder := w.dial(t, root), w.dial(t, nobody)
	c.must(iggywire.CreateStream{Name: w.name("taken")})
	c.must(w.createTopic("taken", 1))
	for _, tc := range []struct {
		name        string
		permissions *iggywire.Permissions
		may         string
	}{
		{"none", nil, ""},
		{"manage servers", &iggywire.Permissions{Global: global{ManageServers: true}}, "statistics clients"},
		{"read servers", &iggywire.Permissions{Global: global{ReadServers: true}}, "statistics clients"},
		{"manage users", &iggywire.Permissions{Global: global{ManageUsers: true}}, "users root new-user"},
		{"read users", &iggywire.Permissions{Global: global{ReadUsers: true}}, "users root"},
		{"manage streams", &iggywire.Permissions{Global: global{ManageStreams: true}}, managingStream + "streams new-stream"},
		{"read streams", &iggywire.Permissions{Global: global{ReadStreams: true}}, readingStream + "streams"},
		{"manage topics", &iggywire.Permissions{Global: global{ManageTopics: true}}, managingTopics},
		{"read topics", &iggywire.Permissions{Global: global{ReadTopics: true}}, readingTopics},
		{"poll", &iggywire.Permissions{Global: global{PollMessages: true}}, polling},
		{"send", &iggywire.Permissions{Global: global{SendMessages: true}}, "send"},
		{"manage the stream", inStream(stream{ManageStream: true}), managingStream},
		{"read the stream", inStream(stream{ReadStream: true}), readingStream},
		{"manage the stream's topics", inStream(stream{ManageTopics: true}), managingTopics},
		{"read the stream's topics", inStream(stream{ReadTopics: true}), readingTopics},
		{"poll the stream", inStream(stream{PollMessages: true}), polling},
		{"send to the stream", inStream(stream{SendMessages: true}), "send"},
		{"manage the topic", inTopic(topic{ManageTopic: true}), managingTopic},
		{"read the topic", inTopic(topic{ReadTopic: true}), readingTopic},
		{"poll the topic", inTopic(topic{PollMessages: true}), polling},
		{"send to the topic", inTopic(topic{SendMessages: true}), "send"},
		{"the stream's, and the topic's", inStream(stream{
			ReadStream: true, Topics: []topic{{Topic: w.topicID, SendMessages: true}},
		}), readingStream + "send"},
		{"all, in another stream", &iggywire.Permissions{Streams: []stream{{
			Stream: math.MaxUint32, ManageStream: true, ReadStream: true, ManageTopics: true, ReadTopics: true, PollMessages: true, SendMessages: true,
		}}}, ""},
		{"all, in another topic", inStream(stream{Topics: []topic{{
			Topic: math.MaxUint32, ManageTopic: true, ReadTopic: true, PollMessages: true, SendMessages: true,
		}}}), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, holder := &client{t, w, c.peer}, &client{t, w, holder.peer}
			c.must(iggywire.UpdatePermissions{User: iggywire.NamedID(w.userName(nobody)), Permissions: tc.permissions})
			may := map[string]bool{"oneself": true}
			for _, name := range strings.Fields(tc.may) {
				may[name] = true
			}
			want, got := map[string]iggywire.Status{}, map[string]iggywire.Status{}
			for _, d := range w.deeds() {
				want[d.name] = iggywire.StatusUnauthorized
				if may[d.name] {
					want[d.name] = d.allowed
				}
				got[d.name] = holder.status(d.ask)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	c.must(iggywire.UpdatePermissions{User: iggywire.NamedID(w.userName(nobody))})
}
