// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/bridgetest"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/api"
)

// lossy is a gateway whose way to Iggy is the proxy's, with a client of it.
type lossy struct {
	*gateway
	*client
	proxy *bridgetest.Proxy
	iggy  string // the address behind the proxy
}

// startLossy returns one that has a connection for making topics already.
func startLossy(t *testing.T, deps func(*api.Deps)) lossy {
	t.Helper()
	iggy := startIggy(t).Addr().String()
	proxy, err := bridgetest.StartProxy(iggy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	// What comes after a connection is known to hang comes over another one.
	gw := start(t, setup{iggyAddr: proxy.Addr(), bridge: func(cfg *bridge.Config) { cfg.CallTimeout = 3 * time.Second }, deps: deps})
	c := gw.dial(t)
	c.create(newName(), 1)
	return lossy{gw, c, proxy, iggy}
}

// A topic that Iggy makes without saying so in time gets its settings all the same: it could not be made anew, as it exists. One that it
// does not make is answered as what it is: nobody knows, and the log says what it may come to. That is not before the request's
// own time is over. A topic without settings that are kept is not waited for.
func TestCreateTopicsFinished(t *testing.T) {
	const unfinished = "a topic may come to be without its settings"
	for _, tc := range []struct {
		name, script string
		within       time.Duration
		plain        bool
		code         int16
	}{
		{"the answer is lost", "topic.create 1 answer stall", time.Second, false, 0},
		{"the connection is lost before the answer", "topic.create 1 answer cut 2", time.Second, false, 0},
		{"the request is late", "topic.create 1 request delay 1500ms", time.Second, false, 0},
		{"the request is lost", "topic.create 1 request stall", time.Second, false, codeTimedOut},
		{"the connection is lost before the request", "topic.create 1 request cut 2", 6 * time.Second, false, codeTimedOut},
		{"the request is lost, and would keep nothing", "topic.create 1 request stall", time.Second, true, codeTimedOut},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gw := startLossy(t, nil)
			script(t, gw.proxy, tc.script)
			first := newTopicSpec(newName(), 1, 1)
			if !tc.plain {
				first = withConfig(first, "max.message.bytes", kmsg.StringPtr("1000"))
			}
			req := createRequest(7, first, newTopicSpec(newName(), 1, 1))
			req.TimeoutMillis = int32(tc.within.Milliseconds())
			begun := time.Now()
			got := ask[*kmsg.CreateTopicsResponse](gw.client, req)
			took := time.Since(begun)
			if got.Topics[0].ErrorCode != tc.code {
				t.Fatal(created(got, 0))
			}
			if tc.code != 0 && took < tc.within {
				t.Errorf("given up after %v of %v", took, tc.within)
			}
			if said := gw.logs.contains(unfinished); said != (tc.code != 0 && !tc.plain) {
				t.Errorf("the log says that it may come to be without its settings: %v", said)
			}
			topic, there := view(t, gw.gateway).ByName(req.Topics[0].Topic)
			if there != (tc.code == 0) {
				t.Fatalf("the topic is there: %v", there)
			}
			if !there {
				return
			}
			if kept, _ := gw.state.Log.TopicSettings(topic.ID.String()); kept["max.message.bytes"] != "1000" || topic.ID != bridge.TopicID(got.Topics[0].TopicID) {
				t.Errorf("kept of topic %v: %v", topic.ID, kept)
			}
			// What comes after the time is over is not begun.
			if _, there := view(t, gw.gateway).ByName(req.Topics[1].Topic); there != (got.Topics[1].ErrorCode == 0) {
				t.Errorf("the second topic is there: %v, it is answered %s", there, created(got, 1))
			}
		})
	}
}

// othersStore is an api.TopicStore in which somebody else has kept settings of every topic, unless there are none of his.
type othersStore struct {
	api.TopicStore
	his     map[string]string
	changed atomic.Int32
}

func (s *othersStore) TopicSettings(id string) (map[string]string, bool) {
	if s.his != nil {
		return s.his, true
	}
	return s.TopicStore.TopicSettings(id)
}

func (s *othersStore) SetTopicSettings(ctx context.Context, id, name string, settings map[string]string) error {
	s.changed.Add(1)
	return s.TopicStore.SetTopicSettings(ctx, id, name, settings)
}

// A topic that was waited for and that somebody else has made is his: it exists already, and what he has set of it stays.
func TestCreateTopicsSomebodyElses(t *testing.T) {
	mine := map[string]string{"max.message.bytes": "1000", "retention.ms": "60000", "retention.bytes": "2147483648"}
	for _, tc := range []struct {
		name, script string
		partitions   int32
		expiry, size uint64
		kept         map[string]string
	}{
		{"more partitions", "topic.create 1 request stall", 3, 60_000_000, 3 * 2147483648, nil},
		{"it expires later", "topic.create 1 request stall", 2, 70_000_000, 2 * 2147483648, nil},
		{"it is larger", "topic.create 1 request stall", 2, 60_000_000, 3 * 2147483648, nil},
		{"it has settings", "topic.create 1 request stall", 2, 60_000_000, 2 * 2147483648, map[string]string{"max.message.bytes": "2000000"}},
		{"that it exists is lost", "topic.create 1 answer stall", 3, iggywire.NeverExpire, iggywire.UnlimitedSize, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := &othersStore{his: tc.kept}
			gw := startLossy(t, func(deps *api.Deps) { store.TopicStore, deps.Topics = deps.Topics, store })
			script(t, gw.proxy, tc.script)
			spec := newTopicSpec(newName(), 2, 1)
			for name, value := range mine {
				spec = withConfig(spec, name, &value)
			}
			other, err := bridge.Open(t.Context(), bridge.Config{Addr: gw.iggy, Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka")})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close(t.Context())
			var theirs *bridge.Topic
			var failed error
			makeTheirs := sync.OnceFunc(func() {
				theirs, failed = other.CreateTopic(t.Context(), other.Self(),
					bridge.TopicSpec{Name: spec.Topic, Partitions: tc.partitions, MessageExpiry: tc.expiry, MaxSize: tc.size})
			})
			gw.proxy.Watch(func(f bridgetest.Frame) {
				if f.Code == iggywire.CodeCreateTopic && !f.Answer { // mine, on its way
					makeTheirs()
				}
			})
			req := createRequest(7, spec)
			req.TimeoutMillis = 1000
			got := ask[*kmsg.CreateTopicsResponse](gw.client, req)
			if failed != nil {
				t.Fatal(failed)
			}
			if got, want := created(got, 0), "36: Topic '"+spec.Topic+"' already exists."; got != want {
				t.Errorf("answered %s, want %s", got, want)
			}
			if n := store.changed.Load(); n != 0 {
				t.Errorf("%d changes of settings", n)
			}
			if gw.topic(t, spec.Topic).ID != theirs.ID {
				t.Error("the topic is another one")
			}
		})
	}
}

// A topic that was waited for and whose settings cannot be stored stays: nobody knows for sure whose it is. The log says what to do.
func TestCreateTopicsFinishedInPart(t *testing.T) {
	t.Parallel()
	store := &failingStore{err: coordinator.ErrNotAvailable}
	gw := startLossy(t, func(deps *api.Deps) { store.TopicStore, deps.Topics = deps.Topics, store })
	script(t, gw.proxy, "topic.create 1 answer cut 2")
	name := newName()
	got := ask[*kmsg.CreateTopicsResponse](gw.client, createRequest(7, withConfig(newTopicSpec(name, 1, 1), "max.message.bytes", kmsg.StringPtr("1000"))))
	if got.Topics[0].ErrorCode != codeTimedOut {
		t.Error(created(got, 0))
	}
	if _, there := view(t, gw.gateway).ByName(name); !there {
		t.Error("the topic is taken back")
	}
	if !gw.logs.contains("a topic is there without its settings: set them again") || !gw.logs.contains(name) {
		t.Error("the log does not say so")
	}
}
