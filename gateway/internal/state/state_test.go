// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/bridge/embedded"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const stateTopic = "state"

// open returns a bridge to a new Iggy.
func open(t *testing.T) *bridge.Bridge {
	t.Helper()
	iggy, err := embedded.Start(t.Context(), embedded.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { iggy.Close() })
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
		Groups: coordinator.DefaultConfig(), Bridge: b, Topic: stateTopic, Partitions: 1, Expiry: time.Hour, Logger: slog.New(slog.DiscardHandler),
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

func view(t *testing.T, b *bridge.Bridge) *bridge.TopicView {
	t.Helper()
	v, err := b.TopicsWithin(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What belongs to a topic that was seen and is gone is dropped, and so is what belongs to an earlier topic of a name. A topic
// that is merely not there keeps its offsets: the topic map may be missing.
func TestSweep(t *testing.T) {
	b := open(t)
	s := run(t, b)
	sweep := sweeper{s.Groups, s.Log, b, slog.New(slog.DiscardHandler)}
	stays, goes, again := create(t, b, "stays"), create(t, b, "goes"), create(t, b, "again")
	for _, topic := range []*bridge.Topic{stays, goes, again} {
		commit(t, s, topic.Name, topic.ID.String())
	}
	commit(t, s, "elsewhere", "an id that nobody has seen")
	if err := s.Log.SetTopicSettings(t.Context(), goes.ID.String(), goes.Name, map[string]string{"a": "b"}); err != nil {
		t.Fatal(err)
	}
	before := view(t, b)
	remove(t, b, again)
	create(t, b, again.Name)
	if err := sweep.sweep(t.Context(), nil, view(t, b)); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, s); got != "[elsewhere goes stays]" {
		t.Errorf("after the first look: %s", got)
	}
	remove(t, b, goes)
	if err := sweep.sweep(t.Context(), before, view(t, b)); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, s); got != "[elsewhere stays]" {
		t.Errorf("after the second look: %s", got)
	}
	if ids := s.Log.Topics(); len(ids) != 0 {
		t.Errorf("settings of %v", ids)
	}
}

// A sweep that fails is no sweep: the next one drops what this one could not.
func TestSweepFails(t *testing.T) {
	b := open(t)
	s := run(t, b)
	sweep := sweeper{s.Groups, s.Log, b, slog.New(slog.DiscardHandler)}
	topic := create(t, b, "goes")
	commit(t, s, topic.Name, topic.ID.String())
	before := view(t, b)
	remove(t, b, topic)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sweep.sweep(canceled, nil, before); err == nil {
		t.Error("a first look that could not ask")
	}
	if err := sweep.sweep(canceled, before, view(t, b)); err == nil {
		t.Error("a look that could not drop")
	}
	if got := kept(t, s); got != "[goes]" {
		t.Errorf("kept %s", got)
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
