// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/coordinator/statelog"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/iggytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const stateTopic = "state"

// open returns a bridge to a new Iggy.
func open(t *testing.T) *bridge.Bridge {
	t.Helper()
	return connect(t, startIggy(t))
}

func startIggy(t *testing.T) *embedded.Server {
	t.Helper()
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { iggy.Close() })
	return iggy
}

func connect(t *testing.T, iggy *embedded.Server) *bridge.Bridge {
	t.Helper()
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy", Names: bridge.NewNames("kafka"), InternalTopics: []string{stateTopic},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b
}

// run starts a state and waits until it is loaded.
func run(t *testing.T, b *bridge.Bridge) *State {
	t.Helper()
	s, err := Start(t.Context(), Config{
		Groups: coordinator.DefaultConfig(), Bridge: b, Topic: stateTopic, Partitions: 1, Expiry: 90 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.Groups.Loaded():
	case <-s.Failed():
		t.Fatal("not loaded")
	}
	if b != nil {
		<-s.swept // what tests do with topics is not for the sweep at the start
	}
	return s
}

func create(t *testing.T, b *bridge.Bridge, name string) *bridge.Topic {
	t.Helper()
	topic, err := b.CreateTopic(t.Context(), b.Self(), bridge.TopicSpec{Name: name, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func remove(t *testing.T, b *bridge.Bridge, topic *bridge.Topic) {
	t.Helper()
	if err := b.DeleteTopic(t.Context(), b.Self(), topic); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, s *State, name, id string) {
	t.Helper()
	_, err := s.Groups.Commit(t.Context(), "g", coordinator.Commit{Generation: -1, Offsets: []coordinator.OffsetCommit{
		{TopicPartition: coordinator.TopicPartition{Topic: name}, TopicID: id, Offset: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// kept lists the topics that offsets are kept of. What is being removed is removed before the removal is waited for.
func kept(t *testing.T, s *State) string {
	t.Helper()
	commit(t, s, "mark", "") // behind what is being written
	offsets, err := s.Groups.Offsets(t.Context(), "g", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range offsets {
		if o.Topic != "mark" {
			names = append(names, o.Topic)
		}
	}
	return fmt.Sprint(names)
}

// testSweeper returns a sweeper that sweeps when it is told to, beside the state's own, which looks every 30 s.
func testSweeper(s *State, b *bridge.Bridge) *sweeper {
	return newSweeper(s.Groups, s.Log, b, slog.New(slog.DiscardHandler))
}

func mustSweep(t *testing.T, sweep *sweeper) {
	t.Helper()
	if err := sweep.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func keepSettings(t *testing.T, s *State, topics ...*bridge.Topic) {
	t.Helper()
	for _, topic := range topics {
		if err := s.Log.SetTopicSettings(t.Context(), topic.ID.String(), topic.Name, map[string]string{"a": "b"}); err != nil {
			t.Fatal(err)
		}
	}
}

// What belongs to a topic that was seen and is gone is dropped, and so is what belongs to an earlier topic of a name. A topic
// that is merely not there keeps its offsets and settings: the topic map may be missing.
func TestSweep(t *testing.T) {
	b := open(t)
	s := run(t, b)
	stays, goes, again := create(t, b, "stays"), create(t, b, "goes"), create(t, b, "again")
	elsewhere := create(t, b, "elsewhere")
	for _, topic := range []*bridge.Topic{stays, goes, again, elsewhere} {
		commit(t, s, topic.Name, topic.ID.String())
	}
	unread := create(t, b, "unread") // no group has an offset of it
	keepSettings(t, s, goes, again, elsewhere, unread)
	remove(t, b, elsewhere)
	for _, topic := range []*bridge.Topic{again, unread} {
		remove(t, b, topic)
		create(t, b, topic.Name)
	}

	sweep := testSweeper(s, b)
	mustSweep(t, sweep)
	if got := kept(t, s); got != "[elsewhere goes stays]" {
		t.Errorf("after the first look: %s", got)
	}
	if got := withSettings(s, goes, again, elsewhere, unread); got != "[goes elsewhere]" {
		t.Errorf("settings after the first look: %s", got)
	}
	remove(t, b, goes)
	mustSweep(t, sweep)
	if got := kept(t, s); got != "[elsewhere stays]" {
		t.Errorf("after the second look: %s", got)
	}
	if got := withSettings(s, goes, again, elsewhere); got != "[elsewhere]" {
		t.Errorf("settings after the second look: %s", got)
	}
}

// What is deleted of a topic that is no more goes with it, also when the topic was made anew while no gateway ran, and nothing
// else was kept of it.
func TestSweepLogStarts(t *testing.T) {
	b := open(t)
	s := run(t, b)
	var again *bridge.Topic
	for range 2 {
		again = create(t, b, "again")
		start := statelog.LogStart{Offset: 5, Until: 1}
		if err := s.Log.SetLogStart(t.Context(), again.ID.String(), again.Name, 0, start); err != nil {
			t.Fatal(err)
		}
		if len(s.Log.Topics()) == 1 {
			remove(t, b, again)
		}
	}
	mustSweep(t, testSweeper(s, b))
	if diff := cmp.Diff(map[string]string{again.ID.String(): "again"}, s.Log.Topics()); diff != "" {
		t.Error(diff)
	}
}

// withSettings says which topics have settings.
func withSettings(s *State, topics ...*bridge.Topic) string {
	var names []string
	for _, topic := range topics {
		if _, ok := s.Log.TopicSettings(topic.ID.String()); ok {
			names = append(names, topic.Name)
		}
	}
	return fmt.Sprint(names)
}

// A sweep that fails is no sweep: the next one drops what this one could not.
func TestSweepFails(t *testing.T) {
	b := open(t)
	s := run(t, b)
	again, goes := create(t, b, "again"), create(t, b, "goes")
	commit(t, s, again.Name, again.ID.String())
	commit(t, s, goes.Name, goes.ID.String())
	remove(t, b, again)
	create(t, b, again.Name)
	sweep := testSweeper(s, b)
	fail := func() {
		t.Helper()
		if _, err := b.Topics(t.Context()); err != nil { // so that it fails later than with that
			t.Fatal(err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := sweep.sweep(canceled); err == nil {
			t.Error("a look that could not ask")
		}
	}
	fail()
	if got := kept(t, s); got != "[again goes]" {
		t.Errorf("kept %s", got)
	}
	mustSweep(t, sweep)
	if got := kept(t, s); got != "[goes]" {
		t.Errorf("kept after the first look: %s", got)
	}
	remove(t, b, goes)
	fail()
	mustSweep(t, sweep)
	if got := kept(t, s); got != "[]" {
		t.Errorf("kept after the second look: %s", got)
	}
}

// Offsets of a topic that was made anew a moment ago are not those of the one that it replaces.
func TestSweepWithAnOldView(t *testing.T) {
	iggy := startIggy(t)
	b, others := connect(t, iggy), connect(t, iggy)
	s := run(t, b)
	old := create(t, b, "again")
	if _, err := b.TopicsWithin(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	remove(t, others, old)
	commit(t, s, old.Name, create(t, others, old.Name).ID.String())
	mustSweep(t, testSweeper(s, b))
	if got := kept(t, s); got != "[again]" {
		t.Errorf("kept %s", got)
	}
}

// A removal that was asked for and not written is asked for again; so is that of what was committed meanwhile by somebody
// who had not seen yet that the topic is gone.
func TestSweepAgain(t *testing.T) {
	b := open(t)
	s := run(t, b)
	topic := create(t, b, "goes")
	sweep := testSweeper(s, b)
	mustSweep(t, sweep)
	remove(t, b, topic)
	mustSweep(t, sweep)
	commit(t, s, topic.Name, topic.ID.String())
	mustSweep(t, sweep)
	if got := kept(t, s); got != "[]" {
		t.Errorf("kept %s", got)
	}
	mustSweep(t, sweep)
	if len(sweep.gone) != 0 {
		t.Errorf("looks on for %v", sweep.gone)
	}
}

// The state topic must be one that clients cannot write to.
func TestStateTopicMustBeInternal(t *testing.T) {
	b := open(t)
	_, err := Start(t.Context(), Config{Groups: coordinator.DefaultConfig(), Bridge: b, Topic: "orders", Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Error("started")
	}
}

// Without Iggy all is kept in memory, and stops as well.
func TestWithoutIggy(t *testing.T) {
	s := run(t, nil)
	commit(t, s, "t", "")
	if got := kept(t, s); got != "[t]" {
		t.Errorf("kept %s", got)
	}
	if first, err := s.ReserveIDs(t.Context(), 5, 10); err != nil || first != 5 {
		t.Errorf("ids from %d, %v", first, err)
	}
	select {
	case <-s.Fenced():
		t.Error("fenced by nobody")
	default:
	}
}

// A gateway whose Iggy user may not write cannot load its state, and ends: it would else wait for ever.
func TestUserThatMayNotWrite(t *testing.T) {
	iggy := startIggy(t)
	first := connect(t, iggy)
	if err := run(t, first).Stop(); err != nil { // the topic is there
		t.Fatal(err)
	}
	root := (&iggytest.Server{Addr: iggy.Addr().String(), Username: "iggy", Password: "iggy"}).Dial(t)
	root.NewUser("reader", "secret", &iggywire.Permissions{Global: iggywire.GlobalPermissions{ReadStreams: true}})
	b, err := bridge.Open(t.Context(), bridge.Config{
		Addr: iggy.Addr().String(), Username: "reader", Password: "secret", Names: bridge.NewNames("kafka"), InternalTopics: []string{stateTopic},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	s, err := Start(t.Context(), Config{
		Groups: coordinator.DefaultConfig(), Bridge: b, Topic: stateTopic, Partitions: 1, Expiry: 90 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-s.Failed()
	if err := s.Stop(); !bridge.IsUnauthorized(err) || !strings.Contains(err.Error(), stateTopic) {
		t.Errorf("it ends with %v", err)
	}
}
