// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/recordcodec/mapping"
)

// What Access says is what Iggy does: for every single permission, and for many sets of permissions made up at random.
func TestAccessIsWhatIggyGrants(t *testing.T) {
	iggytest.Each(t, func(t *testing.T, server *iggytest.Server) {
		w := newWorld(t, server)
		grants := iggytest.Grants(w.topics["here"].place)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 150 {
			grants = append(grants, iggytest.Grant{Name: fmt.Sprintf("made up %d", i), Permissions: w.madeUp(rng)})
		}
		for _, g := range grants {
			w.root.Permit(w.user, g.Permissions)
			if diff := cmp.Diff(w.asked(), w.judged(permissions.New(w.known(t)))); diff != "" {
				t.Errorf("%s (-iggy, +access): %s\n%+v", g.Name, diff, g.Permissions)
			}
		}
	})
}

// world is an Iggy with three topics in two streams, and a user.
type world struct {
	root, holder *iggytest.Client
	user         string
	topics       map[string]*location
}

// location is a topic, as Iggy has it and as the bridge sees it.
type location struct {
	stream, name string
	place        iggytest.Place
	seen         *bridge.Topic
}

func newWorld(t *testing.T, server *iggytest.Server) *world {
	stream, other := server.Prefix+"one", server.Prefix+"two"
	w := &world{root: server.Dial(t), user: server.Prefix + "user", topics: map[string]*location{
		"here": {stream: stream, name: "here"}, "beside": {stream: stream, name: "beside"}, "away": {stream: other, name: "away"},
	}}
	numbers := map[string]uint32{}
	for _, name := range []string{stream, other} {
		numbers[name] = w.root.NewStream(name).ID
		w.root.NewTopic(name, "taken")
	}
	for _, name := range []string{"here", "beside", "away"} {
		at := w.topics[name]
		at.place = iggytest.Place{Stream: numbers[at.stream], Topic: w.root.NewTopic(at.stream, at.name).ID}
	}
	w.root.NewUser(w.user, "secret", nil)
	w.holder = server.DialAs(t, w.user, "secret")

	names, err := bridge.ParseTopicMap(fmt.Appendf(nil, "default_stream = %q\n[topics.away]\nstream = %q\ntopic = \"away\"\n", stream, other))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bridge.Open(t.Context(), bridge.Config{Addr: server.Addr, Username: server.Username, Password: server.Password, Names: names})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(t.Context()) })
	view, err := b.Topics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range w.topics {
		seen, ok := view.ByName(name)
		if !ok {
			t.Fatalf("no topic %q", name)
		}
		stream, topic := seen.Numbers()
		if in, ok := view.StreamOf(name); !ok || in != stream || (iggytest.Place{Stream: stream, Topic: topic}) != at.place {
			t.Fatalf("%q is at %d, %d and in %d, want %v", name, stream, topic, in, at.place)
		}
		at.seen = seen
	}
	return w
}

// known is what the user itself is told that it may do.
func (w *world) known(t *testing.T) *iggywire.Permissions {
	details, found, err := iggywire.ParseUserDetails(w.holder.Must(iggywire.GetUser{User: iggywire.NamedID(w.user)}))
	if err != nil || !found {
		t.Fatal(found, err)
	}
	return details.Permissions
}

// asked is what Iggy lets the user do. Nothing of it changes anything.
func (w *world) asked() map[string]string {
	out := map[string]string{}
	note := func(what, name string, req iggywire.Request) {
		if status, _ := w.holder.Ask(req); status != iggywire.StatusUnauthorized {
			out[what] += " " + name
		}
	}
	for _, at := range w.inOrder() {
		stream, topic := iggywire.NamedID(at.stream), iggywire.NamedID(at.name)
		note(at.name, "read", iggywire.GetTopic{Stream: stream, Topic: topic})
		note(at.name, "poll", iggywire.Poll{
			Consumer: iggywire.Consumer{Kind: iggywire.ConsumerSingle, ID: iggywire.NumericID(1)}, Stream: stream, Topic: topic,
			HasPartition: true, Strategy: iggywire.PollFirst, Count: 1,
		})
		note(at.name, "send", toNowhere{stream, topic})
		note(at.name, "manage", iggywire.UpdateTopic{Stream: stream, Topic: topic, Name: "taken", Compression: iggywire.CompressionNone})
		note("in the stream of "+at.name, "read", iggywire.GetTopics{Stream: stream})
		note("in the stream of "+at.name, "manage", iggywire.CreateTopic{
			Stream: stream, Name: at.name, Partitions: 1, Compression: iggywire.CompressionNone,
		})
	}
	note("servers", "read", iggywire.Bare(iggywire.CodeGetStats))
	note("users", "read", iggywire.Bare(iggywire.CodeGetUsers))
	return out
}

// toNowhere sends a message to a partition that is not there.
type toNowhere struct{ stream, topic iggywire.Identifier }

func (toNowhere) Code() iggywire.Code { return iggywire.CodeSendMessages }

func (s toNowhere) AppendTo(dst []byte) []byte {
	message := mapping.AppendMessage(nil, &mapping.Message{ID: [16]byte{1}, Payload: []byte("v")})
	dst = iggywire.AppendSendHeader(dst, s.stream, s.topic, iggywire.ToPartition(9), 1)
	dst, _, _ = iggywire.AppendIndexes(dst, message, 0) // which fails only for what is no message
	return append(dst, message...)
}

// judged is the same according to Access.
func (w *world) judged(a *permissions.Access) map[string]string {
	out := map[string]string{}
	note := func(what, name string, may bool) {
		if may {
			out[what] += " " + name
		}
	}
	for _, at := range w.inOrder() {
		note(at.name, "read", a.MayRead(at.seen))
		note(at.name, "poll", a.MayPoll(at.seen))
		note(at.name, "send", a.MaySend(at.seen))
		note(at.name, "manage", a.MayManage(at.seen))
		note("in the stream of "+at.name, "read", a.RightsIn(at.place.Stream).Any(permissions.Read))
		note("in the stream of "+at.name, "manage", a.MayManageTopics(at.place.Stream))
	}
	note("servers", "read", a.MayReadServers())
	note("users", "read", a.MayReadUsers())
	return out
}

func (w *world) inOrder() []*location {
	return []*location{w.topics["here"], w.topics["beside"], w.topics["away"]}
}

// madeUp is a set of permissions that are there or not at random.
func (w *world) madeUp(rng *rand.Rand) *iggywire.Permissions {
	some := func() bool { return rng.IntN(8) == 0 }
	rarely := func() bool { return rng.IntN(64) == 0 } // as they include so much
	p := &iggywire.Permissions{Global: iggywire.GlobalPermissions{
		ManageServers: some(), ReadServers: some(), ManageUsers: some(), ReadUsers: some(),
		ManageStreams: rarely(), ReadStreams: rarely(), ManageTopics: rarely(), ReadTopics: rarely(),
		PollMessages: some(), SendMessages: some(),
	}}
	for _, at := range w.inOrder() {
		if n := len(p.Streams); n == 0 || p.Streams[n-1].Stream != at.place.Stream {
			p.Streams = append(p.Streams, iggywire.StreamPermissions{
				Stream: at.place.Stream, ManageStream: some(), ReadStream: some(), ManageTopics: some(), ReadTopics: some(),
				PollMessages: some(), SendMessages: some(),
			})
		}
		s := &p.Streams[len(p.Streams)-1]
		s.Topics = append(s.Topics, iggywire.TopicPermissions{
			Topic: at.place.Topic, ManageTopic: some(), ReadTopic: some(), PollMessages: some(), SendMessages: some(),
		})
	}
	return p
}

// newSmallWorld is a world in an Iggy of its own.
func newSmallWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, iggytest.Start(t))
}

// seen lists the topics as the bridge does.
func (w *world) seen() []*bridge.Topic {
	return []*bridge.Topic{w.topics["away"].seen, w.topics["beside"].seen, w.topics["here"].seen}
}

func repeated(at iggytest.Place) *iggywire.Permissions {
	on := func(t iggywire.TopicPermissions) iggywire.StreamPermissions {
		t.Topic = at.Topic
		return iggywire.StreamPermissions{Stream: at.Stream, Topics: []iggywire.TopicPermissions{t}}
	}
	return &iggywire.Permissions{Streams: []iggywire.StreamPermissions{
		on(iggywire.TopicPermissions{PollMessages: true}), {Stream: at.Stream + 1, ManageStream: false}, on(iggywire.TopicPermissions{SendMessages: true}),
	}}
}
